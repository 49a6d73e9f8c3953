// What the controls do, and how the page begins.
const boardShown = () => !at("similarities").hidden;
function drawShown() { if (boardShown()) drawBoard(); else draw(); }

function show(place) {  // the clusters of a size
  group(place);
  at("size").textContent = head.sizes[size].size;
  at("about").textContent = `${counted(memories.length, "memory", "memories")} in ${counted(deepest.length, "cluster")} · ${head.made}`;
  if (chosen && isCluster(chosen)) chosen = null;
  colourAll();
  if (boardShown()) sortBoard();
  search();
}

function switchTo(similarities) {
  at("map").hidden = at("colours").hidden = similarities;
  at("similarities").hidden = !similarities;
  for (const [id, pressed] of [["show-map", !similarities], ["show-similarities", similarities]]) at(id).ariaPressed = String(pressed);
  show(size);
  if (similarities) fitBoard();
}

at("sizes").oninput = () => show(Number(at("sizes").value));
at("search").oninput = search;
at("colour").onchange = () => { colourAll(); drawShown(); };
at("show-map").onclick = () => switchTo(false);
at("show-similarities").onclick = () => switchTo(true);
window.onresize = () => { if (boardShown()) fitBoard(); drawShown(); };
document.title = `Map of pool ${head.pool}`;
at("title").textContent = `Pool ${head.pool}`;
at("knob").hidden = head.sizes.length < 2;
at("sizes").max = head.sizes.length - 1;
at("sizes").value = begun;
show(begun);
if (memories.length) { fit(memories); draw(); }
