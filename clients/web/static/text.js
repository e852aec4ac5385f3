// How numbers, scores, moves and the state of a game are written for people.

const whole = new Intl.NumberFormat("en");

export function short(number) {
  if (number < 10000) return whole.format(Math.round(number));
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)} k`;
  if (number < 1e9) return `${(number / 1e6).toFixed(number < 1e7 ? 2 : 1)} M`;
  return `${(number / 1e9).toFixed(2)} G`;
}

// Points; exact ones with three digits after the point.
export function points(value, isExact = false) {
  if (isExact) return value.toLocaleString("en", { maximumFractionDigits: 3, minimumFractionDigits: 1 });
  return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

export function percent(value) {
  const shown = value * 100;
  return `${shown > 99 || shown < 1 ? shown.toFixed(1) : shown.toFixed(0)}%`;
}

export function scoreText(score, isShort = false) {
  if (score.kind === "points") return points(score.value, score.exact);
  if (score.kind === "win") return percent(score.value);
  if (score.kind === "proven") {
    const name = isShort ? { win: "win", draw: "draw", loss: "loss" } : { win: "wins", draw: "draw", loss: "loses" };
    const plies = score.plies ? (isShort ? ` ${score.plies}` : ` in ${score.plies}`) : "";
    return name[score.result] + plies;
  }
  return score.kind === "none" ? "no score" : "cannot occur";
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
  return `row ${Math.floor(cell / columns) + 1} column ${(cell % columns) + 1}`;
}

// Moves that were made; a drop is told by its tile and its cell.
function movesText(moves, state) {
  if (!moves?.length) return "";
  const text = (move) => {
    const cell = Number(move.split("@")[1]);
    return Number.isNaN(cell) ? move : `${state.cells[cell]} at ${cellText(cell, state.columns)}`;
  };
  return `${moves.map(text).join(", ")}. `;
}

// Who has won, or who moves next.
function turnText({ game, mover, names, isPaused }) {
  const { outcome, toMove } = game.state;
  const over = { one: `${names.one} has won.`, two: `${names.two} has won.`, draw: "A draw.", ended: "No move is left: the game is over." };
  if (over[outcome]) return over[outcome];
  const mustPass = game.state.legal.length > 0 && game.state.legal.every(({ kind }) => kind === "pass");
  if (mover === "you" && mustPass) return `You have no move, as ${names[toMove]}: pass.`;
  if (mover === "you") return game.hasChance ? "Your move." : `You are to move, as ${names[toMove]}.`;
  if (mover === "engine" && isPaused) return "Paused.";
  if (mover === "engine") return game.hasChance ? "The engine plays." : `The engine thinks, as ${names[toMove]}.`;
  return { dropper: "Choose a cell for the next tile.", evil: "The evil engine chooses a cell.", chance: "" }[mover];
}

// The status line; `moved` is for screen readers, which stay silent while nothing is live: engines play on and on.
export function statusOf({ game, made, mover, names, isPaused, isPersonPlaying }) {
  const moved = movesText(made, game.state);
  return {
    text: (game.hasChance ? `${points(game.points)} points. ` : moved) + turnText({ game, mover, names, isPaused }),
    moved: game.hasChance && isPersonPlaying ? moved : "",
    isLive: isPersonPlaying || isPaused || !game.state.toMove,
    isPaused: isPaused && ["engine", "evil", "chance"].includes(mover),
  };
}
