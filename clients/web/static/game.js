// One game: its start, all of its moves, and where in it we are. Holds no rules: what a position is, the bridge says.

const CHUNK = 1000; // moves that the bridge is shown at once
const KEPT_STATES = 64;

export class Game {
  constructor(socket, { game, variant = "", start = "", moves = [], points = 0 }) {
    Object.assign(this, { socket, game, variant, start, moves: [...moves], basePoints: points });
    this.ply = 0;
    this.marks = []; // by ply: { text, points } of positions that were seen
    this.values = []; // by ply: what an engine thought
    this.states = new Map();
    this.firstSide = "one";
    this.hasChance = false;
  }

  // Begin: have chance make its opening moves, or show the last move of a record.
  async begin() {
    const { game, variant, start } = this;
    const first = await this.socket.apply({ game, variant, start });
    this.variant = first.position.variant;
    this.start = first.position.start;
    this.firstSide = first.toMove;
    this.hasChance = first.legal.some((each) => each.probability !== undefined) || first.text.startsWith("b ") || first.text.startsWith("a ");
    this.remember(0, first, this.basePoints);
    const isEmpty = this.hasChance && first.cells.every((cell) => !cell); // then chance begins, whoever drops later
    if (isEmpty && !this.moves.length) await this.advance([], true);
    else await this.go(this.moves.length);
    this.firstPly = isEmpty ? Math.min(2, this.moves.length) : 0;
  }

  remember(ply, state, points) {
    this.marks[ply] = { text: state.text, points };
    this.states.delete(ply);
    this.states.set(ply, state);
    if (this.states.size > KEPT_STATES) this.states.delete(this.states.keys().next().value);
  }

  get state() {
    return this.states.get(this.ply);
  }

  get points() {
    return this.marks[this.ply].points;
  }

  // A position as the bridge takes it: the moves of a game for two, the board itself in a game with chance.
  position(ply = this.ply) {
    const { game, variant } = this;
    if (this.hasChance) return { game, variant, start: this.marks[ply].text, moves: [] };
    return { game, variant, start: this.start, moves: this.moves.slice(0, ply) };
  }

  sideAt(ply) {
    if (ply === this.ply && this.state) return this.state.toMove;
    if (this.hasChance) return this.moves[ply]?.includes("@") ? "environment" : "one";
    return (ply % 2 === 0) === (this.firstSide === "one") ? "one" : "two";
  }

  // Play moves here, and chance's after them if told so. Other moves that came after are forgotten.
  async advance(moves, chance = false) {
    const ply = this.ply;
    const position = this.position(ply);
    this.wish = null;
    const state = await this.socket.apply(position, moves, chance);
    const made = state.position.moves.slice(position.moves.length);
    const isSame = made.every((move, i) => this.moves[ply + i] === move) && ply + made.length <= this.moves.length;
    if (!isSame) {
      this.moves.length = ply;
      this.moves.push(...made);
      this.marks.length = Math.min(this.marks.length, ply + 1);
      this.values.length = Math.min(this.values.length, ply + 1);
      for (const each of [...this.states.keys()]) if (each > ply) this.states.delete(each);
    }
    this.remember(ply + made.length, state, this.marks[ply].points + (this.hasChance ? state.points : 0));
    this.ply = ply + made.length;
    return made;
  }

  async go(ply) {
    ply = Math.max(0, Math.min(ply, this.moves.length));
    const wish = (this.wish = {}); // what is asked for later counts
    let from = ply;
    while (!this.marks[from]) from--;
    if (this.states.has(ply)) {
      // nothing to ask
    } else if (!this.hasChance) {
      this.remember(ply, await this.socket.apply(this.position(ply)), 0);
    } else {
      do {
        const to = Math.min(ply, from + CHUNK);
        const state = await this.socket.apply(this.position(from), this.moves.slice(from, to));
        this.remember(to, state, this.marks[from].points + state.points);
        from = to;
      } while (from < ply);
    }
    if (this.wish === wish) this.ply = ply;
  }

  // The nearest ply before or after here at which one of these sides decides; the end if there is none.
  decision(step, sides) {
    let ply = this.ply + step;
    const first = this.firstPly ?? 0;
    while (ply > first && ply < this.moves.length && !sides.includes(this.sideAt(ply))) ply += step;
    return Math.max(first, Math.min(ply, this.moves.length));
  }

  link() {
    const words = new URLSearchParams({ game: this.game, variant: this.variant });
    if (this.hasChance) {
      words.set("start", this.state.text);
      if (this.points) words.set("points", this.points);
    } else {
      words.set("start", this.start);
      if (this.ply) words.set("moves", this.moves.slice(0, this.ply).join("."));
    }
    return `#${words}`;
  }

  record(players) {
    const { game, variant, start, moves } = this;
    const results = { one: "1-0", two: "0-1", draw: "1/2-1/2" };
    const result = this.ply === moves.length ? results[this.state.outcome] ?? "" : "";
    return { game, variant, start, moves, result, players };
  }
}

export function fromLink(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const game = words.get("game");
  if (!game) return null;
  const points = Number(words.get("points"));
  const moves = words.get("moves");
  return {
    game,
    variant: words.get("variant") ?? "",
    start: words.get("start") ?? "",
    moves: moves?.split(/[.,\s]+/).filter(Boolean) ?? [],
    points: Number.isFinite(points) ? points : 0,
  };
}
