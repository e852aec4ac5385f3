"""An exhaustive solver of Connect Four on the 7x6 board, and the positions it solved for tests and tuning.

The solver shares nothing with the engine: not its kernels, not its rulebook. A position is the columns played to get
there, as digits, "4435"; in the kernels it is two words, the mover's stones and all stones, seven bits a column of
which the top one, the guard, stays empty:

    6 13 20 27 34 41 48    guard
    5 12 19 26 33 40 47    top row
    ...
    0  7 14 21 28 35 42    bottom row

A score is 22 less the number of stones that the winner has at the end: 18 for a win with the fourth stone, 0 for a
draw, negative if the opponent wins. So it does not depend on the moves that led to a position, and one table of scores
serves every search. Every question put to the tree is "is the score more than this?", which is a null window.

    python tests/engines/connect4/oracle.py --count 300 --seed 1 --kind played --out FILE

appends solved positions to a file: the moves, then for each column `W<plies>`, `L<plies>`, `D`, or `-` for a full one.

    python tests/engines/connect4/oracle.py --check 0.1

lets the engine move in each position of that file, with so many seconds for each on one core, and prints how often it
kept the result.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

WIDTH, HEIGHT = 7, 6
CELLS = WIDTH * HEIGHT
COLUMN_BITS = HEIGHT + 1
FIRST_PLY, LAST_PLY = 12, 24  # of the positions made by the script

DATA = Path(__file__).parent / "data" / "connect4_7x6.txt"

# --- Kernels ----------------------------------------------------------------------------------------------------------

ONE, TWO, ZERO = np.uint64(1), np.uint64(2), np.uint64(0)
ROW_UP = np.uint64(1)
BOTTOM = np.uint64(sum(1 << COLUMN_BITS * column for column in range(WIDTH)))
BOARD = np.uint64(int(BOTTOM) * ((1 << HEIGHT) - 1))
COLUMNS = np.array([((1 << HEIGHT) - 1) << COLUMN_BITS * column for column in (3, 2, 4, 1, 5, 0, 6)], np.uint64)

BOUND_BITS, BOUND_MASK, BOUND_OFFSET = np.uint64(6), np.uint64(63), 32  # a bound as a number of six bits
KEY_SHIFT = np.uint64(12)  # an entry of the table: key, lower bound, upper bound
SCATTER = np.uint64(0x9E3779B97F4A7C15)

NO, YES, GAVE_UP, OPEN = 0, 1, 2, 3


@njit(inline="always")
def lines_through(stones, step):
    """Cells in line with three stones, along one direction, on the board or not."""
    step2, step3 = step + step, step + step + step
    pair = (stones << step) & (stones << step2)
    cells = pair & ((stones << step3) | (stones >> step))
    pair = (stones >> step) & (stones >> step2)
    return cells | (pair & ((stones << step) | (stones >> step3)))


@njit
def winning_cells(stones, all_stones):
    """Empty cells, within reach or not, where one more stone makes four."""
    column = (stones << ONE) & (stones << TWO) & (stones << np.uint64(3))
    row = lines_through(stones, np.uint64(COLUMN_BITS))
    falling = lines_through(stones, np.uint64(COLUMN_BITS - 1))
    rising = lines_through(stones, np.uint64(COLUMN_BITS + 1))
    return (column | row | falling | rising) & (BOARD ^ all_stones)


@njit(inline="always")
def landings(all_stones):
    """The cell of each column where a stone comes to rest."""
    return (all_stones + BOTTOM) & BOARD


@njit
def count_bits(word):
    """How many bits are set."""
    count = 0
    while word != ZERO:
        word &= word - ONE
        count += 1
    return count


@njit
def safe_landings(mine, all_stones):
    """Landings after which the opponent cannot win at once; the mover must have no win at once."""
    possible = landings(all_stones)
    threats = winning_cells(mine ^ all_stones, all_stones)
    forced = possible & threats
    if forced != ZERO:
        if forced & (forced - ONE) != ZERO:  # two wins at once: no answer
            return ZERO
        possible = forced
    return possible & ~(threats >> ROW_UP)  # nor lift the opponent into a win


@njit
def exceeds(mine, all_stones, stones, bound, table, table_shift, horizon, max_nodes, nodes):
    """Whether the score is more than a bound: NO, YES or GAVE_UP; the mover must have no win at once.

    Positions with `horizon` stones count as draws; `table` belongs to that horizon. Adds to `nodes[0]`.
    """
    mover = np.empty(CELLS + 1, np.uint64)  # by stones on the board, as are all of these
    board = np.empty(CELLS + 1, np.uint64)
    slot = np.empty(CELLS + 1, np.uint64)
    bounds = np.empty(CELLS + 1, np.int64)
    replies = np.empty((CELLS + 1, WIDTH), np.uint64)  # best last
    weights = np.empty(WIDTH, np.int64)
    left = np.zeros(CELLS + 1, np.int64)

    root = stones
    mover[root], board[root], bounds[root] = mine, all_stones, bound
    limit = nodes[0] + max_nodes
    while True:
        # Step 1. A new position: perhaps its answer is known.
        if nodes[0] >= limit:
            return GAVE_UP
        nodes[0] += 1
        me, everyone, asked = mover[stones], board[stones], bounds[stones]
        answer = OPEN
        safe = safe_landings(me, everyone)
        if safe == ZERO:  # the opponent wins with the next stone but one
            answer = YES if -((CELLS - stones) // 2) > asked else NO
        elif stones >= CELLS - 2 or stones >= horizon:
            answer = YES if asked < 0 else NO
        elif -((CELLS - 2 - stones) // 2) > asked:  # the opponent's win with the stone after that would still exceed it
            answer = YES
        elif (CELLS - 1 - stones) // 2 <= asked:  # a win with the mover's next stone but one would not
            answer = NO
        else:
            key = me + everyone + BOTTOM
            slot[stones] = (key * SCATTER) >> table_shift
            entry = table[slot[stones]]
            if entry >> KEY_SHIFT == key:
                if np.int64((entry >> BOUND_BITS) & BOUND_MASK) - BOUND_OFFSET > asked:
                    answer = YES
                elif np.int64(entry & BOUND_MASK) - BOUND_OFFSET <= asked:
                    answer = NO

        # Step 2. If not, its moves in order: those that leave most cells to win at, the centre first.
        if answer == OPEN:
            count = 0
            for column in COLUMNS:
                move = safe & column
                if move != ZERO:
                    weight = count_bits(winning_cells(me | move, everyone | move))
                    place = count
                    while place > 0 and weights[place - 1] >= weight:
                        weights[place] = weights[place - 1]
                        replies[stones, place] = replies[stones, place - 1]
                        place -= 1
                    weights[place] = weight
                    replies[stones, place] = move
                    count += 1
            left[stones] = count
        else:
            # Step 3. An answer goes up: a NO below is a YES here; a YES below asks for another move.
            while True:
                if stones == root:
                    return answer
                stones -= 1
                if answer == YES and left[stones] > 0:
                    break
                answer = YES if answer == NO else NO
                key = mover[stones] + board[stones] + BOTTOM
                remember(table, slot[stones], key, bounds[stones], answer, stones)

        # Step 4. Down the next move.
        left[stones] -= 1
        move = replies[stones, left[stones]]
        mover[stones + 1] = mover[stones] ^ board[stones]
        board[stones + 1] = board[stones] | move
        bounds[stones + 1] = -bounds[stones] - 1
        stones += 1


@njit(inline="always")
def remember(table, slot, key, bound, answer, stones):
    """Note an answer, beside what is known of the same position."""
    lower, upper = -((CELLS - stones) // 2), (CELLS + 1 - stones) // 2
    entry = table[slot]
    if entry >> KEY_SHIFT == key:
        lower = np.int64((entry >> BOUND_BITS) & BOUND_MASK) - BOUND_OFFSET
        upper = np.int64(entry & BOUND_MASK) - BOUND_OFFSET
    if answer == YES:
        lower = max(lower, bound + 1)
    else:
        upper = min(upper, bound)
    table[slot] = (key << KEY_SHIFT) | (np.uint64(lower + BOUND_OFFSET) << BOUND_BITS) | np.uint64(upper + BOUND_OFFSET)


# --- Scores -----------------------------------------------------------------------------------------------------------


class GaveUp(Exception):
    """A question took more nodes than it was given."""


class Oracle:
    """Scores of positions, with a table of `2**table_bits` positions to remember them by."""

    def __init__(self, table_bits=22):
        self.table = np.zeros(1 << table_bits, np.uint64)
        self.small_table = np.zeros(1 << 14, np.uint64)
        self.nodes = np.zeros(1, np.int64)

    def scores(self, moves, max_nodes=1 << 62):
        """The score of each column's move, None for a full one."""
        return self._each(moves, lambda *child: self._exact(child, max_nodes=max_nodes))

    def signs(self, moves, max_nodes=1 << 62):
        """1, 0 or -1 for each column's move that wins, draws or loses; None for a full column."""
        found = self._each(moves, lambda *child: self._sign(child, max_nodes))
        return [score if score is None else (score > 0) - (score < 0) for score in found]

    def shallow_scores(self, moves, plies):
        """The score of each column's move as far as so many plies show, 0 if they don't."""
        self.small_table[:] = 0
        horizon = len(moves) + plies
        return self._each(moves, lambda *child: self._exact(child, self.small_table, horizon))

    def _each(self, moves, score_of):
        mine, everyone = words(moves)
        possible, wins = int(landings(everyone)), int(winning_cells(mine, everyone))
        found = []
        for column in range(WIDTH):
            landing = possible & (((1 << HEIGHT) - 1) << column * COLUMN_BITS)
            child = (mine ^ everyone, everyone | np.uint64(landing), len(moves) + 1)
            if not landing:
                found.append(None)
            elif landing & wins:
                found.append((CELLS + 1 - len(moves)) // 2)
            elif child[2] == CELLS:
                found.append(0)
            elif winning_cells(child[0], child[1]) & landings(child[1]):
                found.append(-((CELLS - len(moves)) // 2))
            else:
                found.append(-score_of(*child))
        return found

    def _ask(self, child, bound, table, horizon, max_nodes):
        shift = np.uint64(65 - len(table).bit_length())
        answer = exceeds(*child, bound, table, shift, horizon, max_nodes, self.nodes)
        if answer == GAVE_UP:
            raise GaveUp
        return answer == YES

    def _sign(self, child, max_nodes):
        if self._ask(child, 0, self.table, CELLS, max_nodes):
            return 1
        return 0 if self._ask(child, -1, self.table, CELLS, max_nodes) else -1

    def _exact(self, child, table=None, horizon=CELLS, max_nodes=1 << 62):
        """The score by halving: from both ends towards 0 first, where questions are cheap."""
        table, stones = self.table if table is None else table, child[2]
        low, high = -((CELLS - stones) // 2), (CELLS + 1 - stones) // 2
        while low < high:
            bound = (low + high) // 2
            if bound <= 0 and int(low / 2) < bound:
                bound = int(low / 2)
            elif bound >= 0 and int(high / 2) > bound:
                bound = int(high / 2)
            if self._ask(child, bound, table, horizon, max_nodes):
                low = bound + 1
            else:
                high = bound
        return low


def words(moves):
    """The mover's stones and all stones after a sequence of columns; ValueError if it cannot be played."""
    mine, everyone = ZERO, ZERO
    for ply, move in enumerate(moves):
        column = np.uint64(((1 << HEIGHT) - 1) << COLUMN_BITS * (int(move) - 1))
        landing = landings(everyone) & column
        if not landing:
            raise ValueError(f"column {move} is full at ply {ply} of {moves}")
        if landing & winning_cells(mine, everyone) and ply + 1 < len(moves):
            raise ValueError(f"{moves} goes on after the end at ply {ply}")
        mine, everyone = mine ^ everyone, everyone | landing
    return mine, everyone


def plies_to_end(score, stones):
    """How many more stones a game lasts that a move with so many stones on the board decides; its score is not 0."""
    winners_stones = CELLS // 2 + 1 - abs(score)
    first_player_wins = (score > 0) == (stones % 2 == 0)
    return 2 * winners_stones - first_player_wins - stones


# --- Files ------------------------------------------------------------------------------------------------------------


def line_of(moves, scores):
    """A solved position as a line of text."""
    fields = []
    for score in scores:
        if not score:
            fields.append("-" if score is None else "D")
        else:
            fields.append(f"{'W' if score > 0 else 'L'}{plies_to_end(score, len(moves))}")
    return " ".join([moves, *fields])


def read(path=DATA):
    """The solved positions of a file: for each kind, pairs of moves and of the results of all columns, such as "W7"."""
    kinds = {}
    for line in Path(path).read_text().splitlines():
        if line.startswith("# kind "):
            positions = kinds.setdefault(line.split()[2].rstrip(","), [])
        elif line and not line.startswith("#"):
            moves, *results = line.split()
            positions.append((moves, results))
    return kinds


# --- Making positions -------------------------------------------------------------------------------------------------

CENTRE_WEIGHTS = (1, 2, 3, 4, 3, 2, 1)
SLIP, OPENING_SLIP = 0.12, 0.2  # how often a sensible player is careless
SENSIBLE_PLIES = 8
QUICK_NODES = 100_000


def is_over(moves):
    """Whether a game ended with its last move."""
    if not moves:
        return False
    mine, everyone = words(moves[:-1])
    last = int(words(moves)[1] ^ everyone)
    return len(moves) == CELLS or bool(last & int(winning_cells(mine, everyone)))


def random_move(moves, rng, oracle):
    """Any move at all."""
    return rng.choice([column for column in "1234567" if moves.count(column) < HEIGHT])


def sensible_move(moves, rng, oracle):
    """A best move where the solver is quick, else one that a search of a few plies likes; sometimes a careless one."""
    seen = oracle.shallow_scores(moves, SENSIBLE_PLIES)
    free = [column for column in range(WIDTH) if seen[column] is not None]
    try:
        signs, slip = oracle.signs(moves, QUICK_NODES), SLIP
    except GaveUp:
        signs, slip = [0] * WIDTH, OPENING_SLIP
    win_at_once, loss_at_once = (CELLS + 1 - len(moves)) // 2, -((CELLS - len(moves)) // 2)
    careless = [column for column in free if seen[column] != loss_at_once]
    if careless and win_at_once not in seen and rng.random() < slip:
        return str(rng.choices(careless, [CENTRE_WEIGHTS[column] for column in careless])[0] + 1)
    best = max((signs[column], seen[column]) for column in free)
    liked = [column for column in free if (signs[column], seen[column]) == best]
    return str(rng.choices(liked, [CENTRE_WEIGHTS[column] for column in liked])[0] + 1)


PLAYERS = {"random": random_move, "played": sensible_move}


def play(kind, plies, rng, oracle):
    """A game that lasted so many plies and is not over."""
    while True:
        moves = ""
        while len(moves) < plies and not is_over(moves):
            moves += PLAYERS[kind](moves, rng, oracle)
        if len(moves) == plies and not is_over(moves):
            return moves


def generate(kind, count, seed, write, report):
    """Write `count` solved positions, each of another game, where a move can be wrong; tell how many were left out.

    Left out are positions whose moves all have the same result, and among played ones those that a glance decides: a
    win at once, or one result only among the moves that do not lose at once.
    """
    oracle, rng, began = Oracle(), random.Random(f"{kind} {seed}"), time.monotonic()
    seen, same, plain, kept = set(), 0, 0, 0
    write(f"# kind {kind}, seed {seed}, {count} positions of {FIRST_PLY} to {LAST_PLY} plies")
    while kept < count:
        moves = play(kind, FIRST_PLY + kept % (LAST_PLY - FIRST_PLY + 1), rng, oracle)
        if (board := words(moves)) in seen:
            continue
        seen.add(board)
        if len(set(oracle.signs(moves)) - {None}) < 2:
            same += 1
        elif kind == "played" and is_plain(oracle.scores(moves), len(moves)):
            plain += 1
        else:
            write(line_of(moves, oracle.scores(moves)))
            kept += 1
            if kept % 50 == 0 or kept == count:
                seconds, nodes = time.monotonic() - began, oracle.nodes[0]
                left_out = f"{same} with one result and {plain} plain ones left out"
                report(f"{kind}: {kept} of {count}, {left_out}, {seconds:.0f} s, {nodes / 1e6:.0f} M nodes")
    write(f"# left out of {same + plain + kept} positions: {same} whose moves all have one result, {plain} plain ones")


def is_plain(scores, stones):
    """Whether a move wins at once, or the moves that do not lose at once all have the same result."""
    legal = [score for score in scores if score is not None]
    later = [score for score in legal if score >= 0 or plies_to_end(score, stones) > 2]
    wins_at_once = (CELLS + 1 - stones) // 2 in legal
    return wins_at_once or len({(score > 0) - (score < 0) for score in later}) < 2


# --- The engine's moves -----------------------------------------------------------------------------------------------


def kept(positions, **limits):
    """For each of some solved positions whether the engine, with a new memory each time, keeps the result."""
    from plyd.engines.connect4.graph.searcher import OPTIONS, GraphSearcher
    from plyd.engines.connect4.rules import RULES
    from plyd.engines.core.intrinsics import Stop
    from plyd.engines.core.options import read_options
    from plyd.engines.core.search import Limits

    options = read_options(OPTIONS, {"threads": "1", "memory": "64"})
    for moves, results in positions:
        position = RULES.start()
        for move in moves:
            position = RULES.play(position, move).position
        *_, last = GraphSearcher(options, 64).search(position, Limits(**limits), Stop())
        best = max(results, key=lambda result: "-LDW".index(result[0]))
        yield results[int(last.move) - 1][0] == best[0]


def check(seconds, write):
    """Write how often the engine keeps the result, by kind and in all."""
    list(kept([("", ["D"] * WIDTH)], max_nodes=100))  # compiled by now
    everything = []
    for kind, positions in read().items():
        found = list(kept(positions, max_seconds=seconds))
        everything += found
        write(f"{kind}: {sum(found)} of {len(found)} kept, {sum(found) / len(found):.2%}")
    write(f"all: {sum(everything)} of {len(everything)} kept, {sum(everything) / len(everything):.2%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=PLAYERS, default="played")
    parser.add_argument("--out", type=Path, default=Path("/dev/stdout"))
    parser.add_argument("--check", type=float, metavar="SECONDS", help="let the engine move in each solved position")
    given = parser.parse_args()
    if given.check:
        check(given.check, write=lambda line: print(line, flush=True))
        return
    with given.out.open("a") as out:
        generate(
            given.kind,
            given.count,
            given.seed,
            write=lambda line: print(line, file=out, flush=True),
            report=lambda line: print(line, file=sys.stderr, flush=True),
        )


if __name__ == "__main__":
    main()
