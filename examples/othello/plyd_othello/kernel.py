"""Alpha-beta search of Othello, compiled: arrays in, arrays out.

The board is a row of 12x12 cells with a wall around the playing field, so that no step leaves it:

    # # # # # #...      0 empty, 1 black, 2 white, 3 wall
    # . . . . . . # ...
    # . . 2 1 . . # ...      cell = 12 * (row + 1) + column + 1; the opponent of a side is 3 - side

Values are for the side to move. A game that is over counts WON + the lead in discs; what is estimated stays below WON.
Depth counts discs put on the board: a pass is free, so a search as deep as there are empty cells is exact.

The stack is explicit: one row per open position. `search_slice` can pause at any node and resume later.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit

WIDTH, CELLS = 12, 144
EMPTY, BLACK, WHITE, WALL = 0, 1, 2, 3
PASS = 0  # as a move; cell 0 is a wall
STEPS = np.array([-13, -12, -11, -1, 1, 11, 12, 13])
WON, INFINITE = 1_000_000, 2_000_000
MOST_PLIES = 210  # 96 discs, and a pass before each
ENTER, NEXT, LEAVE, DONE = range(4)  # next task at the top of the stack
EXACT, LOWER, UPPER = range(3)  # what a value in the table is


class Stack(NamedTuple):
    """State of the search, so that it can resume."""

    board: NDArray[np.int8]  # (CELLS,): the position at the top of the stack
    corners: NDArray[np.int64]  # (4, 4): cell of a corner, its diagonal neighbour, its two neighbours on the edges
    rank: NDArray[np.int64]  # (CELLS,): static order of moves, the highest first
    zobrist: NDArray[np.uint64]  # (3, CELLS): one number per disc and cell; [0, 0] is for the side to move
    key: NDArray[np.uint64]  # (MOST_PLIES,)
    window: NDArray[np.int64]  # (MOST_PLIES, 5): alpha, beta, alpha at the beginning, best value, depth
    moves: NDArray[np.int64]  # (MOST_PLIES, CELLS): the moves to try, best first
    turns: NDArray[np.int64]  # (MOST_PLIES, 5): side, number of moves, next one, best move, searched again
    flips: NDArray[np.int64]  # (MOST_PLIES, CELLS): the cells turned by the move that is being tried
    flipped: NDArray[np.int64]  # (MOST_PLIES,): how many of them
    at: NDArray[np.int64]  # (4,): ply, task, value of the last child, nodes so far


class Table(NamedTuple):
    """Transposition table, always replaced."""

    key: NDArray[np.uint64]  # (power of two,)
    value: NDArray[np.int32]
    depth: NDArray[np.int8]
    bound: NDArray[np.int8]
    move: NDArray[np.uint8]


@njit(cache=True, nogil=True)
def turn(board: Any, side: int, cell: int, flips: Any) -> int:
    """The number of discs that a disc on an empty cell turns over; their cells go into `flips`."""
    count = 0
    for step in STEPS:
        at, before = cell + step, count
        while board[at] == 3 - side:
            flips[count] = at
            count += 1
            at += step
        if board[at] != side:  # nothing encloses this line
            count = before
    return count


@njit(cache=True, nogil=True)
def can_move(board: Any, side: int, cell: int) -> bool:
    """Whether a disc on an empty cell turns another one over."""
    for step in STEPS:
        at = cell + step
        if board[at] == 3 - side:
            while board[at] == 3 - side:
                at += step
            if board[at] == side:
                return True
    return False


@njit(cache=True, nogil=True)
def survey(board: Any) -> Any:
    """Moves of black and of white, their frontier discs, and their discs."""
    moves, frontier, discs = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.int64)
    for cell in range(WIDTH, CELLS - WIDTH):
        held = board[cell]
        if held == WALL:
            continue
        discs[held] += 1
        if held != EMPTY:
            for step in STEPS:
                if board[cell + step] == EMPTY:
                    frontier[held] += 1
                    break
            continue
        one = two = False
        for step in STEPS:
            at = cell + step
            first = board[at]
            if first == BLACK or first == WHITE:
                while board[at] == first:
                    at += step
                one |= first == WHITE and board[at] == BLACK
                two |= first == BLACK and board[at] == WHITE
        moves[BLACK] += one
        moves[WHITE] += two
    return moves, frontier, discs


@njit(cache=True, nogil=True)
def evaluate(board: Any, side: int, corners: Any) -> int:
    """The value for a side: exact if the game is over, else mobility, frontier, corners and, late, discs."""
    moves, frontier, discs = survey(board)
    lead = discs[side] - discs[3 - side]
    if moves[BLACK] + moves[WHITE] == 0:
        return lead + WON if lead > 0 else lead - WON if lead < 0 else 0
    value = 12 * (moves[side] - moves[3 - side]) - 4 * (frontier[side] - frontier[3 - side])
    for corner in corners:
        owner = board[corner[0]]
        for place in range(1, 4):
            held = board[corner[place]]
            if owner == EMPTY and held != EMPTY:  # it may give the corner away
                loss = 45 if place == 1 else 18
                value += -loss if held == side else loss
            elif owner != EMPTY and held == owner and place > 1:  # it can never be turned again
                value += 25 if held == side else -25
        if owner != EMPTY:
            value += 110 if owner == side else -110
    return value + (4 * lead if discs[EMPTY] < 16 else 0)


@njit(cache=True, nogil=True)
def list_moves(stack: Any, ply: int, first: int) -> int:
    """Write the moves of the side to move, `first` before all others, then by rank; their number."""
    board, moves, rank, side = stack.board, stack.moves[ply], stack.rank, stack.turns[ply, 0]
    count = 0
    for cell in range(WIDTH, CELLS - WIDTH):
        if board[cell] == EMPTY and can_move(board, side, cell):
            worth = 1000 if cell == first else rank[cell]
            place = count
            while place and worth > (1000 if moves[place - 1] == first else rank[moves[place - 1]]):
                moves[place] = moves[place - 1]
                place -= 1
            moves[place] = cell
            count += 1
    return count


@njit(cache=True, nogil=True)
def do_move(stack: Any, ply: int, move: int) -> None:
    """Make a move and open the next ply; `undo_move` takes it back."""
    side, zobrist = stack.turns[ply, 0], stack.zobrist
    key = stack.key[ply] ^ zobrist[0, 0]
    stack.flipped[ply] = 0
    if move != PASS:
        count = turn(stack.board, side, move, stack.flips[ply])
        stack.flipped[ply] = count
        stack.board[move] = side
        key ^= zobrist[side, move]
        for i in range(count):
            cell = stack.flips[ply, i]
            stack.board[cell] = side
            key ^= zobrist[BLACK, cell] ^ zobrist[WHITE, cell]
    stack.key[ply + 1] = key
    stack.turns[ply + 1, 0] = 3 - side


@njit(cache=True, nogil=True)
def undo_move(stack: Any, ply: int, move: int) -> None:
    """Take back the move that was made at a ply."""
    if move != PASS:
        stack.board[move] = EMPTY
        for i in range(stack.flipped[ply]):
            stack.board[stack.flips[ply, i]] = 3 - stack.turns[ply, 0]


@njit(cache=True, nogil=True)
def open_child(stack: Any, ply: int, alpha: int, beta: int) -> None:
    """Make the move that is in turn, and search it with this window."""
    move = stack.moves[ply, stack.turns[ply, 2]]
    do_move(stack, ply, move)
    window = stack.window[ply + 1]
    window[0], window[1] = -beta, -alpha
    window[4] = stack.window[ply, 4] - (move != PASS)
    stack.at[0], stack.at[1] = ply + 1, ENTER


@njit(cache=True, nogil=True)
def enter(stack: Any, table: Any, ply: int) -> int:
    """Begin a position: the task that follows. A leaf, or what the table knows, is its value at once."""
    window, turns = stack.window[ply], stack.turns[ply]
    window[2], window[3] = window[0], -INFINITE
    turns[2], turns[3], turns[4] = 0, PASS, 0
    if window[4] <= 0:
        window[3] = evaluate(stack.board, turns[0], stack.corners)
        turns[1] = 0
        return DONE
    slot = np.int64(stack.key[ply] & np.uint64(table.key.size - 1))
    known = table.key[slot] == stack.key[ply]
    if known and table.depth[slot] >= window[4]:
        value, bound = table.value[slot], table.bound[slot]
        if bound == EXACT or (bound == LOWER and value >= window[1]) or (bound == UPPER and value <= window[0]):
            window[3] = value
            return DONE
    turns[1] = list_moves(stack, ply, np.int64(table.move[slot]) if known else PASS)
    if turns[1] == 0:
        moves, _, _ = survey(stack.board)
        if moves[BLACK] + moves[WHITE] == 0:
            window[3] = evaluate(stack.board, turns[0], stack.corners)
            return DONE
        stack.moves[ply, 0], turns[1] = PASS, 1
    return NEXT


@njit(cache=True, nogil=True)
def take_value(stack: Any, ply: int, value: int) -> int:
    """Use the value of the child that was just searched: the task that follows."""
    window, turns = stack.window[ply], stack.turns[ply]
    move = stack.moves[ply, turns[2]]
    undo_move(stack, ply, move)
    if turns[2] and not turns[4] and window[0] < value < window[1]:  # better than a null window can say
        turns[4] = 1
        open_child(stack, ply, window[0], window[1])
        return ENTER
    turns[4] = 0
    turns[2] += 1
    if value > window[3]:
        window[3], turns[3] = value, move
        window[0] = max(window[0], value)
    return LEAVE if window[0] >= window[1] else NEXT


@njit(cache=True, nogil=True)
def leave(stack: Any, table: Any, ply: int) -> None:
    """Keep the value of a position that was searched."""
    window = stack.window[ply]
    slot = np.int64(stack.key[ply] & np.uint64(table.key.size - 1))
    best = window[3]
    table.key[slot], table.value[slot], table.depth[slot] = stack.key[ply], best, window[4]
    table.bound[slot] = UPPER if best <= window[2] else LOWER if best >= window[1] else EXACT
    table.move[slot] = stack.turns[ply, 3]


@njit(cache=True, nogil=True)
def search_slice(stack: Any, table: Any, nodes: int) -> bool:
    """Search on for a number of nodes; whether the value of ply 0 is known, in stack.at[2]."""
    at = stack.at
    end = at[3] + nodes
    while at[1] != DONE:
        ply = at[0]
        if at[1] == ENTER:
            if at[3] >= end:
                return False
            at[3] += 1
            task = enter(stack, table, ply)
        elif at[1] == NEXT:
            window, turns = stack.window[ply], stack.turns[ply]
            if turns[2] < turns[1]:
                open_child(stack, ply, window[0], window[1] if turns[2] == 0 else window[0] + 1)
                continue
            task = LEAVE
        else:
            leave(stack, table, ply)
            task = DONE
        at[1] = task
        if task == DONE:
            at[2] = stack.window[ply, 3]
            if ply:
                at[0] = ply - 1
                at[1] = take_value(stack, ply - 1, -at[2])
    return True


@njit(cache=True, nogil=True)
def principal_variation(stack: Any, table: Any, line: Any) -> int:
    """The moves that the table knows from ply 0 on, written to `line`; their number."""
    count = 0
    while count < line.size:
        slot = np.int64(stack.key[count] & np.uint64(table.key.size - 1))
        move = np.int64(table.move[slot])
        if table.key[slot] != stack.key[count] or (move == PASS and list_moves(stack, count, PASS)):
            break
        if move != PASS and not (stack.board[move] == EMPTY and can_move(stack.board, stack.turns[count, 0], move)):
            break
        line[count] = move
        do_move(stack, count, move)
        count += 1
    for ply in range(count - 1, -1, -1):
        undo_move(stack, ply, line[ply])
    return count
