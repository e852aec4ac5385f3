// Beside the board: the value bar, the engine's lines of play and its speed.

import { byId, el } from "./dom.js";
import { t } from "./language.js";
import { moveText, percent, points, scoreText, seconds, share, short } from "./text.js";

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
