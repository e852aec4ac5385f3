// The engine's moves: with which limits it searches, and how fast the game goes where nobody here plays.

import { engineOptions, limits, lineCount } from "../page/settings.js";

const EVIL = { depth: 2 };
const TURBO_SLIDES = 1000; // that are asked for at once

export class EngineMoves {
  constructor(controller) {
    this.controller = controller;
  }

  // Lines of play of a search whose strength counts.
  get lines() {
    const { card } = this.controller;
    return card.capabilities.includes("costly-lines") ? 1 : lineCount(card);
  }

  // Searches for the engine's move, or the evil environment's, and makes it.
  async move(token, mover) {
    const { game, clocks, card, settings } = this.controller, side = game.state.toMove;
    const time = clocks.isOn && side !== "environment" ? { clock: clocks.query(side) } : limits(card, settings, side);
    const query = { ...time, lines: this.lines };
    const evil = mover === "evil" ? { ...EVIL, lines: 1, options: { environment: "evil", tile: game.randomMove().split("@")[0] } } : {}; // see BOARD_KIND_TILES
    const report = await this.controller.think(token, { ...query, ...evil });
    if (report?.move) await this.keepPace();
    if (!token.isCurrent) return;
    if (report?.move) this.controller.makeMoves([report.move]);
    else if (report === null) this.controller.setPaused(true); // it was stopped before it began
  }

  // Whether the engine plays a tile game as fast as it can.
  get isTurbo() {
    const { game, settings } = this.controller;
    return game.hasChance && settings.turbo && settings.environment === "chance";
  }

  // Lets the engine slide on until it is told otherwise; what comes late is not shown.
  async turbo(token) {
    const { game, card, settings, socket } = this.controller, before = game.points;
    const show = (moves, state) => {
      if (!token.isCurrent || !moves.length) return;
      game.append(moves, state, before + state.points);
      this.controller.showPosition(null);
    };
    await this.controller.attempt(() => socket.run(game.position(), TURBO_SLIDES, engineOptions(card, settings), show), token);
    if (token.isCurrent) this.controller.proceed();
  }

  // Waits, in a game that is only watched, until the position was shown for as long as was asked for.
  async keepPace() {
    const wait = this.controller.isPersonPlaying ? 0 : Number(this.controller.settings.pace) - (performance.now() - this.controller.lastMove);
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
