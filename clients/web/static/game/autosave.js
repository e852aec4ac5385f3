// Saves the game for a reload of the page, and keeps its link in the address.

import { saveGame, showLink } from "./storage.js";

const DELAY = 500; // milliseconds

export class AutoSave {
  // current() is the game to save and whether it is paused: { game, isPaused }
  constructor(current) {
    this.current = current;
    this.links = []; // the last two addresses that were shown: a browser may reload with the one before
    this.timer = undefined;
  }

  // Saves soon, once for all changes until then.
  soon() {
    this.timer ??= setTimeout(() => this.now(), DELAY);
  }

  // Saves now; the address is left alone when the page is left, or shows another game already.
  now(withAddress = true) {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { game, isPaused, clocks, room } = this.current();
    if (!game) return;
    if (withAddress) this.links = [...new Set([showLink(game.link()) ?? this.links[0], ...this.links])].slice(0, 2);
    saveGame(game, { links: this.links, isPaused, clocks: clocks.saved(), room: room.saved() });
  }
}
