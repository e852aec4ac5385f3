// The graph of values by move: player one's share of the game from 0 to 100%, or the points expected in all; with axes, and
// with dots for bad moves.

import { byId, svg } from "../page/dom.js";
import { t } from "../page/language.js";
import { percent, points, short } from "../page/text.js";
import { BAD } from "./grade.js";

const HEIGHT = 132, TOP = 6, BOTTOM = 18, LEFT = 38, RIGHT = 8;
let width = 320, redraw = () => {};
new ResizeObserver(([{ contentRect }]) => {
  width = Math.max(200, Math.round(contentRect.width)); // read here: to ask for it while drawing would lay out the page
  redraw();
}).observe(byId("graph"));

// The known values with their plies; of a long game only as many as the graph can show.
function knownValues(values, width) {
  const step = Math.max(1, Math.floor(values.length / width));
  const known = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value !== undefined && value !== null && (known.length === 0 || i - known.at(-1)[0] >= step || i === values.length - 1)) known.push([i, value]);
  }
  return known;
}

// Round numbers between two bounds, about `count` of them.
function ticks(low, high, count) {
  const rough = (high - low) / count || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * size).find((each) => each >= rough);
  const list = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) list.push(value);
  return list;
}

function text(x, y, words, anchor) {
  const element = svg("text", { x, y, "text-anchor": anchor });
  element.textContent = words;
  return element;
}

// Draws the graph. shown: { values, grades, ply, isShare, names }; `go` is called with a ply that is clicked.
export function showGraph({ values, grades, ply, isShare, names }, go) {
  const graph = byId("graph");
  redraw = () => showGraph({ values, grades, ply, isShare, names }, go);
  const known = knownValues(values, width);
  const span = Math.max(8, values.length - 1);
  const all = known.map(([, value]) => value);
  const low = isShare ? 0 : Math.min(...all, Infinity) * 0.95 || 0, high = isShare ? 1 : Math.max(...all, 10) * 1.05;
  const from = Number.isFinite(low) ? low : 0;
  const x = (i) => Number((LEFT + (i / span) * (width - LEFT - RIGHT)).toFixed(1));
  const y = (value) => Number((HEIGHT - BOTTOM - ((value - from) / (high - from || 1)) * (HEIGHT - TOP - BOTTOM)).toFixed(1));
  const parts = axes({ width, span, isShare, names, from, high, x, y });
  if (known.length) {
    const floor = isShare ? y(0.5) : HEIGHT - BOTTOM;
    const line = known.map(([i, value], n) => `${n ? "L" : "M"}${x(i)} ${y(value)}`).join("");
    parts.push(svg("path", { d: `${line}L${x(known.at(-1)[0])} ${floor}L${x(known[0][0])} ${floor}Z`, class: "area" }));
    parts.push(svg("path", { d: line, class: "line" }));
    if (known.length === 1) parts.push(svg("circle", { cx: x(known[0][0]), cy: y(known[0][1]), r: 3, class: "dot" }));
  }
  grades.forEach((grade, i) => {
    if (BAD.includes(grade?.mark) && values[i] !== undefined) parts.push(svg("circle", { cx: x(i), cy: y(values[i]), r: 3.5, class: `dot ${grade.mark}` }));
  });
  parts.push(svg("path", { d: `M${x(ply)} ${TOP}V${HEIGHT - BOTTOM}`, class: "here" }));
  graph.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  graph.replaceChildren(...parts);
  graph.onclick = (event) => {
    const box = graph.getBoundingClientRect();
    go(Math.round((((event.clientX - box.left) / box.width) * width - LEFT) / ((width - LEFT - RIGHT) / span)));
  };
  const latest = all.at(-1);
  const label = latest === undefined ? t("history.no-values") : t("history.values", { count: known.length, latest: isShare ? percent(latest) : points(latest) });
  graph.setAttribute("aria-label", label);
}

function axes({ width, span, isShare, names, from, high, x, y }) {
  const parts = [svg("path", { d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${width - RIGHT}`, class: "axis" })];
  const values = isShare ? [0, 0.5, 1] : ticks(from, high, 3);
  for (const value of values) {
    parts.push(svg("path", { d: `M${LEFT} ${y(value)}H${width - RIGHT}`, class: "grid-line" }));
    parts.push(text(LEFT - 4, y(value) + 3.5, isShare ? `${value * 100}%` : short(value).replace(" ", ""), "end"));
  }
  if (isShare) parts.push(text(LEFT + 4, TOP + 9, names.one, "start"), text(LEFT + 4, HEIGHT - BOTTOM - 4, names.two, "start"));
  const steps = ticks(0, span, Math.max(2, Math.floor(width / 70)));
  for (const i of steps) parts.push(text(x(i), HEIGHT - 4, String(i), i === 0 ? "start" : "middle"));
  return parts;
}
