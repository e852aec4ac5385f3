// The socket to the bridge: requests with answers, searches with reports; opens itself again when it is lost.

const FIRST_DELAY = 200, LONGEST_DELAY = 4000;

export class Lost extends Error {}

export class Socket {
  // hears: { games(list, isComplete), open(), lost() }
  constructor(hears) {
    this.hears = hears;
    this.waiting = new Map(); // id -> { report, queue, resolve, reject }
    this.lastId = 0;
    this.delay = FIRST_DELAY;
    this.isOpen = false;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/socket`);
    this.socket.onopen = () => {
      this.isOpen = true;
      this.hears.open();
    };
    this.socket.onmessage = (event) => this.take(JSON.parse(event.data));
    this.socket.onclose = () => this.closed();
  }

  closed() {
    const wasOpen = this.isOpen;
    this.isOpen = false;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const each of waiting) each.reject(new Lost("the connection was lost"));
    if (wasOpen) this.hears.lost();
    setTimeout(() => this.connect(), this.delay);
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY);
  }

  take(words) {
    if (words.games) {
      this.delay = FIRST_DELAY; // it is a bridge that has room for us
      return this.hears.games(words.games, words.isComplete);
    }
    const asked = this.waiting.get(words.id);
    if (!asked) return;
    if (words.queue !== undefined) return asked.queue?.(words.queue);
    if (words.report && !words.report.final) return asked.report?.(words.report);
    this.waiting.delete(words.id);
    if (words.error) asked.reject(Object.assign(new Error(words.error.message), words.error));
    else asked.resolve(words.state ?? words.report ?? null);
  }

  ask(verb, fields = {}, hears = {}) {
    if (!this.isOpen) return Promise.reject(new Lost("not connected"));
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { ...hears, resolve, reject });
      this.socket.send(JSON.stringify({ id, do: verb, ...fields }));
    });
  }

  // The state after moves; `chance` lets tiles drop.
  apply(position, moves = [], chance = false) {
    return this.ask("apply", { position, moves, chance });
  }

  // The final report of a search, null if it was ended before it began. `hears` gets reports and places in the queue.
  think(position, limits, hears) {
    return this.ask("think", { position, ...limits }, hears);
  }

  stop() {
    return this.ask("stop").catch(() => {});
  }
}
