// The tree of a game: a node is the position after a move. The first child of a node continues the main line, the others
// are variations.

export class Node {
  constructor(parent, move) {
    this.parent = parent;
    this.move = move;
    this.children = [];
    this.next = null; // the child that was visited last
    this.loaded = null; // { text, points } once the position was loaded
    this.value = undefined; // the engine's value during play
    this.review = undefined; // what a review found here; see review.js
    this.tile = null; // { index, label } that a person in the place of chance is to put down
    this.comment = "";
    this.mark = ""; // inaccuracy, mistake or blunder, in a tree for a file
  }

  find(move) {
    return this.children.find((child) => child.move === move);
  }

  // The child after a move, made if there is none; `isMain` makes it the main line.
  child(move, isMain = false) {
    let child = this.find(move);
    if (!child) {
      child = new Node(this, move);
      this.children.push(child);
    }
    if (isMain) this.promote(child);
    return child;
  }

  promote(child) {
    this.children = [child, ...this.children.filter((each) => each !== child)];
  }

  // The nodes from the root to this one.
  path() {
    const nodes = [];
    for (let node = this; node; node = node.parent) nodes.push(node);
    return nodes.reverse();
  }

  get depth() {
    return this.path().length - 1;
  }

  // The line through this node: the path to it, then the moves that were visited last, or the main ones.
  line() {
    const nodes = this.path();
    nodes.forEach((node, i) => {
      if (i) nodes[i - 1].next = node;
    });
    for (let node = this; node; ) {
      node = node.children.includes(node.next) ? node.next : node.children[0];
      if (node) nodes.push(node);
    }
    return nodes;
  }

  // Whether the node lies on the main line.
  get isMain() {
    return this.path().every((node) => !node.parent || node.parent.children[0] === node);
  }
}

// The nodes of the main line, the root first.
export function mainLine(root) {
  const line = [root];
  while (line.at(-1).children.length) line.push(line.at(-1).children[0]);
  return line;
}

// All nodes below a root: each one before its children, and its main line before its variations.
export function nodesOf(root) {
  const nodes = [], waiting = [...root.children].reverse();
  while (waiting.length) {
    const node = waiting.pop();
    nodes.push(node);
    for (let i = node.children.length - 1; i >= 0; i--) waiting.push(node.children[i]);
  }
  return nodes;
}

// A tree as plain lists. A parent is a number, 0 for the root, i + 1 for moves[i]; without `parents` each move follows the
// one before. Values and reviews begin with the root's.
export function packTree(root) {
  const nodes = nodesOf(root), numbers = new Map([[root, 0], ...nodes.map((node, i) => [node, i + 1])]);
  const parents = nodes.map((node) => numbers.get(node.parent));
  const packed = { moves: nodes.map((node) => node.move) };
  if (parents.some((parent, i) => parent !== i)) packed.parents = parents;
  for (const name of ["value", "review", "comment"]) {
    const list = [root, ...nodes].map((node) => (node[name] === "" ? null : node[name] ?? null));
    while (list.length && list.at(-1) === null) list.pop();
    if (list.length) packed[`${name}s`] = list;
  }
  return { packed, number: (node) => numbers.get(node) };
}

// The nodes of a packed tree, the root first.
export function unpackTree({ moves, parents, values, reviews, comments }) {
  const nodes = [new Node(null, "")];
  moves.forEach((move, i) => {
    nodes.push(nodes[parents?.[i] ?? i].child(move));
  });
  nodes.forEach((node, i) => {
    node.value = values?.[i] ?? undefined;
    node.review = reviews?.[i] ?? undefined;
    node.comment = comments?.[i] ?? "";
  });
  return nodes;
}
