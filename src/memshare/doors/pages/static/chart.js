"use strict";
// Draws the scores in their order: a dot for each task, in the colour of what it was shown, and their mean as a line.
const box = document.getElementById("chart");
const colour = (name) => getComputedStyle(box).getPropertyValue(name);
const [times, ...columns] = JSON.parse(box.dataset.points);
const score = (_, __, series, at) => (at == null ? "–" : (columns[series - 1][at]?.toFixed(1) ?? "–"));
const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
const named = (label) => ({ ...axis, label, labelSize: 20, labelFont: "12px system-ui, sans-serif" });
const size = () => ({ width: box.clientWidth, height: box.clientWidth < 600 ? 250 : 310 });
// Of right and wrong answers all dots would lie on two lines: each is up to six points off, and its value told as it is.
const apart = (value, at) => (value === 0 || value === 100 ? value + 12 * (((at * 0.618034) % 1) - 0.5) : value);

function dots(label, name) {
  const [stroke, fill] = [colour(name), colour(name)];
  return { label, stroke, value: score, paths: () => null, points: { show: true, size: 7, stroke, fill } };
}

function moment(_, number, __, at) {
  const day = uPlot.fmtDate("{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}"); // in UTC, as everywhere on the page
  return at == null ? "–" : `${number}, ${day(uPlot.tzDate(new Date(1000 * times[at]), "Etc/UTC"))}`;
}

const options = {
  ...size(),
  // Room for half a dot beside the first and the last task, above 100 and below 0: no dot is cut.
  scales: {
    x: { time: false, range: (_, from, to) => [from - 0.5 - (to - from) / 100, to + 0.5 + (to - from) / 100] },
    y: { range: [-10, 110] },
  },
  axes: [
    { ...named("Graded tasks, in their order"), size: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    { ...named("Score, 0 to 100"), size: 44, splits: () => [0, 25, 50, 75, 100] },
  ],
  series: [
    { label: "Task, UTC", value: moment },
    dots("With memories", "--main"),
    dots("One withheld", "--withheld"),
    dots("Without", "--without"),
    { label: "Mean of 20", stroke: colour("--ink"), width: 2, value: score, points: { show: false } },
  ],
};
const data = columns.map((column, series) => (series < 3 ? column.map(apart) : column));
const chart = new uPlot(options, [times.map((_, at) => at + 1), ...data], box);
addEventListener("resize", () => chart.setSize(size()));
