// What each move of a reviewed game was worth. The values, and the loss of a move, are those of `plyd analyze game.sgf`
// (clients/analyze/review.py): a test compares them.

// Losses from which on a move is so called: of win probability, or of a share of the points to come.
const LIMITS = { win: { blunder: 0.2, mistake: 0.1, inaccuracy: 0.05 }, points: { blunder: 0.1, mistake: 0.03, inaccuracy: 0.01 } };
export const BAD = ["inaccuracy", "mistake", "blunder"];
export const MARKS = ["only", "best", "fine", ...BAD];
export const SIGNS = { only: "□", best: "", fine: "", inaccuracy: "?!", mistake: "?", blunder: "??" };

// The grade of the move that leads to a node; undefined while the review has not reached it. `hasChance`: a tile game.
export function gradeOf(node, hasChance) {
  const from = node.parent?.review;
  if (!from) return undefined;
  const mine = (value) => (hasChance || value === undefined || from.side === "one" ? value : 1 - value);
  const before = mine(from.value), after = hasChance ? from.slides?.[node.move] : mine(node.review?.value);
  if (after === undefined) return undefined;
  const isBest = node.move === from.move;
  const loss = isBest ? 0 : Math.max(0, before - after);
  const share = hasChance ? loss / Math.max(before, 1) : loss;
  const limits = LIMITS[hasChance ? "points" : "win"];
  const second = mine(from.second);
  const gap = second === undefined ? 0 : (before - second) / (hasChance ? Math.max(before, 1) : 1);
  const mark = isBest ? (gap >= limits.mistake ? "only" : "best") : [...BAD].reverse().find((each) => share >= limits[each]) ?? "fine";
  return { side: from.side, move: node.move, before, after, best: from.move, line: from.line, loss, share, mark };
}

// The grades of a line, by ply; the start has none.
export function gradesOf(line, hasChance) {
  return line.map((node) => gradeOf(node, hasChance));
}

// How near moves came to the best ones, from 0 to 100: the curve that lichess uses, for the loss of each move.
const accuracyOf = (share) => Math.max(0, Math.min(100, 103.1668 * Math.exp(-4.354 * share) - 3.1669));

// By side: the number of moves, their accuracy, what they lost on average, and how many were bad.
export function summaryOf(grades) {
  const sides = {};
  for (const grade of grades) {
    if (!grade) continue;
    sides[grade.side] ??= { moves: 0, accuracy: 0, loss: 0, inaccuracy: 0, mistake: 0, blunder: 0 };
    const sums = sides[grade.side];
    sums.moves++;
    sums.accuracy += accuracyOf(grade.share);
    sums.loss += grade.loss;
    if (BAD.includes(grade.mark)) sums[grade.mark]++;
  }
  for (const sums of Object.values(sides)) {
    sums.accuracy /= sums.moves;
    sums.loss /= sums.moves;
  }
  return sides;
}

// The ply of the nearest bad move before or after a ply; -1 if there is none.
export function nextBad(grades, ply, step) {
  for (let i = ply + step; i > 0 && i < grades.length; i += step) if (BAD.includes(grades[i]?.mark)) return i;
  return -1;
}
