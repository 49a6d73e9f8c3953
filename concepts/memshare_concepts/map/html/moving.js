// A canvas that is dragged, zoomed, pointed at and clicked; `view` has its place and zoom.
const tip = at("tip");

function movable(canvas, view, { least, most, paint, hover, click }) {
  const inside = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  let waiting = false, from = null;
  const draw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; paint(sharp(canvas)); }); } };
  canvas.onpointerdown = event => { from = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointermove = event => {
    if (!from) { hover(...inside(event), event); return; }
    if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < 3 && !from.moved) return;
    view.x += event.clientX - from.x; view.y += event.clientY - from.y;
    from = { x: event.clientX, y: event.clientY, moved: true }; tip.hidden = true; draw();
  };
  canvas.onpointerup = event => { if (from && !from.moved) click(...inside(event)); from = null; };
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.onwheel = event => {
    event.preventDefault();
    const [x, y] = inside(event), zoom = Math.max(least(), Math.min(most(), view.zoom * Math.exp(-event.deltaY * .0015)));
    view.x = x - (x - view.x) * zoom / view.zoom; view.y = y - (y - view.y) * zoom / view.zoom; view.zoom = zoom;
    tip.hidden = true; draw();
  };
  return draw;
}

function sharp(canvas) {  // its pen, for as many points as the screen has
  const ratio = window.devicePixelRatio || 1, [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

function hint(event, ...lines) {  // lines of text beside the pointer; the first one stands out
  tip.replaceChildren(...lines.map((line, place) => text(place ? "div" : "strong", line, place ? "dim" : "")));
  tip.hidden = false;
  const box = tip.parentElement.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  tip.style.left = Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, box.height - tip.offsetHeight - 4)) + "px";
}

function label(pen, name, x, y, points) {
  pen.font = `600 ${points}px system-ui, sans-serif`; pen.lineJoin = "round";
  pen.lineWidth = 4; pen.strokeStyle = style("--back"); pen.strokeText(name, x, y);
  pen.fillStyle = style("--ink"); pen.fillText(name, x, y);
}
const shortened = name => name.length > 28 ? name.slice(0, 27) + "…" : name;
