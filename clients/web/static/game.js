// One game: its start, all of its moves, and the ply that is shown. It has no rules: positions come from the bridge.

const CHUNK = 1000; // moves sent to the bridge in one request
const MAX_STATES = 64; // kept in memory

export class Game {
  constructor(socket, { game, variant = "", start = "", moves = [], points = 0, hasChance = false }) {
    Object.assign(this, { socket, game, variant, start, moves: [...moves], basePoints: points, hasChance });
    this.ply = 0;
    this.marks = []; // by ply: { text, points } of positions that were loaded
    this.values = []; // by ply: the engine's value
    this.states = new Map();
  }

  // Loads the start, then lets chance make its opening moves, or goes to the last move of a record.
  async begin() {
    const { game, variant, start } = this;
    const first = await this.socket.apply({ game, variant, start });
    this.variant = first.position.variant;
    this.start = first.position.start;
    this.remember(0, first, this.basePoints);
    const isEmpty = first.toMove === "environment" && first.cells.every((cell) => !cell); // then chance makes the first moves, whoever is chance later
    if (isEmpty && !this.moves.length) await this.advance([], true);
    else await this.go(this.moves.length);
    if (isEmpty) await this.findFirstPly();
  }

  // Finds the first ply at which a player is to move.
  async findFirstPly() {
    let ply = 0;
    while (ply < this.moves.length && this.states.get(await this.load(ply)).toMove === "environment") ply++;
    this.firstPly = ply;
  }

  remember(ply, state, points) {
    this.marks[ply] = { text: state.text, points };
    this.states.delete(ply);
    this.states.set(ply, state);
    const oldest = [...this.states.keys()].find((each) => each !== this.ply);
    if (this.states.size > MAX_STATES) this.states.delete(oldest);
  }

  get state() {
    return this.states.get(this.ply);
  }

  get points() {
    return this.marks[this.ply].points;
  }

  // The ply from which a position is given: a ply that was loaded, in a game for two every CHUNK plies.
  base(ply) {
    let from = this.hasChance ? ply : ply - (ply % CHUNK);
    while (!this.marks[from]) from -= this.hasChance ? 1 : CHUNK;
    return from;
  }

  // A position for the bridge: a board and the moves since, which are few, however long the game is.
  position(ply = this.ply) {
    const { game, variant } = this;
    const from = this.base(ply);
    return { game, variant, start: this.marks[from].text, moves: this.moves.slice(from, ply) };
  }

  // Plays moves here, then a move of chance if asked for; resolves to the moves made. Different later moves are dropped.
  async advance(moves, chance = false) {
    const ply = this.ply;
    const position = this.position(ply);
    const state = await this.socket.apply(position, moves, chance);
    const made = state.position.moves.slice(position.moves.length);
    const isSame = made.every((move, i) => this.moves[ply + i] === move) && ply + made.length <= this.moves.length;
    if (!isSame) {
      this.moves = [...this.moves.slice(0, ply), ...made];
      this.marks.length = Math.min(this.marks.length, ply + 1);
      this.values.length = Math.min(this.values.length, ply + 1);
      for (const each of [...this.states.keys()]) if (each > ply) this.states.delete(each);
    }
    this.remember(ply + made.length, state, this.marks[ply].points + (this.hasChance ? state.points : 0));
    this.ply = ply + made.length;
    return made;
  }

  // Shows another ply.
  async go(ply) {
    this.ply = await this.load(ply);
  }

  // Loads the state at a ply, or at the nearest ply that the game has; resolves to that ply.
  async load(wanted) {
    const { moves } = this;
    const ply = Math.max(0, Math.min(wanted, moves.length));
    if (this.states.has(ply)) return ply;
    let from = this.base(ply);
    do {
      const to = Math.min(ply, from + CHUNK);
      const state = await this.socket.apply(this.position(from), moves.slice(from, to));
      if (this.moves !== moves) return this.ply; // another move was made meanwhile
      this.remember(to, state, this.hasChance ? this.marks[from].points + state.points : 0);
      from = to;
    } while (from < ply);
    return ply;
  }

  // One of the moves of chance that are wanted, drawn by their odds; undefined if there is none.
  randomMove(isWanted = () => true) {
    const moves = this.state.legal.filter(isWanted);
    let left = Math.random() * moves.reduce((sum, each) => sum + (each.probability ?? 0), 0);
    for (const each of moves) {
      left -= each.probability ?? 0;
      if (left <= 0) return each.move;
    }
    return moves[0]?.move;
  }

  // Loads the nearest ply before or after here at which one of these sides decides, or the end; resolves to that ply.
  async decision(step, sides) {
    const first = this.firstPly ?? 0;
    let ply = Math.max(first, Math.min(this.ply + step, this.moves.length));
    while (ply > first && ply < this.moves.length) {
      const reached = await this.load(ply);
      if (reached !== ply || sides.includes(this.states.get(ply).toMove)) return reached;
      ply += step;
    }
    return this.load(ply);
  }

  link() {
    const fields = new URLSearchParams({ game: this.game, variant: this.variant });
    if (this.hasChance) {
      fields.set("start", this.state.text);
      if (this.points) fields.set("points", this.points);
    } else {
      fields.set("start", this.start);
      if (this.ply) fields.set("moves", this.moves.slice(0, this.ply).join("."));
    }
    return `#${fields}`;
  }

  record(players) {
    const { game, variant, start, moves } = this;
    const results = { one: "1-0", two: "0-1", draw: "1/2-1/2" };
    const result = this.ply === moves.length ? results[this.state.outcome] ?? "" : "";
    return { game, variant, start, moves, result, players };
  }
}

// The record in a link made by link(), or written by hand; null if there is none.
export function parseLink(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const game = fields.get("game");
  if (!game) return null;
  const points = Number(fields.get("points"));
  const moves = fields.get("moves");
  return {
    game,
    variant: fields.get("variant") ?? "",
    start: fields.get("start") ?? "",
    moves: moves?.split(/[.,\s]+/).filter(Boolean) ?? [],
    points: Number.isFinite(points) ? points : 0,
  };
}
