// One game: its start, all of its moves, and the ply that is shown. It has no rules: positions come from the bridge.

const CHUNK = 1000; // moves sent to the bridge in one request
const MAX_STATES = 64; // kept in memory

export class Game {
  constructor(socket, { game, variant = "", start = "", moves = [], points = 0 }) {
    Object.assign(this, { socket, game, variant, start, moves: [...moves], basePoints: points });
    this.ply = 0;
    this.marks = []; // by ply: { text, points } of positions that were loaded
    this.values = []; // by ply: the engine's value
    this.states = new Map();
    this.firstSide = "one";
    this.hasChance = false;
  }

  // Loads the start, then lets chance make its opening moves, or goes to the last move of a record.
  async begin() {
    const { game, variant, start } = this;
    const first = await this.socket.apply({ game, variant, start });
    this.variant = first.position.variant;
    this.start = first.position.start;
    this.firstSide = first.toMove;
    this.hasChance = first.legal.some((each) => each.probability !== undefined) || first.text.startsWith("b ") || first.text.startsWith("a ");
    this.remember(0, first, this.basePoints);
    const isEmpty = this.hasChance && first.cells.every((cell) => !cell); // then chance drops the first tiles, whoever drops later
    if (isEmpty && !this.moves.length) await this.advance([], true);
    else await this.go(this.moves.length);
    this.firstPly = isEmpty ? Math.min(2, this.moves.length) : 0;
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

  sideAt(ply) {
    if (ply === this.ply && this.state) return this.state.toMove;
    if (this.hasChance) return this.moves[ply]?.includes("@") ? "environment" : "one";
    return (ply % 2 === 0) === (this.firstSide === "one") ? "one" : "two";
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

  // A tile for a drop here, drawn with the probabilities that the rules give.
  randomTile() {
    let left = Math.random();
    const { legal } = this.state;
    for (const each of legal) {
      left -= each.probability ?? 0;
      if (left <= 0) return each.move.split("@")[0];
    }
    return legal[0].move.split("@")[0];
  }

  // The nearest ply before or after here at which one of these sides decides; the end if there is none.
  decision(step, sides) {
    let ply = this.ply + step;
    const first = this.firstPly ?? 0;
    while (ply > first && ply < this.moves.length && !sides.includes(this.sideAt(ply))) ply += step;
    return Math.max(first, Math.min(ply, this.moves.length));
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
