// The board of a tile game: tiles that slide and merge, four buttons to slide them, and cells to drop tiles on for a
// person who plays the environment. Where each tile went is worked out from the boards before and after.

import { el } from "../page/dom.js";
import { t } from "../page/language.js";
import { cellText, scoreText } from "../page/text.js";

const ARROWS = { up: "↑", right: "→", down: "↓", left: "←" };
const SLIDES = { up: "slide.up", right: "slide.right", down: "slide.down", left: "slide.left" };
const SWIPE = 24; // pixels

export class TileBoard {
  // actions: { move(text), drop(cell) }
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
    this.tiles = []; // { element, cell, value }
    this.gone = [];
    this.size = "";
    this.isEditing = false; // a position is being set up: every cell may be pointed at
  }

  build(state) {
    this.rows = state.rows;
    this.columns = state.columns;
    this.size = `${state.rows}x${state.columns}`;
    this.tiles = [];
    this.gone = [];
    this.cells = Array.from({ length: state.rows * state.columns }, (_, cell) =>
      el("button", { type: "button", class: "hole", tabindex: -1, onclick: () => this.actions.drop(cell) }));
    this.field = el("div", { class: "tile-field", role: "group" }, ...this.cells);
    this.arrows = {};
    for (const move of Object.keys(ARROWS)) {
      this.arrows[move] = el("button", { type: "button", class: `arrow ${move}`, "aria-label": t(SLIDES[move]), onclick: () => this.actions.move(move) },
        el("span", { class: "sign", "aria-hidden": true }, ARROWS[move]), el("span", { class: "worth" }));
    }
    const frame = el("div", { class: "tile-frame" }, this.arrows.up, this.arrows.left, this.field, this.arrows.right, this.arrows.down);
    this.root.style.setProperty("--rows", state.rows);
    this.root.style.setProperty("--columns", state.columns);
    this.root.className = "tiles";
    this.root.replaceChildren(frame);
    this.bindSwipes();
  }

  // Shows a state; `made` are the moves since the state shown before, if it follows from that one.
  show(state, made, mover) {
    if (this.size !== `${state.rows}x${state.columns}` || !this.root.contains(this.field)) this.build(state);
    for (const tile of this.gone.splice(0)) tile.element.remove();
    const slide = made?.find((move) => ARROWS[move]);
    const drop = made?.find((move) => move.includes("@"));
    const isOneStep = made && made.length <= 2 && (slide || drop) && made.every((move) => move === slide || move === drop);
    if (!isOneStep || !this.animate(state, slide, drop)) this.redraw(state);
    const legal = new Set(state.legal.map((each) => each.move));
    for (const [move, button] of Object.entries(this.arrows)) button.setAttribute("aria-disabled", String(mover !== "you" || !legal.has(move)));
    for (const [cell, hole] of this.cells.entries()) {
      const mayDrop = mover === "dropper" && (state.cells[cell] === "" || this.isEditing);
      hole.disabled = !mayDrop;
      hole.tabIndex = mayDrop ? 0 : -1;
      hole.setAttribute("aria-label", [cellText(cell, this.columns), state.cells[cell] || t("board.empty")].join(t("status.comma")));
    }
    this.field.setAttribute("aria-label", this.rowsText(state));
    this.field.classList.toggle("over", state.outcome !== "ongoing");
  }

  redraw(state) {
    for (const tile of this.tiles) tile.element.remove();
    this.tiles = [];
    for (const [cell, value] of state.cells.entries()) if (value) this.add(cell, value, false);
  }

  add(cell, value, isNew) {
    const element = el("div", { class: isNew ? "tile new" : "tile", "aria-hidden": true }, el("span"));
    const tile = { element, cell, value };
    this.tiles.push(tile);
    this.drawTile(tile);
    this.put(tile, cell);
    this.field.append(element);
  }

  drawTile(tile) {
    const step = Math.log2(Number(tile.value) + 1);
    tile.element.firstChild.textContent = tile.value;
    tile.element.style.setProperty("--step", step.toFixed(2));
    tile.element.dataset.length = Math.min(tile.value.length, 6);
    tile.element.classList.toggle("high", step > 8.5);
  }

  put(tile, cell) {
    tile.cell = cell;
    tile.element.style.setProperty("--x", cell % this.columns);
    tile.element.style.setProperty("--y", Math.floor(cell / this.columns));
  }

  // Moves each tile to where it went; false if the boards do not fit together.
  animate(state, slide, drop) {
    const dropCell = drop ? Number(drop.split("@")[1]) : -1;
    const after = state.cells.map((value, cell) => (cell === dropCell ? "" : value));
    const steps = [];
    if (slide) {
      for (const line of this.lines(slide)) {
        const from = line.map((cell) => this.tiles.find((tile) => tile.cell === cell)).filter(Boolean);
        let next = 0;
        for (const cell of line) {
          if (!after[cell]) continue;
          const tile = from[next++];
          if (!tile) return false;
          const other = tile.value === after[cell] ? null : from[next++];
          if (other === undefined) return false;
          steps.push({ tile, other, cell });
        }
        if (next !== from.length) return false;
      }
    } else if (this.tiles.some((tile) => after[tile.cell] !== tile.value)) return false;
    for (const { tile, other, cell } of steps) {
      this.put(tile, cell);
      tile.element.classList.remove("new", "merged");
      if (!other) continue;
      this.put(other, cell);
      this.gone.push(other);
      this.tiles.splice(this.tiles.indexOf(other), 1);
      setTimeout(() => other.element.remove(), 120);
      tile.value = after[cell];
      this.drawTile(tile);
      tile.element.classList.add("merged");
    }
    if (drop) this.add(dropCell, state.cells[dropCell], true);
    return true;
  }

  // The cells of each line, beginning at the edge that tiles slide to.
  lines(slide) {
    const { rows, columns } = this;
    const isRow = slide === "left" || slide === "right";
    const lines = Array.from({ length: isRow ? rows : columns }, (_, i) =>
      Array.from({ length: isRow ? columns : rows }, (_, j) => (isRow ? i * columns + j : j * columns + i)));
    return slide === "left" || slide === "up" ? lines : lines.map((line) => line.reverse());
  }

  // Shows the value of each move; null removes the values.
  advise(report) {
    if (!this.field) return;
    const lines = new Map((report?.lines ?? []).map((line) => [line.moves[0], line]));
    for (const [move, button] of Object.entries(this.arrows)) {
      const line = lines.get(move);
      const worth = line ? scoreText(line.score) : "";
      button.querySelector(".worth").textContent = worth;
      button.classList.toggle("best", report?.move === move);
      const facts = [t(SLIDES[move]), worth && t("slide.worth", { worth }), report?.move === move && t("slide.best")];
      button.setAttribute("aria-label", facts.filter(Boolean).join(t("status.comma")));
    }
    const drops = [...lines.values()].filter((line) => line.moves[0].includes("@"));
    for (const hole of this.cells) hole.textContent = "";
    for (const line of drops.slice(0, 6)) {
      const [, cell] = line.moves[0].split("@");
      if (!this.cells[cell].textContent) this.cells[cell].textContent = scoreText(line.score);
    }
  }

  flip() {}

  number() {}

  rowsText(state) {
    const rows = Array.from({ length: state.rows }, (_, r) =>
      state.cells.slice(r * state.columns, (r + 1) * state.columns).map((value) => value || t("board.empty")).join(" "));
    return t("board.tiles", { rows: rows.join(t("board.semicolon")) });
  }

  // Whether a key slides the tiles; where nobody here does, it is left to the tree of moves.
  key(name, _target, mover) {
    if (mover !== "you") return false;
    const move = { ArrowUp: "up", ArrowRight: "right", ArrowDown: "down", ArrowLeft: "left" }[name];
    if (!move) return false;
    this.actions.move(move);
    return true;
  }

  bindSwipes() {
    let start = null;
    this.field.onpointerdown = (event) => {
      start = { x: event.clientX, y: event.clientY };
    };
    this.field.onpointerup = (event) => {
      if (!start) return;
      const x = event.clientX - start.x, y = event.clientY - start.y;
      start = null;
      if (Math.max(Math.abs(x), Math.abs(y)) < SWIPE) return;
      this.actions.move(Math.abs(x) > Math.abs(y) ? (x > 0 ? "right" : "left") : y > 0 ? "down" : "up");
    };
    this.field.onpointercancel = () => {
      start = null;
    };
  }
}
