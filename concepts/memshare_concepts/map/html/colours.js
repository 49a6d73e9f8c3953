// What memories are coloured by.
const style = name => getComputedStyle(document.body).getPropertyValue(name);
const hue = number => number * 137.508 % 360;
// Clusters of one parent are alike and differ in lightness; a few clusters have a hue each.
const familyHue = one => hue(deepest.length > 30 ? one.parent ?? one.number : one.number);
const lightness = (one, middle) => middle - 9 + 6 * (one.number % 4);
const ways = { cluster: { label: "by cluster", of: one => { const its = clusterOf(one); return `hsl(${familyHue(its)} 58% ${lightness(its, 52)}%)`; } } };
for (const name of ["score", "credibility", "remembered"]) {
  const values = memories.map(one => one[name]).filter(one => one !== null);
  if (!values.length) continue;
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  ways[name] = { label: name === "remembered" ? `by what ${head.person} remembers` : `by ${name}`, low, high, of: one => one[name] === null ? "#8888" : shade(high > low ? (one[name] - low) / (high - low) : .5) };
}
function shade(share) { return `hsl(${255 - 205 * share} ${45 + 40 * share}% ${38 + 20 * share}%)`; }
for (const [name, way] of Object.entries(ways)) at("colour").append(new Option(way.label, name));

function colourAll() {
  const way = ways[at("colour").value];
  for (const one of memories) one.colour = way.of(one);
  for (const element of ["shades", "ends"]) at(element).hidden = way.low === undefined;
  if (way.low !== undefined) {
    at("shades").style.background = `linear-gradient(to right, ${[0, .25, .5, .75, 1].map(shade).join(",")})`;
    at("ends").replaceChildren(...[way.low, way.high].map(value => text("span", value.toFixed(2))));
  }
}

function text(tag, content, kind) { const made = document.createElement(tag); made.textContent = content; if (kind) made.className = kind; return made; }
