// Beside the board: the value bar, the engine's lines of play, its speed, and the history of values.

import { byId, el, svg } from "./dom.js";
import { t } from "./language.js";
import { moveText, percent, points, scoreText, seconds, share, short } from "./text.js";

const WIDTH = 320, HEIGHT = 110;
const MAX_LINES = 8;

// The value of a position in the graph and the bar: player one's share, or the points in all; null if unknown.
export function reportValue(report, pointsSoFar) {
  const mine = share(report.score);
  if (mine !== null) return mine;
  return report.score.kind === "points" ? pointsSoFar + report.score.value : null;
}

export function showReport(report, pointsSoFar, names) {
  const { kind, side } = report.score;
  const value = scoreText(report.score);
  if (kind === "points") byId("score").textContent = report.score.exact ? t("score.to-come-exactly", { value }) : t("score.to-come", { value });
  else byId("score").textContent = kind === "none" || !names[side] ? value : t("score.of", { side: names[side], value });
  const speed = report.ms > 1 ? (report.nodes / report.ms) * 1000 : 0;
  const facts = [
    report.depth ? t("facts.depth", { depth: report.depth }) : "",
    report.nodes ? t("facts.nodes", { count: report.nodes, nodes: short(report.nodes) }) : "",
    speed ? t("facts.speed", { nodes: short(speed) }) : "",
    report.ms >= 1 ? t("facts.seconds", { seconds: seconds(report.ms / 1000) }) : "",
  ];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
  const hasVisits = report.lines.some((line) => line.visits !== undefined);
  const hasOdds = report.lines.some((line) => line.probability !== undefined);
  byId("lines").classList.toggle("bare", !hasVisits && !hasOdds && report.lines.every((line) => !line.depth && line.moves.length < 2));
  byId("lines-how").textContent = hasVisits ? t("lines.visits") : hasOdds ? t("lines.chance") : t("lines.depth");
  const rows = report.lines.slice(0, MAX_LINES).map((line) => {
    const how = hasVisits ? short(line.visits ?? 0) : hasOdds ? percent(line.probability ?? 0) : line.depth ?? "";
    const [first, ...then] = line.moves.map(moveText);
    return el("tr", { class: line.moves[0] === report.move ? "best" : undefined },
      el("th", { scope: "row" }, first), el("td", {}, scoreText(line.score, true)), el("td", {}, String(how)), el("td", { class: "then", title: then.join(" ") || undefined }, then.slice(0, 8).join(" ")));
  });
  byId("lines").tBodies[0].replaceChildren(...rows);
  showBar(report, pointsSoFar, names);
}

function showBar(report, pointsSoFar, names) {
  const bar = byId("bar"), mine = share(report.score);
  if (mine === null && report.score.kind !== "points") return;
  const total = mine === null ? pointsSoFar + report.score.value : 1;
  const part = mine ?? (total > 0 ? pointsSoFar / total : 1);
  const text = mine === null ? points(total) : percent(mine);
  byId("bar-fill").style.setProperty("--part", part.toFixed(4));
  byId("bar-text").textContent = mine === null ? "" : text;
  bar.dataset.kind = mine === null ? "points" : "sides";
  bar.setAttribute("aria-valuenow", Math.round(part * 100));
  bar.setAttribute("aria-valuetext", mine === null ? t("bar.points", { count: pointsSoFar, points: points(pointsSoFar), total: text }) : t("score.of", { side: names.one, value: text }));
}

// Clears the report and the bar: neither side is ahead, no points are expected.
export function clearReport(isShare) {
  byId("score").textContent = "–";
  byId("facts").textContent = "";
  byId("lines").tBodies[0].replaceChildren();
  const bar = byId("bar");
  bar.dataset.kind = isShare ? "sides" : "points";
  byId("bar-fill").style.setProperty("--part", isShare ? 0.5 : 0);
  byId("bar-text").textContent = "";
  bar.removeAttribute("aria-valuetext");
  bar.removeAttribute("aria-valuenow");
}

// The known values with their plies; of a long game only as many as the graph can show.
function knownValues(values) {
  const step = Math.max(1, Math.floor(values.length / WIDTH));
  const known = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value !== undefined && value !== null && (known.length === 0 || i - known.at(-1)[0] >= step || i === values.length - 1)) known.push([i, value]);
  }
  return known;
}

// The graph of values by ply; `go` is called with a ply that is clicked.
export function showGraph(values, plies, ply, isShare, go) {
  const graph = byId("graph");
  const known = knownValues(values);
  const span = Math.max(8, plies);
  const low = isShare ? 0 : Math.min(...known.map(([, value]) => value), Infinity) * 0.95;
  const high = isShare ? 1 : Math.max(...known.map(([, value]) => value), 1) * 1.05;
  const x = (i) => (i / span) * WIDTH;
  const y = (value) => HEIGHT - 4 - ((value - low) / (high - low || 1)) * (HEIGHT - 8);
  const line = known.map(([i, value], n) => `${n ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const parts = [];
  if (isShare) parts.push(svg("path", { d: `M0 ${y(0.5)}H${WIDTH}`, class: "middle" }));
  if (known.length) {
    const floor = isShare ? y(0.5) : HEIGHT;
    parts.push(svg("path", { d: `${line}L${x(known.at(-1)[0]).toFixed(1)} ${floor}L${x(known[0][0]).toFixed(1)} ${floor}Z`, class: "area" }));
    parts.push(svg("path", { d: line, class: "line" }));
    if (known.length === 1) parts.push(svg("circle", { cx: x(known[0][0]), cy: y(known[0][1]), r: 3, class: "dot" }));
  }
  parts.push(svg("path", { d: `M${x(ply)} 0V${HEIGHT}`, class: "here" }));
  graph.replaceChildren(...parts);
  graph.onclick = (event) => {
    const box = graph.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * span));
  };
  const latest = known.at(-1)?.[1];
  const label = latest === undefined ? t("history.no-values") : t("history.values", { count: known.length, latest: isShare ? percent(latest) : points(latest) });
  graph.setAttribute("aria-label", label);
}

// The moves of a game for two, each a button that goes there.
export function showMoves(game, go) {
  const list = byId("moves");
  list.hidden = game.hasChance;
  if (game.hasChance) return;
  const shown = `${game.moves.join(" ")} ${game.ply}`;
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  const items = game.moves.map((move, i) => el("li", {}, el("button", { type: "button", class: i + 1 === game.ply ? "here" : undefined, "aria-current": i + 1 === game.ply ? "true" : undefined, onclick: () => go(i + 1) }, move)));
  list.replaceChildren(...items);
  const here = list.children[game.ply - 1];
  if (here) list.scrollTop = here.offsetTop - list.clientHeight / 2;
}
