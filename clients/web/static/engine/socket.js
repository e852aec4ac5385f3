// The socket to the bridge: requests with answers, searches with reports. It connects again when it is lost.

const FIRST_DELAY = 200, MAX_DELAY = 4000; // milliseconds before the next try
const MAX_PENDING = 8; // `apply` requests sent at once; the bridge allows a page 16 requests of all kinds

export class Lost extends Error {}

// The exception for an error of the bridge: { kind, message, ... }.
export const failure = (error) => Object.assign(new Error(error.message), error);

export class Socket {
  // listener: { games(list, isComplete), shared(room), open(), lost() }
  constructor(listener) {
    this.listener = listener;
    this.waiting = new Map(); // id -> { verb, fields, isSent, report, queue, resolve, reject }
    this.lastId = 0;
    this.delay = FIRST_DELAY;
    this.isOpen = null; // true or false, once that is known
    this.games = new Set(); // games that this bridge knows
    this.isComplete = false;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/socket`);
    this.socket.onopen = () => {
      this.isOpen = true;
      this.listener.open();
    };
    this.socket.onmessage = (event) => this.receive(JSON.parse(event.data));
    this.socket.onclose = () => this.closed();
  }

  // Searches are rejected when the connection is lost; `apply` requests wait and are sent again.
  closed() {
    const wasOpen = this.isOpen;
    this.isOpen = this.isComplete = false;
    this.games.clear();
    for (const [id, request] of [...this.waiting]) {
      request.isSent = false;
      if (request.verb === "apply") continue;
      this.waiting.delete(id);
      request.reject(new Lost());
    }
    if (wasOpen !== false) this.listener.lost();
    setTimeout(() => this.connect(), this.delay);
    this.delay = Math.min(this.delay * 2, MAX_DELAY);
  }

  receive(message) {
    if (message.games) {
      this.delay = FIRST_DELAY; // the bridge has accepted us
      this.games = new Set(message.games.map((card) => card.game));
      this.isComplete = message.isComplete;
      this.listener.version(message.version); // of the page that the bridge serves
      this.sendWaiting();
      this.listener.games(message.games, message.isComplete);
      return;
    }
    if (message.shared && message.id === undefined) return this.listener.shared(message.shared);
    const request = this.waiting.get(message.id);
    if (!request) return;
    if (message.queue !== undefined) request.queue?.(message.queue);
    else if (message.turn !== undefined) request.turn?.(message);
    else if (message.moves) request.moved?.(message.moves, message.state);
    else if (message.report && !message.report.final) request.report?.(message.report);
    else this.answer(request, message);
  }

  answer(request, message) {
    this.waiting.delete(message.id);
    if (message.error) request.reject(failure(message.error));
    else request.resolve(message.state ?? message.report ?? message.shared ?? null);
    this.sendWaiting();
  }

  ask(verb, fields = {}, on = {}) {
    return new Promise((resolve, reject) => {
      if (!this.isOpen && verb !== "apply") {
        reject(new Lost());
        return;
      }
      const id = ++this.lastId;
      this.waiting.set(id, { verb, fields, isSent: false, ...on, resolve, reject });
      if (verb === "apply") this.sendWaiting();
      else this.send(id);
    });
  }

  send(id) {
    const request = this.waiting.get(id);
    request.isSent = true;
    this.socket.send(JSON.stringify({ id, do: request.verb, ...request.fields }));
  }

  // Sends `apply` requests that wait, oldest first, as far as the bridge is there and knows their games.
  sendWaiting() {
    if (!this.isOpen) return;
    const requests = [...this.waiting].filter(([, request]) => request.verb === "apply");
    let room = MAX_PENDING - requests.filter(([, request]) => request.isSent).length;
    for (const [id, { isSent, fields }] of requests) {
      const isKnown = this.isComplete || this.games.has(fields.position.game);
      if (isSent || !isKnown || room <= 0) continue;
      this.send(id);
      room--;
    }
  }

  // The state after moves; `chance` adds a move of chance. Waits for the bridge while that is away.
  apply(position, moves = [], chance = false) {
    return this.ask("apply", { position, moves, chance });
  }

  // The final report of a search, null if it ended before it began. `on` gets reports and places in the queue.
  think(position, limits, on) {
    return this.ask("think", { position, ...limits }, on);
  }

  stop() {
    return this.ask("stop").catch(() => {});
  }

  // Searches turns of a position's moves; `onTurn` gets { turn, points, report } of each. Resolves at the end.
  review(position, turns, query, onTurn) {
    return this.ask("review", { position, turns, ...query }, { turn: onTurn });
  }

  // What is shared in a room, which from now on tells of changes; and after a change of this page.
  join(room) {
    return this.ask("join", { room });
  }

  share(room, version, record) {
    return this.ask("share", { room, version, record });
  }

  // Lets the engine of a tile game slide so many times; `onMoves` gets moves and the state after them. Resolves at the end.
  run(position, slides, options, onMoves) {
    return this.ask("run", { position, slides, options }, { moved: onMoves });
  }

  unreview() {
    return this.ask("unreview").catch(() => {});
  }
}
