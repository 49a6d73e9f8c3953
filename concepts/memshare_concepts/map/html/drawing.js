// The map: the ground of each cluster, its memories, and its name.
const GROUND = 1.45, EDGE = 1.6;  // around a memory, in units of the plane
const canvas = at("map"), view = { x: 0, y: 0, zoom: 1 };
let hits = null, chosen = null;

const place = one => [one.x * view.zoom + view.x, one.y * view.zoom + view.y];
const draw = movable(canvas, view, { least: () => .2, most: () => 200, paint, hover: pointed, click: (x, y) => choose(under(x, y), false) });

function fit(members, most = 60) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const bound = (pick, how) => members.map(pick).reduce((a, b) => how(a, b));
  const left = bound(one => one.x, Math.min) - EDGE, right = bound(one => one.x, Math.max) + EDGE;
  const top = bound(one => one.y, Math.min) - EDGE, bottom = bound(one => one.y, Math.max) + EDGE;
  view.zoom = Math.min(most, width / (right - left) * .92, height / (bottom - top) * .92);
  view.x = width / 2 - (left + right) / 2 * view.zoom; view.y = height / 2 - (top + bottom) / 2 * view.zoom;
}

function paint(pen) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight], margin = EDGE * view.zoom;
  const onScreen = one => { const [x, y] = place(one); return x > -margin && y > -margin && x < width + margin && y < height + margin; };
  const seen = [];
  for (const one of deepest) { const members = inside.get(one.number).filter(onScreen); if (members.length) seen.push([one, members]); }
  const back = style("--back"), ink = style("--ink");
  for (const [one, members] of seen) {
    const edge = ground(members, EDGE * view.zoom), inner = ground(members, GROUND * view.zoom);
    pen.fillStyle = one === chosen ? ink : `hsl(${familyHue(one)} 40% ${lightness(one, 55)}%)`; pen.fill(edge);
    pen.fillStyle = back; pen.fill(inner);
    pen.fillStyle = `hsl(${familyHue(one)} 45% ${lightness(one, 55)}% / .2)`; pen.fill(inner);
  }
  const wide = Math.max(1.2, Math.min(7, view.zoom * .38));
  for (const [, members] of seen) for (const one of members) {
    const [x, y] = place(one);
    pen.globalAlpha = hits && !hits.has(one) ? .12 : 1;
    pen.fillStyle = one.colour;
    if (wide < 2) pen.fillRect(x - wide, y - wide, 2 * wide, 2 * wide);
    else { pen.beginPath(); pen.arc(x, y, wide, 0, 7); pen.fill(); }
    if (one === chosen) { pen.lineWidth = 2; pen.strokeStyle = ink; pen.beginPath(); pen.arc(x, y, wide + 3, 0, 7); pen.stroke(); }
  }
  pen.globalAlpha = 1;
  names(pen, new Set(seen.map(([one]) => one)));
}

function ground(members, around) {  // circles that overlap, or squares where they are too small to tell
  const path = new Path2D();
  for (const one of members) {
    const [x, y] = place(one);
    if (around < 4) path.rect(x - around, y - around, 2 * around, 2 * around);
    else { path.moveTo(x + around, y); path.arc(x, y, around, 0, 2 * Math.PI); }
  }
  return path;
}

function names(pen, seen) {
  const taken = [];
  pen.textAlign = "center"; pen.textBaseline = "middle";
  for (const one of named(seen).sort((a, b) => b.count - a.count)) {
    const points = Math.max(11, Math.min(17, one.r * view.zoom * .32)), name = shortened(one.name);
    pen.font = `600 ${points}px system-ui, sans-serif`;
    const [x, y] = place(one), half = pen.measureText(name).width / 2 + 3;
    const box = [x - half, y - points * .7, x + half, y + points * .7];
    if (taken.some(other => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
    taken.push(box);
    label(pen, name, x, y, points);
  }
}

function named(seen) {  // the clusters of the deepest level that has room for its names
  const room = ofLevel => ofLevel.reduce((sum, one) => sum + one.r, 0) / ofLevel.length * view.zoom >= 12;
  return (levels.findLast(room) ?? levels[0] ?? []).filter(one => one.deepest ? seen.has(one) : inside.get(one.number).length);
}

function under(x, y) {  // the memory there, or else the cluster on whose ground it is
  let best = null, least = Infinity;
  for (const one of memories) { const [a, b] = place(one), far = (a - x) ** 2 + (b - y) ** 2; if (far < least) { best = one; least = far; } }
  if (least < Math.max(6, Math.min(10, view.zoom * .6)) ** 2) return best;
  return least < (GROUND * view.zoom) ** 2 ? clusterOf(best) : null;
}

function pointed(x, y, event) {
  const one = under(x, y);
  canvas.style.cursor = one ? "pointer" : "grab";
  if (one) hint(event, title(one).slice(0, 160), isCluster(one) ? `${one.count} memories · ${one.topics.join(", ")}` : [one.topic, numbers(one)].filter(Boolean).join(" · "));
  else tip.hidden = true;
}
