// Beside the board: the value bar, the engine's lines of play and its speed.

import { byId, el } from "./dom.js";
import { t } from "./language.js";
import { forOne, moveText, percent, points, scoreText, seconds, share, short, wholePercent } from "./text.js";

const MAX_LINES = 8;

// The value of a position in the graph and the bar: player one's share, or the points in all; null if unknown.
export function reportValue(report, pointsSoFar) {
  const mine = share(report.score);
  if (mine !== null) return mine;
  return report.score.kind === "points" ? pointsSoFar + report.score.value : null;
}

// The value in words: points to come, or player one's share; of a proven result, who wins.
function headline(score, names) {
  const value = scoreText(score);
  if (score.kind === "points") return score.exact ? t("score.to-come-exactly", { value }) : t("score.to-come", { value });
  if (score.kind === "proven" && score.result === "draw") return value;
  if (score.kind === "proven" && score.result === "loss") return headline({ ...score, result: "win", side: { one: "two", two: "one" }[score.side] }, names);
  return score.kind === "none" || !names[score.side] ? value : t("score.of", { side: names[score.side], value });
}

// Shows a report; every value is player one's, as the head of its column says.
export function showReport(report, pointsSoFar, names) {
  byId("score").textContent = headline(forOne(report.score), names);
  byId("lines-value").textContent = report.score.kind === "points" ? t("lines.value") : t("lines.value-for", { side: names.one });
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
  const tried = report.lines.filter((line) => line.visits !== 0 || line.moves[0] === report.move);
  const rows = tried.slice(0, MAX_LINES).map((line) => {
    const how = hasVisits ? short(line.visits ?? 0) : hasOdds ? percent(line.probability ?? 0) : line.depth ?? "";
    const [first, ...then] = line.moves.map(moveText);
    return el("tr", { class: line.moves[0] === report.move ? "best" : undefined },
      el("th", { scope: "row" }, first), el("td", {}, scoreText(forOne(line.score), true)), el("td", {}, String(how)), el("td", { class: "then", title: then.join(" ") || undefined }, then.slice(0, 8).join(" ")));
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
  byId("bar-text").textContent = mine === null ? "" : wholePercent(mine);
  bar.dataset.kind = mine === null ? "points" : "sides";
  bar.setAttribute("aria-valuenow", Math.round(part * 100));
  bar.setAttribute("aria-valuetext", mine === null ? t("bar.points", { count: pointsSoFar, points: points(pointsSoFar), total: text }) : t("score.of", { side: names.one, value: text }));
}

// Shows how a game for two ended.
export function showOutcome(outcome, names) {
  clearReport(true);
  const result = { one: "win", two: "loss", draw: "draw" }[outcome];
  byId("score").textContent = outcome === "draw" ? t("status.draw") : t("status.won", { side: names[outcome] });
  showBar({ score: { kind: "proven", side: "one", result } }, 0, names);
}

// Shows a value that is known without a report: player one's share.
export function showValue(value, names) {
  byId("score").textContent = t("score.of", { side: names.one, value: percent(value) });
  showBar({ score: { kind: "win", side: "one", value } }, 0, names);
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
