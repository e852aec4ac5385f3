// Where each move of a game lies on a board of stones, to number the stones.

// The cells of moves, undefined for a move without a cell of its own; `board` knows the names of its cells.
export function cellsOf(board, startCells, moves) {
  const cells = [...startCells];
  const byName = new Map(cells.map((_, cell) => [board.name(cell), cell]));
  return moves.map((move) => {
    const cell = board.isDropped ? restingCell(board, cells, board.look.columns.indexOf(move)) : byName.get(move);
    if (cell !== undefined) cells[cell] = move;
    return cell;
  });
}

// Where a stone dropped in a column rests.
function restingCell({ rows, columns }, cells, column) {
  for (let row = rows - 1; row >= 0; row--) if (!cells[row * columns + column]) return row * columns + column;
  return undefined;
}
