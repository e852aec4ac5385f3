// How numbers, scores, moves and the state of a game are written for people.

import { number, t } from "./language.js";

const WHOLE = { maximumFractionDigits: 0 };
const TENTHS = { maximumFractionDigits: 1 };
const ONE_TENTH = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
const EXACT = { minimumFractionDigits: 1, maximumFractionDigits: 3 };
const COMPACT = { notation: "compact", maximumSignificantDigits: 3 };
const PERCENT = { style: "percent", maximumFractionDigits: 0 };
const EDGE_PERCENT = { style: "percent", ...ONE_TENTH };
const SLIDES = { up: "move.up", right: "move.right", down: "move.down", left: "move.left" };
const RESULTS = { win: ["score.wins", "score.wins-in"], draw: ["score.draws", "score.draws-in"], loss: ["score.loses", "score.loses-in"] };
const SHORT_RESULTS = { win: "score.win", draw: "score.draw", loss: "score.loss" };

export function short(value) {
  return number(value, value < 10000 ? WHOLE : COMPACT);
}

// Points; exact ones with three digits after the point.
export function points(value, isExact = false) {
  return number(value, isExact ? EXACT : value < 100 ? TENTHS : WHOLE);
}

export function seconds(value) {
  return number(value, ONE_TENTH);
}

// Beyond 99% a tenth counts, except for what is rounded to all or nothing.
const isAtTheEdge = (value) => (value > 0.99 && value < 0.9995) || (value < 0.01 && value >= 0.0005);

export function percent(value) {
  return number(value, isAtTheEdge(value) ? EDGE_PERCENT : PERCENT);
}

// A percentage without digits after the point, where there is little room.
export function wholePercent(value) {
  return number(value, PERCENT);
}

// A percentage without its sign, where there is little room.
export function hundredths(value) {
  return number(value * 100, isAtTheEdge(value) ? ONE_TENTH : WHOLE);
}

// A score from player one's point of view, as the page shows all of them.
export function forOne(score) {
  if (score.side !== "two") return score;
  if (score.kind === "win") return { ...score, side: "one", value: 1 - score.value };
  if (score.kind === "proven") return { ...score, side: "one", result: { win: "loss", loss: "win" }[score.result] ?? score.result };
  return score;
}

export function scoreText(score, isShort = false) {
  if (score.kind === "points") return points(score.value, score.exact);
  if (score.kind === "win") return percent(score.value);
  if (score.kind === "proven") return isShort ? shortResult(score) : fullResult(score);
  return score.kind === "none" ? t("score.none") : t("score.unreachable");
}

function shortResult({ result, plies }) {
  return `${t(SHORT_RESULTS[result])}${plies ? ` ${number(plies)}` : ""}`;
}

function fullResult({ result, plies }) {
  const [plain, within] = RESULTS[result];
  return plies ? t(within, { plies }) : t(plain);
}

// Player one's share of the game, from 0 to 1; null for points.
export function share(score) {
  let value = null;
  if (score.kind === "win") value = score.value;
  if (score.kind === "proven") value = { win: 1, draw: 0.5, loss: 0 }[score.result];
  if (value === null) return null;
  return score.side === "two" ? 1 - value : value;
}

export function cellText(cell, columns) {
  return t("board.cell", { row: Math.floor(cell / columns) + 1, column: (cell % columns) + 1 });
}

// A move: slides in words, others in the game's notation.
export function moveText(move) {
  return SLIDES[move] ? t(SLIDES[move]) : move;
}

// Moves that were made; a drop is told by its tile and its cell.
function movesText(moves, state) {
  if (!moves?.length) return "";
  const text = (move) => {
    const cell = Number(move.split("@")[1]);
    return Number.isNaN(cell) ? moveText(move) : t("status.drop", { tile: state.cells[cell], cell: cellText(cell, state.columns) });
  };
  return t("status.moved", { moves: moves.map(text).join(t("status.comma")) });
}

// Who has won, or who moves next.
function turnText({ game, mover, names, isPaused }) {
  const { outcome, toMove } = game.state;
  if (game.flag) return t("status.flag", { side: names[game.flag] });
  if (outcome === "one" || outcome === "two") return t("status.won", { side: names[outcome] });
  if (outcome === "draw") return t("status.draw");
  if (outcome === "ended") return t("status.ended");
  const side = names[toMove];
  const mustPass = game.state.legal.length > 0 && game.state.legal.every(({ kind }) => kind === "pass");
  if (mover === "you" && mustPass) return t("status.you-must-pass", { side });
  if (mover === "you") return game.hasChance ? t("status.your-move") : t("status.your-move-as", { side });
  if (mover === "friend") return t("status.friend", { side });
  if (mover === "engine" && isPaused) return t("status.paused");
  if (mover === "engine") return game.hasChance ? t("status.engine-plays") : t("status.engine-thinks", { side });
  if (mover === "dropper") return game.node.tile?.label ? t("status.choose-cell-for", { tile: game.node.tile.label }) : t("status.choose-cell");
  return mover === "evil" ? t("status.evil-chooses") : "";
}

// The status line; `moved` is for screen readers, which stay silent while nothing is live: engines play on and on.
export function statusOf({ game, made, mover, names, isPaused, isPersonPlaying }) {
  const moved = movesText(made, game.state);
  const before = game.hasChance ? t("status.points", { count: game.points, points: points(game.points) }) : moved;
  return {
    text: before + turnText({ game, mover, names, isPaused }),
    moved: game.hasChance && isPersonPlaying ? moved : "",
    isLive: isPersonPlaying || isPaused || !game.state.toMove,
    isPaused: isPaused && ["engine", "evil", "chance"].includes(mover),
  };
}
