// The history of a game: its tree of moves, and what a review says of them.

import { mainLine } from "../game/tree.js";
import { byId, el } from "../page/dom.js";
import { t } from "../page/language.js";
import { moveText, percent, points } from "../page/text.js";
import { BAD, gradesOf, SIGNS, summaryOf } from "./grade.js";

const MARKS = { only: t("review.only"), best: t("review.best"), fine: t("review.fine"), inaccuracy: t("review.inaccuracy"), mistake: t("review.mistake"), blunder: t("review.blunder") };
const COLUMNS = [[t("review.side")], [t("review.accuracy")], [t("review.lost")], ["?!", t("review.inaccuracies")], ["?", t("review.mistakes")], ["??", t("review.blunders")]];

const lossText = (loss, isPoints) => (isPoints ? t("review.points", { count: loss, points: points(loss) }) : percent(loss));

// A move of the tree as a button that goes there.
function moveButton(node, ply, shown) {
  const grade = shown.gradeAt(node), isHere = node === shown.game.node;
  const sign = grade ? SIGNS[grade.mark] : "";
  const name = [`${ply}. ${node.move}`, grade && MARKS[grade.mark], node.comment].filter(Boolean).join(t("status.comma"));
  return el("button", { type: "button", class: isHere ? "here" : undefined, "data-mark": grade?.mark, "aria-current": isHere ? "true" : undefined, "aria-label": name, title: node.comment || undefined, onclick: () => shown.visit(node) },
    el("small", {}, `${ply}.`), node.move, sign ? el("b", {}, sign) : "", node.comment ? el("i", { "aria-hidden": true }, "·") : "");
}

// The items of a line that begins with a node: its moves, and after each one the variations to it.
function lineItems(first, ply, shown) {
  const items = [];
  for (let node = first, at = ply; node; node = node.children[0], at++) {
    items.push(el("li", {}, moveButton(node, at, shown)));
    if (node.parent.children[0] !== node) continue; // a variation: its siblings are listed with the main move
    for (const other of node.parent.children.slice(1)) items.push(el("li", { class: "variation" }, el("ol", {}, ...lineItems(other, at, shown))));
  }
  return items;
}

// The tree of a game for two. shown: { game, gradeAt(node), visit(node), version }; a tree that was drawn already stays.
export function showMoves(shown) {
  const list = byId("moves"), { game } = shown;
  list.hidden = game.hasChance;
  if (game.hasChance) return;
  list.replaceChildren(...(game.root.children.length ? lineItems(game.root.children[0], 1, shown) : []));
  const here = list.querySelector(".here");
  if (here) list.scrollTop = here.offsetTop - list.clientHeight / 2;
}

function summaryTable(grades, names, isPoints) {
  const head = el("tr", {}, ...COLUMNS.map(([sign, name]) => el("th", { scope: "col", title: name, "aria-label": name }, sign)));
  const sides = summaryOf(grades);
  const rows = Object.keys(sides).sort().map((side) => {
    const { accuracy, loss, ...counts } = sides[side];
    const cells = [`${accuracy.toFixed(0)}%`, isPoints ? points(loss) : percent(loss), ...BAD.map((mark) => String(counts[mark]))];
    return el("tr", {}, el("th", { scope: "row" }, names[side]), ...cells.map((cell) => el("td", {}, cell)));
  });
  return { head, rows };
}

// What is known of the review: buttons, progress, accuracy by side, and the verdict on the move that is shown.
export function showReview({ game, grades, names, run, isComplete }) {
  const isReviewed = grades.some(Boolean), isRunning = run?.game === game;
  byId("review-start").textContent = isRunning ? t("review.stop") : isReviewed && !isComplete ? t("review.more") : t("review.start");
  byId("review-start").disabled = !isRunning && (isComplete || game.moves.length === 0);
  byId("review-time").disabled = isRunning;
  byId("review-progress").hidden = byId("review-count").hidden = !isRunning;
  if (isRunning) {
    byId("review-progress").value = run.total ? run.done / run.total : 0;
    byId("review-count").textContent = t("review.done", { done: run.done, total: run.total });
  }
  byId("review-delete").hidden = isRunning || !isReviewed;
  byId("reviewed").hidden = !isReviewed;
  if (!isReviewed) return;
  const { head, rows } = summaryTable(gradesOf(mainLine(game.root), game.hasChance), names, game.hasChance);
  byId("accuracy").tHead.replaceChildren(head);
  byId("accuracy").tBodies[0].replaceChildren(...rows);
  showVerdict(game, grades[game.ply]);
}

// The verdict on a move in words.
export function verdictText(ply, grade, isPoints) {
  const said = { ply, move: moveText(grade.move), mark: MARKS[grade.mark] };
  return grade.loss > 0 ? t("review.verdict-lost", { ...said, loss: lossText(grade.loss, isPoints), best: moveText(grade.best) }) : t("review.verdict", said);
}

function showVerdict(game, grade) {
  const words = grade ? verdictText(game.ply, grade, game.hasChance) : "";
  if (byId("verdict").textContent !== words) byId("verdict").textContent = words;
  byId("verdict").dataset.mark = grade?.mark ?? "";
  byId("best-line").hidden = !grade || grade.move === grade.best || !grade.best;
}
