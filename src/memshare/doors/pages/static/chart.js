"use strict";
// Draws the scores over time: a dot for each task, in the colour of what it was shown, and their mean as a line.
const box = document.getElementById("chart");
const colour = (name) => getComputedStyle(box).getPropertyValue(name);
const score = (_, value) => (value == null ? "–" : value.toFixed(1));
const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
const size = () => ({ width: box.clientWidth, height: box.clientWidth < 600 ? 220 : 280 });

function dots(label, name) {
  const [stroke, fill] = [colour(name), colour(name)];
  return { label, stroke, value: score, paths: () => null, points: { show: true, size: 7, stroke, fill } };
}

// Room beside the first and the last task for half a dot, above 100 and below 0: no dot is cut.
const wide = (from, to, room = (to - from) * 0.01 || 30) => [from - room, to + room];

function moments(of, splits) {
  const seconds = of.scales.x.max - of.scales.x.min;
  const name = uPlot.fmtDate(seconds > 172800 ? "{MM}-{DD} {HH}:{mm}" : seconds > 900 ? "{HH}:{mm}" : "{HH}:{mm}:{ss}");
  return splits.map((second) => name(options.tzDate(second)));
}

const options = {
  ...size(),
  tzDate: (second) => uPlot.tzDate(new Date(1000 * second), "Etc/UTC"), // as everywhere on the page
  scales: { x: { range: (of, from, to) => wide(from, of.data[0].length > 1 ? to : from) }, y: { range: [-5, 105] } },
  axes: [{ ...axis, space: 90, values: moments }, { ...axis, size: 44, splits: () => [0, 25, 50, 75, 100] }],
  series: [
    { label: "UTC", value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" },
    dots("With memories", "--main"),
    dots("One withheld", "--withheld"),
    dots("Without", "--without"),
    { label: "Mean of 20", stroke: colour("--ink"), width: 2, value: score, points: { show: false } },
  ],
};
const chart = new uPlot(options, JSON.parse(box.dataset.points), box);
addEventListener("resize", () => chart.setSize(size()));
