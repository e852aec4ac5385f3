// One game: its start, the tree of its moves, the line and the ply that are shown. It has no rules: positions come from the
// bridge.

import { packTree, unpackTree } from "./tree.js";

const CHUNK = 1000; // moves sent to the bridge in one request
const MAX_STATES = 64; // kept in memory

export class Game {
  // A record has moves, or a tree of moves with the numbers of the node that is shown, and of the end of its line.
  constructor(socket, { game, variant = "", start = "", moves = [], tree = null, at = null, end = null, points = 0, hasChance = false, players = ["", ""], flag = "" }) {
    Object.assign(this, { socket, game, variant, start, basePoints: points, hasChance, players: [...players], flag });
    const nodes = unpackTree(tree ?? { moves });
    this.root = nodes[0];
    this.ply = 0;
    this.seat = ""; // the side of this page in a game that two people share
    this.version = 0; // counts changes of the tree, and of the line that is shown
    this.states = new Map(); // of nodes
    this.follow(nodes[end] ?? nodes[at] ?? this.root);
    this.opensAt = nodes[at]?.depth ?? Infinity;
  }

  // Makes the line through a node the one that is shown.
  follow(node) {
    this.version++;
    this.line = node.line();
    this.moves = movesOf(this.line, 0);
  }

  // Loads the start, then lets chance make its opening moves, or goes to where a record was left.
  async begin() {
    const { game, variant, start } = this;
    const first = await this.socket.apply({ game, variant, start });
    this.variant = first.position.variant;
    this.start = first.position.start;
    this.startCells = first.cells;
    this.startMover = first.toMove;
    this.remember(this.root, first, this.basePoints);
    const isEmpty = first.toMove === "environment" && first.cells.every((cell) => !cell); // then chance makes the first moves, whoever is chance later
    if (isEmpty && !this.moves.length) await this.advance([], true);
    else await this.go(this.moves.length);
    if (isEmpty) await this.findFirstPly();
    if (this.opensAt < this.ply) await this.go(this.opensAt);
  }

  // Finds the first ply at which a player is to move.
  async findFirstPly() {
    let ply = 0;
    while (ply < this.moves.length && this.stateAt(await this.load(ply)).toMove === "environment") ply++;
    this.firstPly = ply;
  }

  remember(node, state, points) {
    node.loaded = { text: state.text, points, toMove: state.toMove };
    this.states.delete(node);
    this.states.set(node, state);
    const oldest = [...this.states.keys()].find((each) => each !== this.node);
    if (this.states.size > MAX_STATES) this.states.delete(oldest);
  }

  get node() {
    return this.line[this.ply];
  }

  get state() {
    return this.states.get(this.node);
  }

  stateAt(ply) {
    return this.states.get(this.line[ply]);
  }

  get points() {
    return this.node.loaded.points;
  }

  // The engine's values by ply, in the line that is shown.
  get values() {
    return this.line.map((node) => node.value);
  }

  // The ply from which a position is given: a ply that was loaded, in a game for two every CHUNK plies.
  base(ply, line) {
    let from = this.hasChance ? ply : ply - (ply % CHUNK);
    while (!line[from].loaded) from -= this.hasChance ? 1 : CHUNK;
    return from;
  }

  // A position for the bridge: a board and the moves since, which are few, however long the game is.
  position(ply = this.ply, line = this.line) {
    const { game, variant } = this;
    const from = this.base(ply, line);
    return { game, variant, start: line[from].loaded.text, moves: movesOf(line, from, ply) };
  }

  // Plays moves here, then a move of chance if asked for; resolves to the moves made. Other later moves stay as a
  // variation, or become one if the new moves are to be the main line.
  async advance(moves, chance = false, isMain = false) {
    const { ply, node } = this;
    const position = this.position(ply);
    const state = await this.socket.apply(position, moves, chance);
    const made = state.position.moves.slice(position.moves.length);
    let last = node;
    for (const move of made) last = last.child(move, isMain);
    if (this.line[ply + made.length] !== last) this.follow(last);
    this.remember(last, state, node.loaded.points + (this.hasChance ? state.points : 0));
    this.ply = ply + made.length;
    return made;
  }

  // Adds moves that were made elsewhere, with the state after them and the points so far.
  append(moves, state, points) {
    let last = this.node;
    for (const move of moves) last = last.child(move, true);
    this.follow(last);
    this.remember(last, state, points);
    this.ply += moves.length;
  }

  // Shows another ply.
  async go(ply) {
    this.ply = await this.load(ply);
  }

  // Loads the state at a ply of a line, or at the nearest ply that the line has; resolves to that ply.
  async load(wanted, line = this.line) {
    const isShown = line === this.line;
    const ply = Math.max(0, Math.min(wanted, line.length - 1));
    if (this.states.has(line[ply])) return ply;
    let from = this.base(ply, line);
    do {
      const to = Math.min(ply, from + CHUNK);
      const state = await this.socket.apply(this.position(from, line), movesOf(line, from, to));
      if (isShown && this.line !== line) return this.ply; // another move was made meanwhile
      this.remember(line[to], state, this.hasChance ? line[from].loaded.points + state.points : 0);
      from = to;
    } while (from < ply);
    return ply;
  }

  // Loads a node of any line, and makes its line the one that is shown; resolves to its ply.
  async visit(node) {
    const ply = await this.load(node.depth, node.line());
    this.follow(node);
    this.ply = ply;
    return ply;
  }

  // The last node of a line of moves from the start, made if it is not there.
  lineOf(moves) {
    return moves.reduce((node, move) => node.child(move, true), this.root);
  }

  // Deletes a node with all that follows; the line that is shown then ends, or goes on, at its parent.
  remove(node) {
    this.version++;
    const { parent } = node;
    parent.children = parent.children.filter((each) => each !== node);
    if (this.line.includes(node)) {
      this.follow(parent);
      this.ply = Math.min(this.ply, parent.depth);
    }
    return this.ply;
  }

  // Makes the line that is shown the main line.
  promoteLine() {
    this.version++;
    for (const node of this.line) node.parent?.promote(node);
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
      if (reached !== ply || sides.includes(this.stateAt(ply).toMove)) return reached;
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

  // The whole game for the browser's store: with values, reviews and the place that is shown.
  saved() {
    const { game, variant, start, basePoints: points, players, flag } = this;
    const { packed, number } = packTree(this.root);
    return { game, variant, start, points, players, flag, tree: packed, at: number(this.node), end: number(this.line.at(-1)) };
  }

  // A line of the game for a file, with its result.
  async record(line) {
    const { game, variant, start } = this;
    await this.load(line.length - 1, line);
    const winner = { one: "two", two: "one" }[this.flag] ?? this.states.get(line.at(-1)).outcome;
    const result = { one: "1-0", two: "0-1", draw: "1/2-1/2" }[winner] ?? "";
    return { game, variant, start, moves: movesOf(line, 0), result };
  }
}

// The moves of a line between two plies.
function movesOf(line, from, to) {
  return line.slice(from + 1, to === undefined ? undefined : to + 1).map((node) => node.move);
}
