// The position editor: pieces are put on the board that is shown, and the result becomes the start of a new game. Whether it
// can occur, the daemon says.

import { byId, el } from "../page/dom.js";
import { t } from "../page/language.js";
import { isForTwo, isTiles, sideNames } from "../page/settings.js";

const BLOCKED = "#";
const MAX_INDEX = 24; // of the tiles that are offered

export class Editor {
  // board(): the board that is shown
  constructor(controller, board) {
    Object.assign(this, { controller, board });
    this.cells = null; // while a position is edited
    this.wasPaused = false; // whether the game was, before
    this.piece = "";
    this.tiles = new Map(); // by game: the labels of its tiles by index
    byId("editor-clear").onclick = () => this.edit(this.cells.map(() => ""));
    byId("editor-done").onclick = () => this.finish();
    byId("editor-cancel").onclick = () => this.cancel();
  }

  get isOn() {
    return this.cells !== null;
  }

  // Begins with the position that is shown.
  async begin() {
    const { controller } = this, { game, card } = controller;
    if (isTiles(card) && !this.tiles.has(card.game)) this.tiles.set(card.game, await this.tileLabels(game));
    if (game !== controller.game) return;
    this.wasPaused = controller.isPaused;
    controller.pause();
    this.showPalette(card);
    const names = sideNames(card);
    const movers = isTiles(card) ? { b: t("editor.slides"), a: t("editor.drops") } : { one: names.one, two: names.two };
    byId("editor-mover").replaceChildren(...Object.entries(movers).map(([value, name]) => el("option", { value }, name)));
    byId("editor-mover").value = isTiles(card) ? game.state.text[0] : game.state.toMove || "one";
    this.say("");
    controller.view.drawings.delete("report"); // of the search that has just ended
    this.board().advise(null);
    this.edit([...game.state.cells]);
    byId("editor").hidden = false;
    byId("tools").hidden = byId("travel").hidden = true;
    controller.showStatus();
    controller.view.scrollToBoard();
  }

  // The labels of the tiles by index, as the daemon names them: from boards of indices in order, until it knows no more.
  async tileLabels({ socket, game, variant, state }) {
    const labels = [""], cells = state.rows * state.columns;
    for (let count = cells; count >= 1 && labels.length <= MAX_INDEX; ) {
      const indices = Array.from({ length: cells }, (_, i) => (i < count ? labels.length + i : 0));
      try {
        const board = await socket.apply({ game, variant, start: `b ${indices.join(" ")}` });
        labels.push(...board.cells.slice(0, count));
      } catch {
        count = Math.floor(count / 2);
      }
    }
    return labels;
  }

  showPalette(card) {
    const { notation, sides, game } = card;
    const stones = sides.filter(({ stone }) => stone).map(({ stone, name, side }) => ({ piece: stone, name, side }));
    const blocked = notation.includes(BLOCKED) ? [{ piece: BLOCKED, name: t("board.forbidden") }] : [];
    const tiles = (this.tiles.get(game) ?? []).slice(1, MAX_INDEX).map((label) => ({ piece: label, name: label }));
    const pieces = [...(isTiles(card) ? tiles : [...stones, ...blocked]), { piece: "", name: t("editor.remove") }];
    const choose = (piece) => {
      this.piece = piece;
      for (const button of byId("palette").children) button.setAttribute("aria-pressed", String(button.dataset.piece === piece));
    };
    byId("palette").replaceChildren(...pieces.map(({ piece, name, side }) => el("button", { type: "button", "data-piece": piece, "data-side": side, onclick: () => choose(piece) }, name)));
    choose(pieces[0].piece);
  }

  // Shows cells in which every one may be clicked.
  edit(cells) {
    const { state } = this.controller.game;
    this.cells = cells;
    const legal = cells.map((_, cell) => ({ move: String(cell), kind: "cell", cells: [cell] }));
    const board = this.board();
    board.isEditing = true;
    board.show({ ...state, cells, legal, last: [], won: [], outcome: "ongoing", toMove: "one" }, undefined, isTiles(this.controller.card) ? "dropper" : "you");
  }

  put(cell) {
    const piece = this.cells[cell] === this.piece ? "" : this.piece;
    this.edit(this.cells.map((each, i) => (i === cell ? piece : each)));
  }

  // The texts that may stand for the position, the most telling first.
  texts() {
    const { card, game } = this.controller, mover = byId("editor-mover").value;
    if (isTiles(card)) return [`${mover} ${this.cells.map((cell) => Math.max(0, this.tiles.get(card.game).indexOf(cell))).join(" ")}`];
    const { columns } = game.state;
    const rows = Array.from({ length: game.state.rows }, (_, row) => this.cells.slice(row * columns, (row + 1) * columns).map((cell) => cell || ".").join(""));
    const stone = card.sides.find(({ side }) => side === mover)?.stone;
    return [`${rows.join("/")} ${stone}`, rows.join("/")];
  }

  key(event) {
    if (event.key === "Escape") this.cancel();
    else if (!this.board().key(event.key, event.target)) return;
    event.preventDefault();
  }

  // Goes on with the game as it was.
  cancel() {
    this.end();
    this.controller.setPaused(this.wasPaused);
  }

  // Starts a game at the position; if it cannot occur, says why.
  async finish() {
    const { controller } = this, { card, socket, settings } = controller, mover = byId("editor-mover").value;
    let fault = "";
    for (const start of this.texts()) {
      try {
        const { toMove } = await socket.apply({ game: card.game, variant: settings.variant, start });
        if (isForTwo(card) && toMove && toMove !== mover) fault = t("editor.other-mover", { side: sideNames(card)[toMove] });
        else {
          this.end();
          return controller.newGame(start);
        }
      } catch (error) {
        fault = error.message;
      }
    }
    return this.say(fault);
  }

  say(words) {
    byId("editor-error").textContent = words;
  }

  end() {
    this.cells = null;
    this.board().isEditing = false;
    byId("editor").hidden = true;
    byId("tools").hidden = byId("travel").hidden = false;
    this.controller.showPosition(undefined);
  }
}
