// A board of stones, or a plain grid of labels, as the card says. It is a grid of buttons, so that keyboards and screen
// readers can use it.

import { el } from "../page/dom.js";
import { t } from "../page/language.js";
import { forOne, hundredths, short } from "../page/text.js";

const BLOCKED = "#";
const MARKS = { win: "mark.win", draw: "mark.draw", loss: "mark.loss" }; // of a proven result, on the board
const STAR_SIZE = 9; // rows from which on a board of points has stars

export class StoneBoard {
  // actions: { move(text) }; candidates: the most moves that advice draws
  constructor(root, actions, card, candidates) {
    this.root = root;
    this.actions = actions;
    this.look = card.board;
    this.title = card.title;
    this.sides = new Map(card.sides.filter(({ stone }) => stone).map((each) => [each.stone, each])); // by the label of its stones
    this.candidates = candidates;
    this.picked = []; // cells of a move that is being pointed at: from, and not yet to
    this.isFlipped = false;
    this.size = "";
    this.focus = 0;
    this.hinted = [];
    this.isEditing = false; // a position is being set up: every cell may be pointed at
    this.isByKeyboard = true; // the way in which the board was used last; after a click, arrows walk through the moves
  }

  get isDropped() {
    return this.look.kind === "dropped";
  }

  build(state) {
    const { rows, columns } = state;
    Object.assign(this, { rows, columns, size: `${rows}x${columns}`, legal: [] });
    this.cells = Array.from({ length: rows * columns }, (_, cell) => {
      const button = el("button", { type: "button", role: "gridcell", tabindex: -1, class: "point", onclick: () => this.click(cell) });
      const row = Math.floor(cell / columns), column = cell % columns;
      const edges = [row === 0 && "top", row === rows - 1 && "bottom", column === 0 && "left", column === columns - 1 && "right"];
      button.classList.add(...edges.filter(Boolean));
      if (this.look.kind === "points" && this.isStar(row, column)) button.classList.add("star");
      button.onfocus = () => this.setFocus(cell);
      button.onmouseenter = () => this.hover(cell, true);
      button.onmouseleave = () => this.hover(cell, false);
      return button;
    });
    const lines = Array.from({ length: rows }, (_, r) => el("div", { role: "row" }, ...this.cells.slice(r * columns, (r + 1) * columns)));
    this.grid = el("div", { class: "grid", role: "grid", "aria-label": t("board.label", { game: this.title }) }, ...lines);
    this.grid.onpointerdown = () => {
      this.isByKeyboard = false;
    };
    const frame = el("div", { class: `stone-frame ${this.look.kind}` }, this.labels("top"), this.labels("side"), this.grid);
    this.root.style.setProperty("--rows", rows);
    this.root.style.setProperty("--columns", columns);
    this.frame = frame;
    this.root.className = "stones";
    this.root.replaceChildren(frame);
    this.focus = Math.floor(rows / 2) * columns + Math.floor(columns / 2);
    this.applyFlip();
  }

  labels(where) {
    const isTop = where === "top";
    const count = isTop ? this.columns : this.rows;
    const text = (i) => (isTop ? this.columnName(i) : this.rowName(i));
    return el("div", { class: `labels ${where}`, "aria-hidden": true }, ...Array.from({ length: count }, (_, i) => el("span", {}, text(i))));
  }

  columnName(column) {
    return this.look.columns[column] ?? "";
  }

  rowName(row) {
    return this.look.rows[this.look.rowsFromBottom ? this.rows - 1 - row : row] ?? "";
  }

  isStar(row, column) {
    const near = this.rows >= 13 ? 3 : 2, far = this.rows - 1 - near, middle = (this.rows - 1) / 2;
    const marks = [near, middle, far];
    return this.rows >= STAR_SIZE && this.rows === this.columns && marks.includes(row) && marks.includes(column) && (row === middle) === (column === middle);
  }

  name(cell) {
    const row = Math.floor(cell / this.columns), column = cell % this.columns;
    const [across, down] = [this.columnName(column), this.rowName(row)];
    if (this.isDropped || !across || !down) return t("board.column-row", { column: String(across || column + 1), row: String(down || row + 1) });
    return `${across}${down}`;
  }

  show(state, made, mover) {
    if (this.size !== `${state.rows}x${state.columns}` || !this.root.contains(this.grid)) this.build(state);
    const before = this.shown ?? [];
    this.shown = state.cells;
    this.state = state;
    this.legal = state.legal.filter(({ cells }) => cells.length);
    this.picked = [];
    const isYours = mover === "you";
    const last = new Set(state.last), won = new Set(state.won);
    const isStep = made?.length === 1;
    this.isYours = isYours;
    this.mark();
    this.cells.forEach((button, cell) => {
      const value = state.cells[cell];
      if (before[cell] !== value || !button.firstChild) this.drawStone(button, cell, value, isStep && last.has(cell) && !before[cell]);
      button.classList.toggle("turned", isStep && Boolean(value && before[cell]) && before[cell] !== value);
      button.classList.toggle("last", last.has(cell));
      button.classList.toggle("won", won.has(cell));
      const isBarred = Boolean(this.look.emptyIsOpen) && !value && Boolean(state.toMove) && this.target(cell) === undefined;
      button.classList.toggle("barred", isBarred);
      const what = value === BLOCKED || isBarred ? t("board.forbidden") : value ? this.stoneName(value) : t("board.empty");
      const facts = [this.name(cell), what, last.has(cell) && t("board.last"), won.has(cell) && t("board.winning")];
      button.setAttribute("aria-label", facts.filter(Boolean).join(t("status.comma")));
    });
    this.frame.dataset.mover = isYours ? state.toMove : "";
    this.setFocus(this.focus);
  }

  // Numbers the stones by the moves that put them there: the cell of each move; null for no numbers.
  number(cells) {
    const numbers = new Map((cells ?? []).map((cell, i) => [cell, i + 1]));
    this.cells.forEach((button, cell) => {
      const stone = button.querySelector(".stone");
      if (["one", "two"].includes(button.dataset.stone)) stone.textContent = numbers.get(cell) ?? "";
    });
    this.frame.classList.toggle("numbered", numbers.size > 0);
  }

  // Marks the cells that a click may go to next, and those that were clicked.
  mark() {
    this.cells.forEach((button, cell) => {
      const beginsAnew = this.picked.length > 0 && (this.picked.includes(cell) || this.movesFrom([cell]).length > 0);
      const isOpen = this.isYours && (this.target(cell) !== undefined || beginsAnew);
      button.classList.toggle("open", isOpen);
      button.classList.toggle("picked", this.picked.includes(cell));
      button.setAttribute("aria-disabled", String(!isOpen));
    });
  }

  stoneName(value) {
    return this.sides.get(value)?.name.toLowerCase() ?? value;
  }

  drawStone(button, cell, value, isNew) {
    const side = this.sides.get(value);
    const label = value && !side && value !== BLOCKED ? value : "";
    button.replaceChildren(el("span", { class: "stone" }, label), el("span", { class: "mark" }));
    button.dataset.stone = side?.side ?? (value === BLOCKED ? "blocked" : value ? "label" : "");
    button.classList.toggle("fresh", isNew);
    if (isNew) button.style.setProperty("--fall", Math.floor(cell / this.columns) + 1);
  }

  // The moves that begin with these cells.
  movesFrom(cells) {
    return this.legal.filter((each) => cells.every((cell, i) => each.cells[i] === cell));
  }

  // The cell that a click on a cell points at: where stones drop, the one where the column's next stone rests.
  target(cell) {
    const next = this.movesFrom(this.picked).map((each) => each.cells[this.picked.length]);
    return next.find((each) => (this.isDropped && !this.isEditing ? each !== undefined && each % this.columns === cell % this.columns : each === cell));
  }

  // Plays the move of the cells that were clicked, or waits for the next cell; another cell begins anew.
  click(cell) {
    const target = this.target(cell);
    if (target === undefined && !this.picked.length) return;
    if (target === undefined) {
      const isSame = this.picked.includes(cell);
      this.picked = [];
      if (!isSame && this.target(cell) !== undefined) return this.click(cell);
    } else {
      const cells = [...this.picked, target];
      const whole = this.movesFrom(cells).filter((each) => each.cells.length === cells.length);
      this.picked = whole.length || !this.isYours ? [] : cells;
      if (whole.length) this.actions.move(whole[0].move, whole);
    }
    return this.mark();
  }

  hover(cell, isOver) {
    const target = this.target(cell);
    for (const [each, button] of this.cells.entries()) button.classList.toggle("ghost", isOver && each === target && !this.shown[each] && button.classList.contains("open"));
  }

  // Draws a report's candidate moves on the board: value, visits, the best one marked; null removes them.
  advise(report) {
    if (!this.cells) return;
    for (const cell of this.hinted.splice(0)) {
      const mark = this.cells[cell].querySelector(".mark");
      mark.className = "mark";
      mark.replaceChildren();
    }
    if (!report) return;
    const total = Math.max(1, ...report.lines.map((line) => line.visits ?? 0));
    for (const line of report.lines.slice(0, this.candidates)) {
      const cell = this.legal.find((each) => each.move === line.moves[0])?.cells.at(-1);
      if (cell === undefined) continue;
      const isBest = line.moves[0] === report.move;
      if (!isBest && !this.isDropped && line.visits !== undefined && line.visits < total / 200) continue; // all columns are shown: they are few
      if (!isBest && line.visits === 0) continue;
      if (this.hinted.includes(cell)) continue; // of two moves to a cell, the better one
      const mark = this.cells[cell].querySelector(".mark");
      mark.className = isBest ? "mark hint best" : "mark hint";
      mark.style.setProperty("--weight", line.visits === undefined ? 0.6 : Math.sqrt(line.visits / total).toFixed(2));
      const { kind, value, result, plies } = forOne(line.score);
      const shown = kind === "proven" ? `${t(MARKS[result])}${plies ?? ""}` : kind === "win" ? hundredths(value) : "";
      mark.append(el("b", { class: shown.length > 2 ? "long" : undefined }, shown), line.visits === undefined ? "" : el("small", {}, short(line.visits)));
      this.hinted.push(cell);
    }
  }

  flip() {
    this.isFlipped = !this.isFlipped;
    this.applyFlip();
  }

  applyFlip() {
    this.frame?.classList.toggle("flipped", this.isFlipped);
  }

  setFocus(cell) {
    this.cells[this.focus].tabIndex = -1;
    this.focus = cell;
    this.cells[cell].tabIndex = 0;
  }

  key(name, target) {
    if (name === "Tab") this.isByKeyboard = true;
    if (!this.cells?.includes(target) || !this.isByKeyboard) return false;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -99], End: [0, 99] }[name];
    if (!step) return false;
    const sideways = this.isFlipped ? -1 : 1, upright = this.isFlipped && !this.isDropped ? -1 : 1;
    const row = Math.floor(this.focus / this.columns) + step[0] * upright;
    const column = Math.max(0, Math.min(this.columns - 1, (this.focus % this.columns) + step[1] * sideways));
    const cell = Math.max(0, Math.min(this.rows - 1, row)) * this.columns + column;
    this.setFocus(cell);
    this.cells[cell].focus();
    return true;
  }
}
