"use strict";
// Follows the stream of the page's changes, keeps what is open as it is, and lets keys press buttons.

const connection = document.getElementById("connection");
const inbox = document.getElementById("inbox-count");
let waiting = false;

function say(text) {
  connection.textContent = text;
  connection.hidden = !text;
  connection.classList.toggle("bad", !text.startsWith("Starting"));
}

// Whether nobody looks, or somebody writes in what would be replaced.
function isBusy() {
  if (document.hidden) return true;
  const at = document.activeElement;
  return at && at.closest("#live") && at.matches("input, textarea, select");
}

function changed() {
  if (isBusy()) {
    waiting = true;
  } else if (document.getElementById("live")) {
    waiting = false;
    htmx.trigger(document.body, "changed");
  }
}

document.addEventListener("focusout", () => setTimeout(() => waiting && changed()));
document.addEventListener("visibilitychange", () => waiting && changed());

// What tells a link or a button from all others, also once it is another element: its row, and what it does.
function nameOf(one) {
  if (one.id) return one.id;
  const row = one.closest("tr, article, li");
  const first = row && row.querySelector("a[href]");
  const fields = one.form ? new URLSearchParams(new FormData(one.form)) : "";
  return [one.tagName, first && first.href, one.href, one.textContent, fields].join(" ");
}

// Details that a person has opened or closed stay so, as do boxes that they unticked; what has the focus keeps it.
let open = {};
let focused = "";
let unticked = [];
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  open = {};
  unticked = [...document.querySelectorAll("#live input[name=memory]:not(:checked)")].map((one) => one.value);
  for (const one of document.querySelectorAll("#live details[id]")) open[one.id] = one.open;
  focused = detail.target.contains(document.activeElement) ? nameOf(document.activeElement) : "";
});
document.addEventListener("htmx:afterSwap", () => {
  for (const one of document.querySelectorAll("#live details[id]")) if (one.id in open) one.open = open[one.id];
  for (const one of document.querySelectorAll("#live input[name=memory]")) one.checked = !unticked.includes(one.value);
  if (!focused || document.activeElement !== document.body) return;
  const all = document.querySelectorAll("#live :is(a[href], button, summary, [tabindex])");
  const same = [...all].find((one) => nameOf(one) === focused) || document.getElementById("main");
  same.focus({ preventScroll: true });
  focused = "";
});

// One box chooses all others of its table.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-all]")) return;
  for (const one of event.target.closest("table").querySelectorAll("input[name=id]")) one.checked = event.target.checked;
});

// A file that is too large is refused before it is sent.
document.addEventListener("change", ({ target }) => {
  if (target.type !== "file") return;
  const isLarge = target.files.length && target.files[0].size > Number(target.dataset.most);
  target.setCustomValidity(isLarge ? "This file has more than 16 MB: split it in two. (memshare memories import takes all of it.)" : "");
});

function follow() {
  const source = new EventSource(document.body.dataset.stream);
  source.addEventListener("open", () => say("")); // what has changed since the page was shown follows by itself
  source.addEventListener("error", () => {
    say("The connection to memshare is lost. This page asks again by itself; what you see may be old.");
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 3000); // a refusal ends a stream for good
  });
  source.addEventListener("away", (event) => say(`${event.data} This page goes on by itself.`));
  source.addEventListener("back", () => say(""));
  source.addEventListener("changed", changed);
  source.addEventListener("inbox", (event) => {
    if (!inbox) return;
    inbox.textContent = event.data;
    inbox.hidden = event.data === "" || event.data === "0";
  });
}

if (document.body.dataset.stream) follow();

// A page that could not be shown for now asks again.
if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), 3000);

// j and k go from item to item; the letter of a button in the chosen item presses it.
function choose(step) {
  const items = [...document.querySelectorAll(".item")];
  const at = items.findIndex((one) => one.contains(document.activeElement));
  const next = items[Math.min(Math.max(at + step, 0), items.length - 1)];
  if (next) next.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]), textarea, select")) return;
  if (event.key === "j") choose(1);
  else if (event.key === "k") choose(-1);
  else if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
  } else {
    const item = document.activeElement.closest(".item") || document.querySelector(".flash");
    const hidden = item && item.querySelector("details:not([open])");
    if (event.key === " " && hidden && !event.target.matches("a, button, summary")) {
      event.preventDefault();
      hidden.open = true;
    }
    const button = item && [...item.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
    if (!button || button.closest(".flash details:not([open])")) return;
    if (button.form) sessionStorage.setItem("next", "item"); // the page that follows goes on at the next item
    button.click();
  }
});

if (sessionStorage.getItem("next")) {
  sessionStorage.removeItem("next");
  choose(1);
}

// A link to a part that is closed opens it, and puts the cursor where somebody writes.
function openPart() {
  const part = location.hash && document.getElementById(location.hash.slice(1));
  if (!part || !part.matches("details")) return;
  part.open = true;
  part.querySelector("textarea, input:not([type=hidden])")?.focus();
}
addEventListener("load", () => setTimeout(openPart)); // a browser goes to the part itself first, and takes the focus away
addEventListener("hashchange", openPart);
