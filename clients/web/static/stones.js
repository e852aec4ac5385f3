// A board of stones: Connect Four and Gomoku. It is a grid of buttons, so that keyboards and screen readers can use it.

import { el } from "./dom.js";
import { percent, short } from "./text.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const NAMES = { gomoku: { x: "black", o: "white" }, connect4: { x: "red", o: "yellow" } };
const CANDIDATES = { gomoku: 8, connect4: 16 };

export class StoneBoard {
  // actions: { move(text) }
  constructor(root, actions, game) {
    this.root = root;
    this.actions = actions;
    this.game = game;
    this.candidates = CANDIDATES[game] ?? 8;
    this.names = NAMES[game] ?? { x: "first", o: "second" };
    this.isFlipped = false;
    this.size = "";
    this.focus = 0;
    this.hinted = [];
  }

  build(state) {
    const { rows, columns } = state;
    Object.assign(this, { rows, columns, size: `${rows}x${columns}`, moveAt: new Map(), cellOf: new Map() });
    this.cells = Array.from({ length: rows * columns }, (_, cell) => {
      const button = el("button", { type: "button", role: "gridcell", tabindex: -1, class: "point", onclick: () => this.click(cell) });
      const row = Math.floor(cell / columns), column = cell % columns;
      const edges = [row === 0 && "top", row === rows - 1 && "bottom", column === 0 && "left", column === columns - 1 && "right"];
      button.classList.add(...edges.filter(Boolean));
      if (this.game === "gomoku" && this.isStar(row, column)) button.classList.add("star");
      button.onfocus = () => this.setFocus(cell);
      button.onmouseenter = () => this.hover(cell, true);
      button.onmouseleave = () => this.hover(cell, false);
      return button;
    });
    const lines = Array.from({ length: rows }, (_, r) => el("div", { role: "row" }, ...this.cells.slice(r * columns, (r + 1) * columns)));
    this.grid = el("div", { class: "grid", role: "grid", "aria-label": this.game === "gomoku" ? "Gomoku board" : "Connect Four board" }, ...lines);
    const frame = el("div", { class: `stone-frame ${this.game}` }, this.labels("top"), this.labels("side"), this.grid);
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
    const text = (i) => (isTop ? (this.game === "gomoku" ? LETTERS[i] : i + 1) : this.rows - i);
    return el("div", { class: `labels ${where}`, "aria-hidden": true }, ...Array.from({ length: count }, (_, i) => el("span", {}, String(text(i)))));
  }

  isStar(row, column) {
    const near = this.rows >= 13 ? 3 : 2, far = this.rows - 1 - near, middle = (this.rows - 1) / 2;
    const marks = [near, middle, far];
    return this.rows >= 9 && marks.includes(row) && marks.includes(column) && (row === middle) === (column === middle);
  }

  name(cell) {
    const row = Math.floor(cell / this.columns), column = cell % this.columns;
    return this.game === "gomoku" ? `${LETTERS[column]}${this.rows - row}` : `column ${column + 1}, row ${this.rows - row}`;
  }

  show(state, made, mover) {
    if (this.size !== `${state.rows}x${state.columns}` || !this.root.contains(this.grid)) this.build(state);
    const before = this.shown ?? [];
    this.shown = state.cells;
    this.state = state;
    this.moveAt = new Map(state.legal.map((each) => [each.cell, each.move]));
    this.cellOf = new Map(state.legal.map((each) => [each.move, each.cell]));
    const isYours = mover === "you";
    const last = this.lastCell(state);
    const isStep = made?.length === 1 && !before[last];
    const won = ["one", "two"].includes(state.outcome) ? new Set(this.longestLine(state)) : new Set();
    this.cells.forEach((button, cell) => {
      const value = state.cells[cell];
      if (before[cell] !== value || !button.firstChild) this.drawStone(button, cell, value, isStep && cell === last);
      button.classList.toggle("last", cell === last);
      button.classList.toggle("won", won.has(cell));
      button.classList.toggle("open", isYours && this.target(cell) !== undefined);
      const isBarred = this.game === "gomoku" && !value && Boolean(state.toMove) && !this.moveAt.has(cell);
      button.classList.toggle("barred", isBarred);
      const what = value === "#" || isBarred ? "forbidden" : value ? this.names[value] : "empty";
      button.setAttribute("aria-label", `${this.name(cell)}, ${what}${cell === last ? ", last move" : ""}${won.has(cell) ? ", winning line" : ""}`);
      button.setAttribute("aria-disabled", String(!(isYours && this.target(cell) !== undefined)));
    });
    this.frame.dataset.mover = isYours ? (state.toMove === "one" ? "x" : "o") : "";
    this.setFocus(this.focus);
  }

  drawStone(button, cell, value, isNew) {
    button.replaceChildren(el("span", { class: "stone" }), el("span", { class: "mark" }));
    button.dataset.stone = value || "";
    button.classList.toggle("fresh", isNew);
    if (isNew) button.style.setProperty("--fall", Math.floor(cell / this.columns) + 1);
  }

  // The cell of the last move's stone, -1 if there is none.
  lastCell(state) {
    const move = state.position.moves.at(-1);
    if (!move) return -1;
    if (this.game === "gomoku") return (this.rows - Number(move.slice(1))) * this.columns + LETTERS.indexOf(move[0]);
    const column = Number(move) - 1;
    return state.cells.findIndex((value, cell) => cell % this.columns === column && value && value !== "#");
  }

  // The cell where a click on a cell puts a stone: in Connect Four, where the column's next stone rests.
  target(cell) {
    if (this.game !== "connect4") return this.moveAt.has(cell) ? cell : undefined;
    return [...this.moveAt.keys()].find((each) => each % this.columns === cell % this.columns);
  }

  click(cell) {
    const target = this.target(cell);
    if (target !== undefined) this.actions.move(this.moveAt.get(target));
  }

  hover(cell, isOver) {
    const target = this.target(cell);
    for (const [each, button] of this.cells.entries()) button.classList.toggle("ghost", isOver && each === target && button.classList.contains("open"));
  }

  // The longest line of the winner's stones.
  longestLine(state) {
    const { rows, columns, cells } = state;
    const stone = state.outcome === "one" ? "x" : "o";
    let best = [];
    for (let cell = 0; cell < cells.length; cell++) {
      if (cells[cell] !== stone) continue;
      for (const [down, right] of [[0, 1], [1, 0], [1, 1], [1, -1]]) {
        const line = [];
        let row = Math.floor(cell / columns), column = cell % columns;
        while (row < rows && column >= 0 && column < columns && cells[row * columns + column] === stone) {
          line.push(row * columns + column);
          row += down;
          column += right;
        }
        if (line.length > best.length) best = line;
      }
    }
    return best;
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
      const cell = this.cellOf.get(line.moves[0]);
      if (cell === undefined) continue;
      const isBest = line.moves[0] === report.move;
      if (!isBest && this.game !== "connect4" && line.visits !== undefined && line.visits < total / 200) continue; // all columns are shown: they are few
      const mark = this.cells[cell].querySelector(".mark");
      mark.className = isBest ? "mark hint best" : "mark hint";
      mark.style.setProperty("--weight", line.visits === undefined ? 0.6 : Math.sqrt(line.visits / total).toFixed(2));
      const { kind, value, result, plies } = line.score;
      const shown = kind === "proven" ? `${{ win: "W", draw: "=", loss: "L" }[result]}${plies ?? ""}` : kind === "win" ? percent(value).replace("%", "") : "";
      mark.append(el("b", {}, shown), line.visits === undefined ? "" : el("small", {}, short(line.visits).replace(" ", "")));
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
    if (!this.cells?.includes(target)) return false;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -99], End: [0, 99] }[name];
    if (!step) return false;
    const sideways = this.isFlipped ? -1 : 1, upright = this.isFlipped && this.game === "gomoku" ? -1 : 1;
    const row = Math.floor(this.focus / this.columns) + step[0] * upright;
    const column = Math.max(0, Math.min(this.columns - 1, (this.focus % this.columns) + step[1] * sideways));
    const cell = Math.max(0, Math.min(this.rows - 1, row)) * this.columns + column;
    this.setFocus(cell);
    this.cells[cell].focus();
    return true;
  }
}
