// The list beside the map: what was chosen, and what was searched.
const numbers = one => ["score", "credibility", "remembered"].filter(name => one[name] !== null).map(name => `${name} ${one[name].toFixed(2)}`).join(" · ");

function listed(items, most = 200) {
  const list = document.createElement("ul");
  for (const one of items.slice(0, most)) {
    const button = text("button", isCluster(one) ? `${one.name} (${one.count})` : title(one).slice(0, 140));
    button.onclick = () => choose(one, true);
    list.append(document.createElement("li")); list.lastChild.append(button);
  }
  if (items.length > most) list.append(text("li", `${items.length - most} more`, "dim"));
  return list;
}

function choose(one, go) {
  if (go && boardShown()) switchTo(false);
  chosen = one;
  const parts = [];
  if (one && isCluster(one)) {
    const parent = clusters.get(one.parent), members = inside.get(one.number);
    parts.push(text("h2", `${one.number} ${one.name}`), text("p", `${one.count} memories · ${one.topics.join(", ")}`, "dim"));
    if (parent) parts.push(text("p", "Part of", "dim"), listed([parent]));
    parts.push(listed(one.deepest ? members : one.children.map(number => clusters.get(number))));
    if (go && members.length) fit(members);
  } else if (one) {
    parts.push(...described(one), text("p", "In", "dim"), listed([clusterOf(one)]));
    if (go) fit(inside.get(clusterOf(one).number));
  } else parts.push(listed(levels.length > 1 ? levels.at(-2) : deepest));
  at("found").replaceChildren(...parts);
  drawShown();
}

function described(one) {
  return [text("h2", one.prompt || one.topic || "Statement"), text("p", one.answer), text("p", [one.topic, numbers(one), one.id].filter(Boolean).join(" · "), "dim")];
}

function search() {
  const wanted = at("search").value.trim().toLowerCase();
  if (!wanted) { hits = null; choose(chosen && !isCluster(chosen) ? chosen : null); return; }
  const groups = head.sizes[size].clusters.filter(one => [one.name, ...one.topics].join("\n").toLowerCase().includes(wanted));
  const found = memories.filter(one => one.text.includes(wanted));
  hits = new Set(found);
  at("found").replaceChildren(text("p", `${counted(found.length, "memory", "memories")}, ${counted(groups.length, "cluster")}`, "dim"), listed(groups, 20), listed(found));
  drawShown();
}
