// The page: one game, who is to move in it, and what the engine says. Positions come from the bridge, never from here.

import { Game, fromLink } from "./game.js";
import { copied, keepGame, keptGame, readFile, saveFile, showLink } from "./keeping.js";
import { clearReport, showGraph, showMoves, showReport, valueOf } from "./panel.js";
import { isTiles, limits, load, playersForm, save, setupForm, startText } from "./settings.js";
import { Lost, Socket } from "./socket.js";
import { StoneBoard } from "./stones.js";
import { TileBoard } from "./tiles.js";
import { el, points } from "./words.js";

const byId = (id) => document.getElementById(id);
const LINES = { gomoku: 8, connect4: 16 }; // and 4 of tiles: as many as there are moves, where those are few
const HINT = { seconds: 1 };
const EVIL = { depth: 2 };
const KEEP_DELAY = 500; // milliseconds
const SLOW_QUEUE = 400; // milliseconds, before the queue is worth a word
const NAMES = { gomoku: { one: "Black", two: "White" }, connect4: { one: "Red", two: "Yellow" } };

export class App {
  constructor() {
    this.cards = [];
    this.card = null;
    this.game = null;
    this.board = null;
    this.turn = 0; // counts what supersedes what: a search whose turn is over is not listened to
    this.opening = null; // the game being opened; only another one that is opened supersedes it,
    this.going = null; // and the place being gone to, which another place does, or a move
    this.searching = 0; // the turn of the search under way, 0 if there is none
    this.isPaused = false;
    this.isBusy = false;
    this.drawings = new Map();
    this.moving = Promise.resolve(); // the move being made
    this.isComplete = false;
    this.links = []; // what we last made of the address, and the time before: a browser may reload with that one still
    this.socket = new Socket({ games: (games, isComplete) => this.meet(games, isComplete), open: () => this.opened(), lost: () => this.lost() });
    this.bind();
  }

  get isThinking() {
    return this.searching !== 0;
  }

  get names() {
    return NAMES[this.card?.game] ?? { one: "Player", two: "Player two" };
  }

  get lines() {
    return LINES[this.card.game] ?? 4;
  }

  // --- the connection and the daemons

  opened() {
    this.notice("");
  }

  lost() {
    this.notice("The connection to plyd is lost; trying again…");
  }

  meet(games, isComplete) {
    const wasThere = this.card?.isThere;
    this.cards = games;
    this.isComplete = isComplete;
    this.showGames();
    if (!games.length) return this.notice("No engine is there yet. They are starting, or `plyd up` does not run.");
    if (!this.game) return this.arrive();
    this.card = games.find((card) => card.game === this.card.game) ?? this.card;
    if (!this.card.isThere) {
      this.notice(`The engine of ${this.card.title} is restarting…`);
    } else {
      this.notice(isComplete ? "" : this.missing());
      if (!wasThere || !this.isThinking) this.drive();
    }
  }

  missing() {
    const away = this.cards.filter((card) => !card.isThere).map((card) => card.title);
    return away.length ? `Not there yet: ${away.join(", ")}` : "";
  }

  notice(text) {
    const notice = byId("notice");
    notice.textContent = text;
    notice.hidden = !text;
  }

  say(text) {
    const status = byId("status");
    if (status.textContent !== text) status.textContent = text;
  }

  // Does something that may fail, and says so if it does.
  async attempt(work) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Lost || error.kind === "Unavailable") return undefined; // the notice says so already
      this.say(error.message);
      return undefined;
    }
  }

  // --- games

  async arrive() {
    if (this.isArriving) return;
    this.isArriving = true;
    await this.arriveOnce();
    this.isArriving = false;
  }

  // Opens what the link says, or what was open last, or the first game; waits for its engine if that is to come.
  async arriveOnce() {
    const wanted = fromLink(location.hash);
    const kept = keptGame(wanted?.game);
    const record = kept && (!wanted || kept.links?.includes(location.hash)) ? kept : wanted;
    const card = this.cards.find((each) => each.game === record?.game);
    if (record && !(card ?? { isThere: this.isComplete }).isThere) return this.notice(`Waiting for ${card?.title ?? record.game}…`);
    this.notice("");
    if (card && (await this.open(card, record)) !== "refused") return undefined;
    const first = this.cards.find((each) => each.isThere);
    if (!this.game && first) await this.open(first);
    return undefined;
  }

  // Keeps the game for a reload, soon, once for all that happens until then.
  keep() {
    this.keeping ??= setTimeout(() => this.keepNow(), KEEP_DELAY);
  }

  // Keeps it now. The address stays as it is while the page is left, or shows another game already.
  keepNow(withAddress = true) {
    clearTimeout(this.keeping);
    this.keeping = undefined;
    if (!this.game) return;
    if (withAddress) this.links = [...new Set([showLink(this.game.link()) ?? this.links[0], ...this.links])].slice(0, 2);
    keepGame(this.game, { links: this.links, isPaused: this.isPaused });
  }

  // Opens a game: a new one, or a record's. Says "refused" if the engine does not take it.
  async open(card, record = null) {
    const opening = (this.opening = {});
    this.turn++;
    this.keepNow(false);
    const settings = this.card?.game === card.game ? this.settings : load(card);
    let game, problem;
    try {
      const wanted = record ?? { variant: settings.variant, start: startText(card, settings) };
      game = new Game(this.socket, { ...wanted, game: card.game });
      await game.begin();
      if (record?.values) game.values = record.values.slice(0, game.moves.length + 1);
      if (record && Number.isInteger(record.ply) && record.ply < game.moves.length) await game.go(record.ply);
    } catch (error) {
      problem = error;
    }
    if (opening !== this.opening) return undefined;
    if (problem) return this.openFailed(card, record, problem);
    const isOther = this.card?.game !== card.game || !this.board;
    Object.assign(this, { card, settings, game, isPaused: record?.isPaused ?? Boolean(record?.moves?.length) });
    settings.variant = game.variant;
    if (isOther) this.dress();
    else this.board.shown = undefined;
    this.showForms();
    clearReport(!game.hasChance);
    this.show(null);
    this.drive();
    return undefined;
  }

  async openFailed(card, record, problem) {
    if (problem instanceof Lost || problem.kind === "Unavailable") return undefined; // the notice says so already
    const isOther = this.card?.game !== card.game;
    if (!record && isOther) { // settings that make no board: begin with the ordinary one
      await this.open(card, { start: "", moves: [] });
    }
    this.say(problem.message);
    return "refused";
  }

  // Sets the page up for another kind of game.
  dress() {
    const root = byId("board");
    const plays = { move: (move) => this.play(move), drop: (cell) => this.drop(cell) };
    this.board = isTiles(this.card) ? new TileBoard(root, plays) : new StoneBoard(root, plays, this.card.game);
    root.replaceChildren();
    document.body.dataset.game = this.card.game;
    document.title = `${this.card.title} · plyd`;
    byId("flip").hidden = byId("swap").hidden = isTiles(this.card);
    byId("notation").textContent = `${this.card.notation} Examples: ${this.card.examples.join("   ")}`;
    byId("start").value = "";
    byId("format").replaceChildren(...this.card.formats.map((form) => el("option", { value: form }, form)));
    byId("thinking-title").textContent = "Engine";
    byId("thinking-title").title = this.card.summary;
    this.showGames();
  }

  showForms() {
    byId("players").replaceChildren(...playersForm(this.card, this.settings, this.names, (change) => this.change(change)));
    byId("setup-fields").replaceChildren(...setupForm(this.card, this.settings, (change) => this.change(change, false)));
    byId("adviser").checked = this.settings.adviser;
  }

  showGames() {
    const buttons = this.cards.map((card) => el("button", { type: "button", "aria-current": card.game === this.card?.game ? "page" : undefined, class: card.isThere ? undefined : "away", title: card.summary, onclick: () => this.choose(card) }, card.title));
    const nav = byId("games"), before = nav.contains(document.activeElement) ? [...nav.children].indexOf(document.activeElement) : -1;
    nav.replaceChildren(...buttons);
    if (before >= 0) nav.children[before]?.focus();
  }

  choose(card) {
    if (!card.isThere) return this.notice(`The engine of ${card.title} is not there yet.`);
    if (card.game === this.card?.game) return undefined;
    return this.open(card, keptGame(card.game));
  }

  change(change, isNow = true) {
    Object.assign(this.settings, change);
    save(this.card, this.settings);
    if (!isNow) return;
    if ("one" in change || "two" in change || "environment" in change) this.isPaused = false;
    byId("adviser").checked = this.settings.adviser;
    this.show(undefined);
    this.drive();
  }

  // --- moves

  // Who decides now: you, engine, chance, evil, dropper (you, as the environment), or nobody.
  mover() {
    const side = this.game?.state.toMove;
    if (!side) return "nobody";
    if (side !== "environment") return this.settings[side];
    const dropper = this.settings.environment;
    if (dropper === "evil" && !this.card.capabilities.includes("environment")) return "chance";
    return dropper === "you" ? "dropper" : dropper;
  }

  get isYours() {
    return ["you", "dropper"].includes(this.mover());
  }

  play(move) {
    if (this.mover() !== "you" || this.isBusy || !this.game.state.legal.some((each) => each.move === move)) return;
    this.isPaused = false;
    this.make([move]);
  }

  drop(cell) {
    if (this.mover() !== "dropper" || this.isBusy) return;
    const move = `${this.drawTile()}@${cell}`;
    if (!this.game.state.legal.some((each) => each.move === move)) return;
    this.isPaused = false;
    this.make([move]);
  }

  // Chance decides which tile it is, by the odds that the rules give.
  drawTile() {
    let left = Math.random();
    const { legal } = this.game.state;
    for (const each of legal) {
      left -= each.probability ?? 0;
      if (left <= 0) return each.move.split("@")[0];
    }
    return legal[0].move.split("@")[0];
  }

  // Makes moves, lets chance drop where it does, shows it, and goes on. Until it is done, nothing else begins.
  make(moves) {
    const { game } = this;
    this.turn++;
    this.going = null;
    this.isBusy = true;
    this.moving = (async () => {
      const isSlide = game.hasChance && game.state.toMove === "one";
      const isChance = !moves.length || (isSlide && this.settings.environment === "chance");
      const made = await this.attempt(() => game.advance(moves, isChance));
      this.isBusy = false;
      if (game === this.game && made) this.show(made);
      if (game !== this.game || made) this.drive(); // what failed is not tried again at once
    })();
    return this.moving;
  }

  async go(ply, isPaused = true) {
    const { game } = this;
    await this.moving;
    const going = (this.going = {});
    this.turn++;
    await this.attempt(() => game.go(ply));
    if (going !== this.going || game !== this.game) return;
    this.isPaused = isPaused;
    this.show(undefined);
    this.drive();
  }

  travel(step) {
    if (!this.game || this.isBusy) return;
    const yours = ["one", "two", "environment"].filter((side) => this.settings[side] === "you" && !(side === "two" && isTiles(this.card)));
    this.go(this.game.decision(step, yours.length ? yours : isTiles(this.card) ? ["one"] : ["one", "two"]));
  }

  // --- what goes on by itself

  drive() {
    if (!this.game || this.isBusy || !this.socket.isOpen) return;
    const turn = ++this.turn;
    const mover = this.mover();
    const isWaiting = this.isPaused && mover !== "you" && mover !== "dropper";
    if (mover === "chance" && !isWaiting) this.make([]);
    else if ((mover === "engine" || mover === "evil") && !isWaiting) this.engine(turn, mover);
    else if (this.settings.adviser && mover !== "nobody") this.advise(turn);
    else if (this.isThinking) this.socket.stop();
  }

  async engine(turn, mover) {
    const lines = this.settings.options.engine === "negascout" ? 1 : this.lines; // it would pay for more with a ply or two
    const evil = mover === "evil" ? { ...EVIL, lines: 1, options: { environment: "evil", tile: this.drawTile() } } : {};
    const report = await this.search(turn, { ...limits(this.card, this.settings, this.game.state.toMove), lines, options: this.options(), ...evil });
    if (turn === this.turn && report?.move) this.make([report.move]);
  }

  advise(turn) {
    return this.search(turn, { lines: this.lines, options: this.options() });
  }

  // A short search for who has to decide; the adviser goes on afterwards.
  async hint() {
    if (this.isBusy || !this.isYours) return;
    const turn = ++this.turn;
    const report = await this.search(turn, { ...HINT, lines: this.lines, options: this.options() });
    if (turn !== this.turn) return;
    if (report?.move) this.say(`Hint: ${report.move}`);
    if (this.settings.adviser) this.drive();
  }

  options() {
    const evil = isTiles(this.card) && this.settings.environment === "evil" && this.card.capabilities.includes("environment");
    return { ...this.settings.options, ...(evil ? { environment: "evil" } : {}) };
  }

  // A search of the position shown; its final report. What is heard when its turn is over is not shown.
  async search(turn, wish) {
    const ply = this.game.ply;
    this.searching = turn;
    byId("thinking").classList.add("busy");
    let slow, isTold = false;
    const tellQueue = (ahead) => {
      isTold = true;
      if (turn === this.turn) this.say(`Waiting for a turn: ${ahead} before us`);
    };
    const hears = {
      report: (report) => turn === this.turn && this.heard(report, ply),
      queue: (ahead) => {
        clearTimeout(slow);
        if (ahead && isTold) tellQueue(ahead);
        else if (ahead) slow = setTimeout(() => tellQueue(ahead), SLOW_QUEUE);
        else if (isTold && turn === this.turn) this.tell();
        if (!ahead) isTold = false;
      },
    };
    const report = await this.attempt(() => this.socket.think(this.game.position(ply), wish, hears));
    clearTimeout(slow);
    if (this.searching === turn) {
      this.searching = 0;
      byId("thinking").classList.remove("busy");
    }
    if (report && turn === this.turn) this.heard(report, ply);
    return report;
  }

  heard(report, ply) {
    const { game } = this;
    const soFar = game.marks[ply].points;
    const value = valueOf(report, soFar);
    if (value !== null) game.values[ply] = value;
    this.soon("report", () => {
      if (game !== this.game) return;
      showReport(report, soFar, this.names);
      if (ply === game.ply) this.board.advise(report);
    });
    this.soon("history", () => this.showHistory());
  }

  // Draws something in the next frame, once, however often it changes until then.
  soon(name, work) {
    if (!this.drawings.size) {
      requestAnimationFrame(() => {
        const drawings = [...this.drawings.values()];
        this.drawings.clear();
        for (const draw of drawings) draw();
      });
    }
    this.drawings.set(name, work);
  }

  // The engine plays what it has; where nobody else plays, the game is paused, or goes on.
  stop() {
    const isAlone = this.settings.one !== "you" && (isTiles(this.card) ? this.settings.environment !== "you" : this.settings.two !== "you");
    if (isAlone || this.isPaused) {
      this.isPaused = !this.isPaused;
      this.drive();
    } else if (this.isThinking) this.socket.stop();
    this.tell();
    this.keep();
  }

  // --- showing

  show(made) {
    const { game } = this;
    this.drawings.delete("report");
    this.board.advise(null);
    this.board.show(game.state, made, this.mover());
    byId("ply").max = game.moves.length;
    byId("ply").value = game.ply;
    byId("ply-text").textContent = `${game.ply} / ${game.moves.length}`;
    byId("undo").disabled = game.ply <= (game.firstPly ?? 0);
    byId("redo").disabled = game.ply >= game.moves.length;
    byId("hint").disabled = !this.isYours;
    this.soon("history", () => this.showHistory());
    this.tell(made);
    this.keep();
  }

  showHistory() {
    const { game } = this;
    showGraph(game.values, game.moves.length, game.ply, !game.hasChance, (ply) => this.go(ply));
    showMoves(game, (ply) => this.go(ply));
  }

  tell(made) {
    const { game } = this;
    if (!game) return;
    const { outcome, toMove } = game.state;
    byId("stop").textContent = this.isPaused && ["engine", "evil", "chance"].includes(this.mover()) ? "Go on" : "Stop";
    const gained = game.hasChance ? `${points(game.points)} points. ` : "";
    const mover = this.mover();
    const isHuman = ["one", "two", "environment"].some((side) => this.settings[side] === "you" && !(side === "two" && game.hasChance));
    byId("status").setAttribute("aria-live", isHuman || this.isPaused || !toMove ? "polite" : "off"); // or it would never be silent
    const moved = made?.length ? `${made.map((move) => this.moveWords(move)).join(", ")}. ` : "";
    const next = {
      one: `${this.names.one} has won.`, two: `${this.names.two} has won.`, draw: "A draw.", ended: "No move is left: the game is over.",
    }[outcome] ?? { you: game.hasChance ? "Your move." : `You are to move, as ${this.names[toMove]}.`, engine: this.isPaused ? "Paused." : game.hasChance ? "The engine plays." : `The engine thinks, as ${this.names[toMove]}.`, dropper: "Choose a cell for the next tile.", evil: "The evil engine chooses a cell.", chance: "" }[mover];
    this.say(game.hasChance ? gained + next : moved + next);
    byId("moved").textContent = game.hasChance && isHuman ? moved : "";
  }

  // A move for who listens: a drop by its tile and place.
  moveWords(move) {
    const cell = Number(move.split("@")[1]);
    return Number.isNaN(cell) ? move : `${this.game.state.cells[cell]} at ${this.board.place(cell)}`;
  }

  // --- keeping and sharing

  exportGame() {
    const who = (side) => (this.settings[side] === "engine" ? "plyd" : "You");
    const players = [who("one"), isTiles(this.card) ? "" : who("two")];
    return this.attempt(() => saveFile(this.game.record(players), byId("format").value));
  }

  importGame(file) {
    return this.attempt(async () => {
      const record = await readFile(file);
      const card = this.cards.find((each) => each.game === record.game);
      if (!card) throw new Error(`no daemon serves ${record.game}`);
      await this.open(card, { ...record, isPaused: true });
    });
  }

  async copyLink() {
    const link = new URL(this.game.link(), location.href).href;
    this.say((await copied(link)) ? "The link is copied." : link);
  }

  // --- hands

  bind() {
    const on = (id, work) => {
      byId(id).onclick = () => this.game && work();
    };
    on("new", () => this.open(this.card));
    on("undo", () => this.travel(-1));
    on("redo", () => this.travel(1));
    on("hint", () => this.hint());
    on("stop", () => this.stop());
    on("flip", () => this.board.flip());
    on("swap", () => this.swap());
    on("link", () => this.copyLink());
    on("export", () => this.exportGame());
    on("import", () => byId("file").click());
    byId("file").onchange = (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.importGame(file);
    };
    byId("ply").oninput = (event) => this.go(Number(event.target.value));
    byId("adviser").onchange = (event) => this.change({ adviser: event.target.checked });
    byId("setup").onsubmit = (event) => {
      event.preventDefault();
      const start = byId("start").value.trim();
      this.open(this.card, start ? { variant: this.settings.variant, start, moves: [] } : null);
    };
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("pagehide", () => this.keepNow(false));
    window.addEventListener("hashchange", () => this.game && location.hash !== this.game.link() && this.arriveAgain());
  }

  arriveAgain() {
    const wanted = fromLink(location.hash);
    const card = this.cards.find((each) => each.game === wanted?.game);
    if (card) this.open(card, wanted);
  }

  swap() {
    const { one, two } = this.settings;
    this.change({ one: two, two: one });
    this.showForms();
  }

  key(event) {
    if (!this.game || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input:not([type=checkbox])")) return;
    if (this.board.key(event.key, event.target)) return event.preventDefault();
    const work = {
      u: () => this.travel(-1), r: () => this.travel(1), h: () => this.hint(), s: () => this.stop(),
      a: () => this.change({ adviser: !this.settings.adviser }), f: () => this.board.flip(), x: () => isTiles(this.card) || this.swap(),
    }[event.key];
    if (!work) return undefined;
    event.preventDefault();
    return work();
  }
}
