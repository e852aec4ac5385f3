// The view: everything in the document. It shows what the controller gives it, and passes on what a person does.

import { Editor } from "./board/editor.js";
import { cellsOf } from "./board/numbers.js";
import { StoneBoard } from "./board/stones.js";
import { TileBoard } from "./board/tiles.js";
import { PICTURES } from "./game/sharing.js";
import { byId, el } from "./page/dom.js";
import { Forms } from "./page/forms.js";
import { language, t, word } from "./page/language.js";
import { clearReport, showOutcome, showReport, showValue } from "./page/panel.js";
import { showSeats } from "./page/seats.js";
import { isForTwo, isTiles, lineCount, reviewTimes, sideNames } from "./page/settings.js";
import { gradeOf, gradesOf } from "./study/grade.js";
import { showGraph } from "./study/graph.js";
import { showMoves, showReview } from "./study/history.js";
import { reportOf } from "./study/review.js";

const WALKS = { ArrowLeft: "back", ArrowRight: "forward", ArrowUp: "up", ArrowDown: "down", Home: "first", End: "last" };

export class View {
  constructor(controller) {
    this.controller = controller;
    this.board = null;
    this.editor = new Editor(controller, () => this.board);
    this.drawnHistory = [];
    this.drawings = new Map(); // what the next frame draws, by name
    this.bindButtons();
    this.forms = new Forms(controller, this);
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("pagehide", () => controller.autosave.now(false));
    window.addEventListener("hashchange", () => controller.addressChanged());
  }

  // --- what a person does

  bindButtons() {
    const { controller } = this;
    const actions = {
      new: () => this.forms.openSetup(),
      edit: () => this.editor.begin(),
      "setup-edit": () => this.forms.editBoard(),
      "setup-close": () => byId("setup-dialog").close(),
      undo: () => controller.step(-1),
      redo: () => controller.step(1),
      hint: () => controller.hint(),
      stop: () => controller.stop(),
      flip: () => this.board.flip(),
      swap: () => this.swap(),
      "review-start": () => controller.study.toggleReview(),
      "review-delete": () => controller.study.deleteReview(),
      "bad-back": () => controller.study.goToBad(-1),
      "bad-next": () => controller.study.goToBad(1),
      "best-line": () => controller.study.showBestLine(),
      promote: () => controller.study.promoteLine(),
      remove: () => controller.study.removeLine(),
      link: () => controller.sharing.copyLink(),
      invite: () => controller.sharing.invite(),
      export: () => controller.sharing.exportGame(byId("format").value),
      import: () => byId("file").click(),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).onclick = () => controller.game && action();
  }

  key(event) {
    const { controller } = this;
    if (!controller.game || byId("setup-dialog").open || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input:not([type=checkbox])")) return;
    if (this.editor.isOn) return this.editor.key(event);
    const actions = {
      u: () => controller.step(-1),
      r: () => controller.step(1),
      h: () => controller.hint(),
      s: () => controller.stop(),
      a: () => controller.changeSettings({ adviser: !controller.settings.adviser }),
      f: () => this.board.flip(),
      x: () => isForTwo(controller.card) && this.swap(),
      p: () => this.pass(),
      n: () => this.forms.openSetup(),
      m: () => controller.study.goToBad(1),
      M: () => controller.study.goToBad(-1),
      b: () => controller.study.showBestLine(),
    };
    if (event.shiftKey || !this.board.key(event.key, event.target, controller.mover())) {
      const action = WALKS[event.key] ? () => controller.study.walk(WALKS[event.key]) : actions[event.key];
      if (!action) return;
      action();
    }
    event.preventDefault();
  }

  // Plays a move; if several moves are made in the same way, asks which.
  play(move, among = []) {
    if (among.length > 1 && this.controller.isYours) this.showChoices(among);
    else this.controller.play(move);
  }

  pass() {
    const passes = this.controller.game.state.legal.filter(({ kind }) => kind === "pass");
    if (passes.length === 1) this.controller.play(passes[0].move);
  }

  swap() {
    const { one, two } = this.controller.settings;
    this.controller.changeSettings({ one: two, two: one });
    this.forms.show();
  }

  // --- what the page says

  notice(text) {
    byId("notice").textContent = text;
    byId("notice").hidden = !text;
  }

  say(text, lang = language) {
    const status = byId("status");
    status.lang = lang;
    if (status.textContent !== text) status.textContent = text; // or a screen reader would read it again
  }

  // An error: of the page in the reader's language, of the bridge too where that gives a text's name, of a daemon in English.
  sayError({ message, kind, text }) {
    if (text) this.say(t(text.key, text.values));
    else this.say(message, kind ? "en" : language);
  }

  // Shows what statusOf() made.
  showStatus({ text, moved, isLive, isPaused }) {
    byId("stop").textContent = isPaused ? t("tool.go-on") : t("tool.stop");
    byId("status").setAttribute("aria-live", isLive ? "polite" : "off");
    this.say(text);
    byId("moved").textContent = moved;
  }

  showThinking(isThinking) {
    byId("thinking").classList.toggle("busy", isThinking);
  }

  // --- the game

  showGames() {
    const { cards, card: current } = this.controller;
    const buttons = cards.map((card) =>
      el("button", { type: "button", "aria-current": card.game === current?.game ? "page" : undefined, class: card.isThere ? undefined : "away", title: card.summary, onclick: () => this.controller.choose(card) }, card.title));
    const nav = byId("games");
    const focused = nav.contains(document.activeElement) ? [...nav.children].indexOf(document.activeElement) : -1;
    nav.replaceChildren(...buttons);
    if (focused >= 0) nav.children[focused]?.focus();
  }

  // Shows a game that was opened: its board, its forms, no report yet. `isOther`: another game than the one shown before.
  openGame(isOther) {
    document.querySelector("main").inert = false; // until now, there was nothing to play
    if (this.editor.isOn) this.editor.end();
    this.scrollToBoard();
    if (isOther || !this.board) this.setUpBoard();
    else this.board.shown = undefined;
    this.forms.show();
    clearReport(!this.controller.game.hasChance);
  }

  scrollToBoard() {
    if (byId("play").getBoundingClientRect().top < 0) window.scrollTo(0, 0);
  }

  setUpBoard() {
    const { card } = this.controller;
    const root = byId("board");
    const actions = {
      move: (move, among) => (this.editor.isOn ? this.editor.put(Number(move)) : this.play(move, among)),
      drop: (cell) => (this.editor.isOn ? this.editor.put(cell) : this.controller.drop(cell)),
    };
    this.board = isTiles(card) ? new TileBoard(root, actions) : new StoneBoard(root, actions, card, lineCount(card));
    root.replaceChildren();
    document.body.dataset.game = card.game;
    for (const side of ["one", "two"]) this.setColour(side, card.sides.find((each) => each.side === side)?.colour);
    document.title = `${card.title} · plyd`;
    byId("flip").hidden = isTiles(card);
    byId("swap").hidden = !isForTwo(card);
    byId("notation").replaceChildren(el("span", { lang: "en" }, card.notation), " ", t("setup.examples", { examples: card.examples.join("   ") }));
    byId("start").value = "";
    byId("format").replaceChildren(...[...card.formats, ...PICTURES].map((form) => el("option", { value: form }, word(`format.${form}`, form))));
    byId("thinking-title").title = card.summary;
    byId("review-time").replaceChildren(...reviewTimes(card).map(([name, words]) => el("option", { value: name }, words)));
    byId("review-time").value = this.controller.settings.reviewTime;
    this.showGames();
  }

  // The colour of a side's stones; without one, that of the style sheet.
  setColour(side, colour) {
    if (colour) document.body.style.setProperty(`--side-${side}`, colour);
    else document.body.style.removeProperty(`--side-${side}`);
  }

  // Buttons for moves that no cell stands for, such as a pass, or for several that the same cells stand for.
  showChoices(moves) {
    const isYours = this.controller.mover() === "you";
    const name = ({ move, kind }) => (kind === "pass" ? t("pass.name") : move);
    const buttons = moves.map((each) =>
      el("button", { type: "button", class: "main", disabled: !isYours, title: each.kind === "pass" ? t("pass.title") : undefined, onclick: () => this.controller.play(each.move) }, name(each)));
    byId("choices").replaceChildren(...buttons);
    byId("choices").hidden = !buttons.length;
  }

  // Shows the game's position; `made` are the moves since the position shown before, undefined if it does not follow.
  showPosition(made) {
    const { game } = this.controller;
    if (this.editor.isOn) return;
    this.drawings.delete("report");
    this.board.advise(null);
    this.board.show(game.state, made, this.controller.mover());
    this.board.number(this.controller.settings.numbers ? cellsOf(this.board, game.startCells, game.moves.slice(0, game.ply)) : null);
    this.showSeats();
    this.showKnown(made);
    this.showChoices(game.state.legal.filter(({ kind }) => kind === "pass" || kind === "button"));
    byId("ply").max = game.moves.length;
    byId("ply").value = game.ply;
    byId("ply-text").textContent = `${game.ply} / ${game.moves.length}`;
    byId("undo").disabled = game.ply <= (game.firstPly ?? 0);
    byId("redo").disabled = game.ply >= game.moves.length;
    byId("hint").disabled = !this.controller.isYours;
    byId("stop").disabled = this.controller.mover() === "nobody";
    this.drawHistorySoon();
  }

  // Shows what is known of the position without a search: how the game ended, or what the review or an earlier search found.
  // After a move, the report that led to it stays.
  showKnown(made) {
    const { game, card, isPaused } = this.controller, names = sideNames(card);
    const { outcome } = game.state, { review, value } = game.node;
    if (["one", "two", "draw"].includes(outcome)) showOutcome(outcome, names);
    else if (review && isPaused) this.showReport(reportOf(review), game.points);
    else if (made === undefined || outcome !== "ongoing") {
      clearReport(!game.hasChance);
      if (!game.hasChance && typeof value === "number") showValue(value, names);
    }
  }

  showSeats() {
    showSeats(this.controller);
  }

  drawHistorySoon() {
    this.drawSoon("history", () => this.showHistory());
  }

  // Shows a report on the position that is shown.
  showReport(report, pointsSoFar) {
    this.drawSoon("report", () => {
      showReport(report, pointsSoFar, sideNames(this.controller.card));
      this.board.advise(report);
    });
    this.drawHistorySoon();
  }

  showHistory() {
    const { game, card, study } = this.controller;
    const isShare = !game.hasChance, names = sideNames(card);
    const grades = gradesOf(game.line, game.hasChance);
    const values = game.line.map(({ review: found, value }) => (!found ? value : isShare ? found.value : found.points + found.value));
    showGraph({ values, grades, ply: game.ply, isShare, names }, (ply) => this.controller.goTo(ply));
    const drawn = [game, game.node, game.version, study.version];
    if (drawn.every((each, i) => each === this.drawnHistory[i])) return; // only a value is new
    this.drawnHistory = drawn;
    showReview({ game, grades, names, run: study.review.run, isComplete: study.isReviewed });
    showMoves({ game, gradeAt: (node) => gradeOf(node, game.hasChance), visit: (node) => study.visit(node) });
    byId("line-tools").hidden = game.hasChance || !game.ply;
    byId("promote").hidden = game.node.isMain;
    byId("comment").textContent = game.node.comment;
    byId("comment").hidden = !game.node.comment;
  }

  // Draws something in the next frame; only the last drawing of a name is made.
  drawSoon(name, draw) {
    if (!this.drawings.size) {
      requestAnimationFrame(() => {
        const drawings = [...this.drawings.values()];
        this.drawings.clear();
        for (const each of drawings) each();
      });
    }
    this.drawings.set(name, draw);
  }
}
