// The controller: which game is open, who moves in it, and what happens next. Positions come from the bridge.

import { Activities } from "./activities.js";
import { EngineMoves } from "./engine/engine_moves.js";
import { Search } from "./engine/search.js";
import { Lost, Socket } from "./engine/socket.js";
import { AutoSave } from "./game/autosave.js";
import { Clocks } from "./game/clocks.js";
import { Game } from "./game/game.js";
import { readLink } from "./game/link.js";
import { Room } from "./game/room.js";
import { Sharing } from "./game/sharing.js";
import { loadGame, loadSettings, saveSettings } from "./game/storage.js";
import { heardVersion } from "./page/install.js";
import { t, translateCard } from "./page/language.js";
import { reportValue } from "./page/panel.js";
import { defaultSettings, engineOptions, hasChance, isForTwo, lineCount, moverOf, sideNames, startText, yourSides } from "./page/settings.js";
import { Sound } from "./page/sound.js";
import { moveText, statusOf } from "./page/text.js";
import { Study } from "./study/study.js";
import { View } from "./view.js";

const HINT = { seconds: 1 };
const RETRY_DELAY = 1000; // milliseconds before a move is sent again to a daemon that is away

export class Controller {
  constructor() {
    this.cards = []; // every game that the bridge knows
    this.isComplete = false; // whether all daemons are up
    this.card = null; // of the game that is shown
    this.settings = null;
    this.game = null;
    this.isPaused = false;
    this.activities = new Activities();
    this.moving = null; // the move being made: { token, done }
    this.isArriving = false;
    this.autosave = new AutoSave(() => this);
    this.sound = new Sound();
    this.view = new View(this);
    this.socket = new Socket({
      version: heardVersion,
      games: (games, isComplete) => this.gamesChanged(games, isComplete),
      shared: (shared) => this.game && this.room.follow(shared),
      open: () => this.view.notice(""),
      lost: () => this.showLost(),
    });
    this.study = new Study(this);
    this.room = new Room(this);
    this.sharing = new Sharing(this);
    this.engine = new EngineMoves(this);
    this.clocks = new Clocks({ tick: () => this.view.showSeats(), flag: (side) => this.flagged(side) });
    this.lastMove = 0; // when the position was shown, in milliseconds
    this.search = new Search(this.socket, {
      think: (isThinking) => this.view.showThinking(isThinking),
      queue: (place) => (place ? this.view.say(t("status.queue", { count: place })) : this.showStatus()),
    });
  }

  // A move is being made; until it is done, no other one begins.
  get isBusy() {
    return this.moving?.token.isCurrent ?? false;
  }

  get isThinking() {
    return this.search.isRunning;
  }

  // --- the connection and the daemons

  showLost() {
    if (!this.game) this.view.notice(t("notice.unreachable"));
    else this.view.notice(this.isBusy ? t("notice.lost-with-move") : t("notice.lost"));
  }

  gamesChanged(games, isComplete) {
    const wasThere = this.card?.isThere;
    this.cards = games.map(translateCard);
    this.isComplete = isComplete;
    if (this.card) this.card = this.cards.find((card) => card.game === this.card.game) ?? { ...this.card, isThere: false };
    this.view.showGames();
    if (!games.length) return this.view.notice(t("notice.no-engine"));
    if (!this.game) return this.arrive();
    if (!this.card.isThere) return this.view.notice(t("notice.restarting", { game: this.card.title }));
    this.showAway();
    if (this.room.isOn) this.room.enter(this.room.saved()); // a connection that is new has joined nothing
    if (!wasThere || !this.isThinking) this.proceed();
    return undefined;
  }

  showAway() {
    const away = this.cards.filter((card) => !card.isThere).map((card) => card.title);
    this.view.notice(away.length && !this.isComplete ? t("notice.away", { games: away.join(t("status.comma")) }) : "");
  }

  // Does something that may fail, and says so if it does; undefined then. A notice tells of a bridge or a daemon that is away.
  async attempt(work, token) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof Lost || error.kind === "Unavailable";
      if (!isAway && (token?.isCurrent ?? true)) this.view.sayError(error);
      return undefined;
    }
  }

  // --- games

  async arrive() {
    if (this.isArriving) return;
    this.isArriving = true;
    await this.openFirst();
    this.isArriving = false;
  }

  // Opens the game of the link, or the last one, or the first of all; waits for its engine if that is not up yet.
  async openFirst() {
    const linked = await readLink(location.hash);
    const saved = loadGame(linked?.game);
    const record = saved && (!linked || saved.links?.includes(location.hash)) ? saved : linked;
    const card = this.cards.find((each) => each.game === record?.game);
    if (record && !(card ?? { isThere: this.isComplete }).isThere) return this.view.notice(t("notice.waiting", { game: card?.title ?? record.game }));
    this.showAway();
    if (card && (await this.open(card, record))) return undefined;
    const first = this.cards.find((each) => each.isThere);
    if (!this.game && first) await this.open(first);
    return undefined;
  }

  choose(card) {
    if (!card.isThere) this.view.notice(t("notice.not-running", { game: card.title }));
    else if (card.game !== this.card?.game) this.open(card, loadGame(card.game));
  }

  newGame(start = "") {
    return this.open(this.card, start ? { variant: this.settings.variant, start, moves: [] } : null);
  }

  async addressChanged() {
    if (!this.game || location.hash === this.game.link()) return;
    const linked = await readLink(location.hash);
    const card = this.cards.find((each) => each.game === linked?.game);
    if (card) this.open(card, linked);
  }

  // Opens a new game, or a record's; false if the engine does not take it.
  async open(card, record = null) {
    const token = this.activities.begin("open");
    this.autosave.now(false);
    const isOther = this.card?.game !== card.game;
    const settings = isOther ? loadSettings(card, defaultSettings(card)) : this.settings;
    const wanted = record ?? { variant: settings.variant, start: startText(card, settings) };
    let game;
    try {
      game = new Game(this.socket, { ...wanted, game: card.game, hasChance: hasChance(card) }); // what was saved may be broken
      await game.begin();
    } catch (error) {
      return token.isCurrent ? this.openFailed(card, record, error) : true;
    }
    if (!token.isCurrent) return true;
    this.activities.supersede("place"); // a move in the game before
    settings.variant = game.variant;
    Object.assign(this, { card, settings, game, isPaused: record?.isPaused ?? Boolean(record?.moves?.length) });
    this.study.stop();
    this.clocks.setUp(isForTwo(card) ? settings.clock : "", record?.clocks);
    this.view.openGame(isOther);
    this.showPosition(null);
    if (record?.room || this.room.isOn) await this.room.enter(record?.room ?? null);
    this.autosave.now(); // so that a reload finds this game, however soon
    this.proceed();
    return true;
  }

  async openFailed(card, record, error) {
    if (error instanceof Lost || error.kind === "Unavailable") return true; // a notice says so already
    if (!record && this.card?.game !== card.game) await this.open(card, { start: "", moves: [] }); // not with these settings
    else this.proceed();
    this.view.sayError(error);
    return false;
  }

  changeSettings(change) {
    this.changeSetup(change);
    if ("clock" in change) this.clocks.setUp(change.clock);
    if ("one" in change || "two" in change || "environment" in change) this.isPaused = false;
    this.view.forms.showAdviser();
    this.showPosition(undefined);
    this.proceed();
  }

  // Changes settings of the next game.
  changeSetup(change) {
    Object.assign(this.settings, change);
    saveSettings(this.card, this.settings);
  }

  // --- moves

  // Who decides now; see moverOf.
  mover() {
    return moverOf(this.game, this.card, this.settings);
  }

  get isYours() {
    return ["you", "dropper"].includes(this.mover());
  }

  get isPersonPlaying() {
    return yourSides(this.card, this.settings).length > 0;
  }

  play(move) {
    if (this.mover() === "you") this.playIfLegal(move);
  }

  // A person in the place of chance chooses the cell; the tile was drawn by the odds.
  drop(cell) {
    if (this.mover() !== "dropper") return;
    const { tile } = this.game.node;
    const move = this.game.randomMove((each) => each.cells.includes(cell) && (!tile || each.move.startsWith(`${tile.index}@`)));
    if (move) this.playIfLegal(move);
  }

  // Draws the tile that a person in the place of chance is to put down, by the odds, and tells it.
  async drawTile() {
    const { game } = this, { node } = game, move = game.randomMove();
    if (node.tile || !move) return;
    const [index, cell] = move.split("@");
    node.tile = { index };
    const after = await this.attempt(() => this.socket.apply(game.position(), [move]));
    if (!after) return;
    node.tile.label = after.cells[Number(cell)];
    if (this.game === game && game.node === node) this.showStatus();
  }

  playIfLegal(move) {
    if (this.isBusy || !this.game.state.legal.some((each) => each.move === move)) return;
    if (this.room.isOn && this.game.ply < this.game.moves.length) return; // the game of both goes on at its end
    this.isPaused = false;
    this.makeMoves([move]);
    if (!this.socket.isOpen) this.showLost();
  }

  // Makes moves, or lets chance move if there are none; shows the new position, and proceeds.
  makeMoves(moves) {
    const token = this.activities.begin("place");
    const done = this.attempt(() => this.advance(moves, token), token).then((made) => {
      if (this.moving?.token === token) this.moving = null;
      if (!made || !token.isCurrent) return; // what failed is not tried again at once
      this.showPosition(made);
      this.room.moved();
      this.proceed();
    });
    this.moving = { token, done };
  }

  // The moves made. They are kept while the bridge is away, and tried again while the daemon is.
  async advance(moves, token) {
    const { game } = this;
    const isSlide = game.hasChance && game.state.toMove === "one";
    const isChance = !moves.length || (isSlide && this.settings.environment === "chance");
    for (;;) {
      try {
        return await game.advance(moves, isChance, this.study.isTakeBack);
      } catch (error) {
        if (error.kind !== "Unavailable" || !token.isCurrent) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
    }
  }

  // Shows another place in the game, and pauses there: a ply, or what a function of the game finds.
  async goTo(where) {
    const { game } = this;
    await this.moving?.done;
    if (game !== this.game) return;
    const token = this.activities.begin("place");
    const reached = await this.attempt(() => (typeof where === "function" ? where(game) : game.load(where)), token);
    if (!token.isCurrent) return;
    game.ply = reached ?? game.ply;
    this.isPaused = true;
    this.showPosition(undefined);
    this.proceed();
  }

  // Undo or redo: goes to the next place at which a person decides.
  step(direction) {
    if (!this.game || this.isBusy) return;
    const yours = yourSides(this.card, this.settings);
    const sides = yours.length ? yours : ["one", "two"];
    this.goTo((game) => game.decision(direction, sides));
  }

  // --- searches

  // Starts what comes next without a person: a move of chance, the engine's move, the adviser.
  proceed() {
    if (!this.game || this.isBusy || this.view.editor.isOn) return;
    this.runClock();
    if (!this.socket.isOpen) return;
    const token = this.activities.begin("search");
    const mover = this.mover();
    const isWaiting = this.isPaused && !this.isYours;
    if (mover === "chance" && !isWaiting) this.makeMoves([]);
    else if (mover === "engine" && !isWaiting && this.engine.isTurbo) this.engine.turbo(token);
    else if ((mover === "engine" || mover === "evil") && !isWaiting) this.engine.move(token, mover);
    else if (this.settings.adviser && mover !== "nobody") this.think(token);
    else this.search.stop();
  }

  // Lets the clock of the side to move run, at the end of a game that has begun and is not paused.
  runClock() {
    const { state, ply, moves } = this.game;
    const isRunning = ply > 0 && ply === moves.length && !this.isPaused && this.mover() !== "nobody";
    this.clocks.run(isRunning ? state.toMove : "");
  }

  flagged(side) {
    this.game.flag = side;
    this.search.stop();
    this.sound.moved(true);
    this.showPosition(undefined);
    this.proceed();
  }

  // A short search for a person who is to move; the adviser continues afterwards.
  async hint() {
    if (this.isBusy || !this.isYours) return;
    const token = this.activities.begin("search");
    const report = await this.think(token, HINT);
    if (!token.isCurrent) return;
    if (report?.move) this.view.say(t("status.hint", { move: moveText(report.move) }));
    if (this.settings.adviser) this.proceed();
  }

  // The final report of a search of the position shown.
  think(token, query = {}) {
    const fields = { lines: lineCount(this.card), options: engineOptions(this.card, this.settings), ...query };
    return this.attempt(() => this.search.run(token, this.game.position(), fields, (report) => this.showReport(report)), token);
  }

  // Lets nothing happen by itself until a person moves, or goes on.
  pause() {
    this.isPaused = true;
    this.activities.supersede("search");
    this.search.stop();
    this.runClock();
  }

  // The engine plays its best move so far; where no person plays, the game pauses, or goes on.
  stop() {
    if (!this.isPersonPlaying || this.isPaused) this.setPaused(!this.isPaused);
    else this.search.stop();
  }

  setPaused(isPaused) {
    this.isPaused = isPaused;
    this.proceed();
    this.showStatus();
    this.autosave.soon();
  }

  // --- showing, saving and sharing

  showPosition(made) {
    if (made?.length) {
      this.clocks.press(this.clocks.running);
      this.sound.moved(!this.game.state.toMove);
    }
    this.lastMove = performance.now();
    if (this.mover() === "dropper") this.drawTile();
    this.view.showPosition(made);
    this.showStatus(made);
    this.autosave.soon();
  }

  showReport(report) {
    const { game } = this;
    const value = reportValue(report, game.points);
    if (value !== null) game.node.value = value;
    this.view.showReport(report, game.points);
  }

  showStatus(made) {
    if (!this.game) return;
    if (this.view.editor.isOn) return this.view.say(t("editor.title"));
    const status = { game: this.game, made, mover: this.mover(), names: sideNames(this.card), isPaused: this.isPaused, isPersonPlaying: this.isPersonPlaying };
    this.view.showStatus(statusOf(status));
  }
}
