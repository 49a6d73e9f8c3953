// How alike the memories are: each with each other as a picture, in the order of their clusters, and as a histogram.
const BARS = 40, WHOLE = 255;
const board = at("matrix"), frame = { x: 0, y: 0, zoom: 0 };  // zoom: the width of a memory
const drawBoard = movable(board, frame, { least: whole, most: () => 40, paint: paintBoard, hover: pointedPair, click: choosePair });
let compared = null, order = [], picture = null;

const similarityOf = byte => head.low + byte / WHOLE * (1 - head.low);
let darkest = WHOLE;  // 1 pair of 200 is above it: most are small, and differ in colour, too
const shadeOf = byte => { const share = Math.min(1, byte / darkest); return `hsl(${255 - 60 * share} 60% ${96 - 70 * share}%)`; };
function byteOf(first, second) {
  if (first === second) return WHOLE;
  return first.row.length > second.row.length ? first.row[second.row.length] : second.row[first.row.length];
}

function unpacked(packed) {
  const letters = atob(packed), row = new Uint8Array(letters.length);
  for (let place = 0; place < row.length; place++) row[place] = letters.charCodeAt(place);
  return row;
}

function compare() {  // once, when it is first shown
  compared = memories.filter(one => one.similar !== null);
  for (const one of compared) one.row = unpacked(one.similar);
  const counts = new Array(BARS).fill(0), bytes = new Array(WHOLE + 1).fill(0);
  for (const first of compared) for (const second of compared) {
    if (first.row.length <= second.row.length) continue;
    const byte = first.row[second.row.length];
    bytes[byte]++; counts[Math.floor(byte * BARS / (WHOLE + 1))]++;
  }
  let left = compared.length * (compared.length - 1) / 400;
  for (darkest = WHOLE; darkest > 1 && (left -= bytes[darkest]) > 0; darkest--);
  const most = counts.reduce((a, b) => Math.max(a, b), 1), byteAt = bar => bar * (WHOLE + 1) / BARS;
  at("bars").replaceChildren(...counts.map((count, bar) => {
    const made = text("div", "");
    made.style.height = `${100 * count / most}%`; made.style.background = shadeOf(byteAt(bar + .5));
    made.title = `${count.toLocaleString("en")} pairs from ${similarityOf(byteAt(bar)).toFixed(2)} to ${similarityOf(byteAt(bar + 1)).toFixed(2)}`;
    return made;
  }));
  at("scale").replaceChildren(...[0, .5, 1].map(share => text("span", similarityOf(share * WHOLE).toFixed(2))));
  const all = compared.length === memories.length ? `All ${compared.length.toLocaleString("en")} memories` : `A sample of ${compared.length.toLocaleString("en")} of ${memories.length.toLocaleString("en")} memories, chosen by chance`;
  at("legend").replaceChildren(
    text("p", `${all}, each beside each other, in the order of their clusters. The bars count the pairs of each similarity; their colours are those of the picture.`),
    text("p", "1 is the same. It is what clusters go by: two thirds are the cosine of what memories are found by, one third is the similarity of their concepts."));
}

function sortBoard() {  // by the clusters of the size that is shown
  if (!compared) compare();
  order = [...compared].sort((a, b) => clusterOf(a).rank - clusterOf(b).rank || a.row.length - b.row.length);
  const count = order.length, shades = new Uint32Array(gradient().buffer);
  picture = document.createElement("canvas");
  picture.width = picture.height = Math.max(1, count);
  const made = new ImageData(picture.width, picture.height), pixels = new Uint32Array(made.data.buffer);
  for (let row = 0; row < count; row++) {
    for (let column = row; column < count; column++) {
      pixels[row * count + column] = pixels[column * count + row] = shades[byteOf(order[row], order[column])];
    }
  }
  picture.getContext("2d").putImageData(made, 0, 0);
}

function gradient() {  // the colour of each byte, as four bytes
  const line = document.createElement("canvas");
  line.width = WHOLE + 1; line.height = 1;
  const pen = line.getContext("2d");
  for (let byte = 0; byte <= WHOLE; byte++) { pen.fillStyle = shadeOf(byte); pen.fillRect(byte, 0, 1, 1); }
  return pen.getImageData(0, 0, WHOLE + 1, 1).data;
}

function whole() { return Math.min(board.clientWidth, board.clientHeight) * .94 / Math.max(1, order.length); }
function fitBoard() {
  frame.zoom = whole();
  frame.x = (board.clientWidth - order.length * frame.zoom) / 2; frame.y = (board.clientHeight - order.length * frame.zoom) / 2;
}

function paintBoard(pen) {
  pen.imageSmoothingEnabled = frame.zoom < 1;
  pen.drawImage(picture, frame.x, frame.y, order.length * frame.zoom, order.length * frame.zoom);
  pen.textBaseline = "bottom";
  for (const [one, from, to] of blocks()) {
    const [x, y, wide] = [frame.x + from * frame.zoom, frame.y + from * frame.zoom, (to - from) * frame.zoom];
    pen.strokeStyle = style("--ink"); pen.lineWidth = 1; pen.strokeRect(x, y, wide, wide);
    const right = x + wide / 2 > board.clientWidth / 2;  // there it would not fit
    pen.textAlign = right ? "right" : "left";
    label(pen, shortened(one.name), right ? x - 3 : x + wide + 3, y + Math.min(wide, 15), 12);
  }
}

function blocks() {  // clusters of the deepest level that has room for names, each with its first and last place
  const found = levels.map(() => []);
  order.forEach((memory, place) => {
    for (let one = clusterOf(memory); one; one = clusters.get(one.parent)) {
      const last = found[one.level].at(-1);
      if (last?.[0] === one) last[2] = place + 1; else found[one.level].push([one, place, place + 1]);
    }
  });
  const room = ofLevel => order.length / ofLevel.length * frame.zoom >= 22;
  return (found.findLast(room) ?? found[0] ?? []).filter(([, from, to]) => (to - from) * frame.zoom >= 14);
}

function pairAt(x, y) {
  const first = order[Math.floor((y - frame.y) / frame.zoom)], second = order[Math.floor((x - frame.x) / frame.zoom)];
  return first && second ? [first, second] : null;
}
function pointedPair(x, y, event) {
  const pair = pairAt(x, y);
  if (pair) hint(event, `Similarity ${similarityOf(byteOf(...pair)).toFixed(2)}`, ...pair.map(one => `${title(one).slice(0, 160)} · ${clusterOf(one).name}`));
  else tip.hidden = true;
}
function choosePair(x, y) {
  const pair = pairAt(x, y);
  if (!pair) return;
  chosen = null;
  at("found").replaceChildren(text("p", `Similarity ${similarityOf(byteOf(...pair)).toFixed(2)}`), ...pair.flatMap(described));
}
