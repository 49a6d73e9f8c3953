"use strict";
// What the page is about: the memories, and their clusters of the size that is shown.
const at = id => document.getElementById(id);
const [head, ...memories] = at("data").textContent.trim().split("\n").map(line => JSON.parse(line));
for (const one of memories) one.text = [one.topic, one.prompt, one.answer].join("\n").toLowerCase();
const groupings = head.sizes.map(() => null);  // of each size, made when it is first shown
const begun = head.sizes.findIndex(one => one.size === head.size);
const counted = (number, one, more = `${one}s`) => `${number} ${number === 1 ? one : more}`;
let size, clusters, levels, deepest, above, inside;

const clusterOf = one => clusters.get(one.clusters[size]);
const isCluster = one => one.topics !== undefined;
const title = one => isCluster(one) ? one.name : one.prompt || one.answer;

function group(place) {
  size = place;
  ({ clusters, levels, deepest, above, inside } = groupings[place] ??= grouped(head.sizes[place].clusters, place));
}

function grouped(all, place) {
  const clusters = new Map(all.map(one => [one.number, one])), levels = [];
  for (const one of all) (levels[one.level] ??= []).push(one);
  const deepest = levels.at(-1) ?? [], above = levels.slice(0, -1).flat();
  const inside = new Map(all.map(one => [one.number, []]));
  for (const memory of memories) {
    for (let one = clusters.get(memory.clusters[place]); one; one = clusters.get(one.parent)) inside.get(one.number).push(memory);
  }
  for (const one of all) Object.assign(one, middle(inside.get(one.number)), { deepest: one.level === levels.length - 1, r: Math.sqrt(one.count) });
  let rank = 0;
  const walk = one => { one.rank = rank++; for (const child of one.children) walk(clusters.get(child)); };
  for (const one of levels[0] ?? []) walk(one);
  return { clusters, levels, deepest, above, inside };
}

function middle(members) {  // of the largest of the places where members lie, for a name stands best among what it names
  const pieces = new Map();
  for (const one of members) { const disc = one.clusters[begun]; pieces.get(disc)?.push(one) ?? pieces.set(disc, [one]); }
  let largest = [];
  for (const piece of pieces.values()) if (piece.length > largest.length) largest = piece;
  const mean = pick => largest.reduce((sum, one) => sum + pick(one), 0) / Math.max(1, largest.length);
  return { x: mean(one => one.x), y: mean(one => one.y) };
}
