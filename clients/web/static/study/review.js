// The review of a game: every position of a line searched in the background, as many at once as the daemon has slots. What
// is found stays with the nodes of the game's tree.

import { Lost } from "../engine/socket.js";
import { share } from "../page/text.js";

const CHUNK = 1000; // moves sent to the bridge in one request
const MAX_LINE = 12; // moves of the best line that are kept
const RETRY_DELAY = 500; // milliseconds

const rounded = (value, digits) => Number(value.toFixed(digits));

// What a review keeps of a report: the value for player one (of a tile game: points to come) and that of the second best
// move, who is to move, the best move and its line; of a tile game the value of each slide, and the points so far.
export function reviewOf(report) {
  const { score, lines, move } = report;
  const worth = (each) => (each.kind === "points" ? rounded(each.value, 2) : each.kind === "win" || each.kind === "proven" ? rounded(share(each), 4) : undefined);
  const value = worth(score);
  if (value === undefined) return undefined;
  const found = { value, side: score.side };
  if (move) found.move = move;
  const best = lines.find((line) => line.moves[0] === move);
  if (score.kind === "points") found.slides = Object.fromEntries(lines.map((line) => [line.moves[0], worth(line.score)]));
  else if (best) found.line = best.moves.slice(0, MAX_LINE).join(" ");
  const others = lines.filter((line) => line.moves[0] !== move && (line.visits ?? 1) > 0).map((line) => worth(line.score)).filter((each) => each !== undefined);
  if (others.length) found.second = score.side === "two" ? Math.min(...others) : Math.max(...others);
  return found;
}

// A report of what a review found, to be shown as one.
export function reportOf({ value, side, move, line, slides }) {
  const score = (worth) => (slides ? { kind: "points", value: worth, side } : { kind: "win", value: worth, side: "one" });
  const lines = slides ? Object.entries(slides).map(([slide, worth]) => ({ moves: [slide], score: score(worth) })) : line ? [{ moves: line.split(" "), score: score(value) }] : [];
  return { final: true, move, score: score(value), lines, nodes: 0, depth: 0, ms: 0 };
}

export class Review {
  // changed(): called whenever something was found, and at the beginning and the end
  constructor(socket, changed) {
    Object.assign(this, { socket, changed });
    this.run = null; // the review that runs: { game, done, total }
  }

  get isRunning() {
    return this.run !== null;
  }

  // Reviews the line that is shown, except for positions that have been reviewed; resolves at its end.
  async start(game, query) {
    const run = { game, done: 0, total: 0 };
    this.run = run;
    try {
      await this.search(run, game.line, query);
    } finally {
      if (this.run === run) this.stop();
    }
  }

  stop() {
    if (!this.run) return;
    this.run = null;
    this.socket.unreview();
    this.changed();
  }

  async search(run, line, query) {
    const isWanted = (i) => line[i].review === undefined && !isChanceNext(run.game, line, i);
    run.total = line.filter((_, i) => isWanted(i)).length;
    this.changed();
    for (let from = 0; from < line.length && this.run === run; from += CHUNK) {
      const turns = [];
      for (let i = from; i < Math.min(line.length, from + CHUNK); i++) if (isWanted(i)) turns.push(i);
      if (turns.length) await this.searchChunk(run, line, from, turns, query);
    }
  }

  // Searches turns of a chunk; goes on when a connection that was lost is back.
  async searchChunk(run, line, from, turns, query) {
    const { game } = run;
    while (this.run === run) {
      const left = turns.filter((turn) => line[turn].review === undefined);
      if (!left.length) return;
      try {
        await game.load(from, line);
        const position = game.position(from, line), begin = from - position.moves.length;
        position.moves = line.slice(begin + 1, Math.max(...left) + 1).map((node) => node.move);
        await this.socket.review(position, left.map((turn) => turn - begin), query, ({ turn, points, report }) => this.found(run, line[begin + turn], report, line[begin].loaded.points + points));
        return;
      } catch (error) {
        if (!(error instanceof Lost) && error.kind !== "Unavailable") throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
      }
    }
  }

  found(run, node, report, points) {
    if (this.run !== run) return;
    node.review = reviewOf(report) ?? null;
    if (node.review?.slides) node.review.points = points;
    run.done++;
    this.changed();
  }
}

// Whether chance makes the next move of a tile game, or nobody: such positions are not reviewed.
function isChanceNext(game, line, i) {
  return game.hasChance && (line[i + 1]?.move.includes("@") ?? true);
}
