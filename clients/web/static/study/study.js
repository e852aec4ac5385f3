// What a person does with a game that was played: walks through its tree, reviews it, and tries what was better.

import { mainLine, nodesOf, packTree, unpackTree } from "../game/tree.js";
import { playerName } from "../page/seats.js";
import { engineOptions, isForTwo, reviewLimits } from "../page/settings.js";
import { BAD, gradeOf, gradesOf, nextBad } from "./grade.js";
import { verdictText } from "./history.js";
import { Review } from "./review.js";

const NOTE = "plyd: "; // begins the lines of a comment that a review writes

export class Study {
  constructor(controller) {
    this.controller = controller;
    this.version = 0; // counts what reviews have found
    this.review = new Review(controller.socket, () => this.changed());
  }

  get game() {
    return this.controller.game;
  }

  // --- the tree of moves

  // Whether other moves than before are the game that goes on, not a variation: against an engine, while it is not over.
  get isTakeBack() {
    const { one, two } = this.controller.settings;
    const isOver = this.game.line.at(-1).loaded?.toMove === "";
    return !isOver && this.game.node.isMain && (this.game.hasChance || one !== two);
  }

  visit(node) {
    return this.controller.goTo((game) => game.visit(node));
  }

  // Walks through the tree: back, forward, first, last; up and down to the variations of the move that is shown.
  walk(where) {
    const { node, ply, moves } = this.game;
    const siblings = node.parent?.children ?? [node], at = siblings.indexOf(node);
    const to = { back: ply - 1, forward: ply + 1, first: 0, last: moves.length }[where];
    if (to !== undefined) return this.controller.goTo(to);
    const other = siblings[at + (where === "up" ? -1 : 1)];
    return other && this.visit(other);
  }

  promoteLine() {
    this.game.promoteLine();
    this.controller.showPosition(undefined);
  }

  removeLine() {
    if (this.game.ply) this.controller.goTo((game) => game.load(game.remove(game.node)));
  }

  // --- the review

  // Whether the review has all positions of the line that is shown.
  get isReviewed() {
    const { game } = this;
    return game.moves.length > 0 && gradesOf(game.line, game.hasChance).every((grade, i) => !i || grade || game.moves[i - 1].includes("@"));
  }

  toggleReview() {
    const { card, settings, engine } = this.controller;
    if (this.review.isRunning) return this.review.stop();
    const lines = Math.max(2, engine.lines); // the second best tells whether a move was the only one
    const query = { lines, options: engineOptions(card, settings), ...reviewLimits(card, settings) };
    return this.controller.attempt(() => this.review.start(this.game, query));
  }

  stop() {
    this.review.stop();
  }

  deleteReview() {
    for (const node of [this.game.root, ...nodesOf(this.game.root)]) node.review = undefined;
    this.changed();
  }

  changed() {
    this.version++;
    if (!this.game) return;
    this.controller.view.drawHistorySoon();
    this.controller.autosave.soon();
  }

  goToBad(step) {
    const { game } = this;
    const ply = nextBad(gradesOf(game.line, game.hasChance), game.ply, step);
    if (ply >= 0) this.controller.goTo(ply);
  }

  // Plays what should have been played on the board: the best line becomes a variation, to walk through.
  showBestLine() {
    const { game } = this;
    const grade = gradeOf(game.node, game.hasChance);
    if (grade?.best && grade.best !== grade.move) this.visit(addLine(game.node.parent, bestLine(grade)));
  }

  // --- files

  // The game for a file: as SGF the whole tree, with what the review says as comments and variations; else the line shown.
  async record(format) {
    const { game, controller } = this;
    const players = [playerName(controller, "one"), isForTwo(controller.card) ? playerName(controller, "two") : ""];
    const isTree = format === "sgf";
    return { ...(await game.record(isTree ? mainLine(game.root) : game.line)), players, tree: isTree ? annotated(game) : null };
  }
}

const bestLine = (grade) => grade.line?.split(" ") ?? [grade.best];

// Adds a line of moves below a node; its first node.
function addLine(node, moves) {
  let last = node;
  for (const move of moves) last = last.child(move);
  return node.find(moves[0]);
}

// The packed tree of a game for two with the review's verdicts as comments and marks, and its best lines as variations.
function annotated(game) {
  const nodes = unpackTree(packTree(game.root).packed);
  const grades = nodes.map((node) => gradeOf(node, false));
  nodes.forEach((node, i) => {
    const grade = grades[i];
    const lines = node.comment.split("\n").filter((line) => line && !line.startsWith(NOTE));
    node.comment = [...lines, ...(grade ? [NOTE + verdictText(node.depth, grade, false)] : [])].join("\n");
    node.mark = BAD.includes(grade?.mark) ? grade.mark : "";
    if (node.mark) addLine(node.parent, bestLine(grade));
  });
  const { moves, parents, comments } = packTree(nodes[0]).packed;
  return { moves, parents, comments, marks: [nodes[0], ...nodesOf(nodes[0])].map((node) => node.mark || null) };
}
