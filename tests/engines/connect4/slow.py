"""Connect Four played slowly: random games by the rulebook, and exhaustive search that shares no line with the engine.

Columns are strings from the bottom, the forbidden cell in its place once the stones below it are there:

    . . . .
    . o . .      "", "x#o", "", ""
    . # . .
    . x . .
"""

import functools
import random

from plyd.engines.connect4.rules import RULES, Position

WIN, DRAW, LOSS = 1, 0, -1
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))  # (column, row)


def after(text, *moves):
    """The position that moves lead to."""
    return functools.reduce(lambda position, move: RULES.play(position, move).position, moves, RULES.parse(text))


def random_game(start, chance, stones=1000):
    """Positions of random play from a board, its own first, until the game ends or so many stones are on it."""
    game = SlowGame(RULES.parse(start))
    stacks, number = game.stacks(RULES.parse(start)), 0
    yield game.position(stacks)
    while number < stones and (free := [c for c, stack in enumerate(stacks) if len(stack) < game.height]):
        column = chance.choice(free)
        stacks, makes_four = game.dropped(stacks, column, "xo"[number % 2])
        number += 1
        yield game.position(stacks)
        if makes_four:
            return


def random_positions(start, count, empty, seed):
    """Different positions that are not over, each with one of these numbers of empty cells; nobody made a four."""
    chance, found = random.Random(f"{start} {seed}"), {}
    game = SlowGame(RULES.parse(start))
    first, cells = game.stacks(RULES.parse(start)), RULES.parse(start).count(".")
    while len(found) < count:
        stacks, stones = first, cells - chance.choice(empty)
        for _ in range(stones):
            quiet = [grown for _, grown, makes_four in game.moves(stacks) if not makes_four]
            if not quiet:
                break
            stacks = chance.choice(quiet)
        else:
            found[game.position(stacks)] = None
    return list(found)


def filled(start, stones, chance):
    """A board with so many stones dropped in turn anywhere, whether or not there are fours."""
    rows = [list(row) for row in RULES.parse(start).rows]
    for number in range(stones):
        free = [column for column in range(len(rows[0])) if any(row[column] == "." for row in rows)]
        if not free:
            break
        column = chance.choice(free)
        row = max(r for r in range(len(rows)) if rows[r][column] == ".")
        rows[row][column] = "xo"[number % 2]
    return Position(tuple(map("".join, rows)))


class SlowGame:
    """Every result of a board's positions, with the plies to the end when both sides play their best."""

    def __init__(self, position):
        rows = position.rows
        self.width, self.height = len(rows[0]), len(rows)
        self.forbidden = {
            (column, self.height - 1 - row)
            for row in range(self.height)
            for column in range(self.width)
            if rows[row][column] == "#"
        }
        self.known, self.shares = {}, {}

    def stacks(self, position):
        """The columns of a position."""
        return tuple("".join(column).partition(".")[0] for column in zip(*reversed(position.rows), strict=True))

    def position(self, stacks):
        """The position of some columns."""
        board = [list(stack.ljust(self.height, ".")) for stack in stacks]
        for column, row in self.forbidden:
            board[column][row] = "#"
        return Position(tuple("".join(row) for row in reversed(list(zip(*board, strict=True)))))

    def dropped(self, stacks, column, stone):
        """The columns after a stone is dropped, and whether that makes four."""
        stack = stacks[column] + stone
        makes_four = self._makes_four((*stacks[:column], stack, *stacks[column + 1 :]), column)
        if (column, len(stack)) in self.forbidden:
            stack += "#"
        return (*stacks[:column], stack, *stacks[column + 1 :]), makes_four

    def moves(self, stacks):
        """For each column with room, the columns after a stone, and whether that makes four."""
        stone = "xo"[sum(len(stack) - stack.count("#") for stack in stacks) % 2]
        for column, stack in enumerate(stacks):
            if len(stack) < self.height:
                yield column, *self.dropped(stacks, column, stone)

    def result(self, stacks, depth=1000):
        """WIN, DRAW or LOSS and the plies to the end; the best move first wins soonest, or loses latest.

        None if so many plies do not decide it.
        """
        if (found := self.known.get((stacks, depth), self)) is not self:
            return found
        moves = list(self.moves(stacks))
        if not moves:
            best = (DRAW, 0)
        elif depth == 0:
            best = None
        elif any(makes_four for _, _, makes_four in moves):
            best = (WIN, 1)
        else:
            best = self._best([self.result(grown, depth - 1) for _, grown, _ in moves])
        self.known[stacks, depth] = best
        return best

    def results(self, stacks, depth=1000):
        """The same for each column with room, for the side that moves there."""
        found = {}
        for column, grown, makes_four in self.moves(stacks):
            reply = None if makes_four else self.result(grown, depth - 1)
            found[column] = (WIN, 1) if makes_four else reply and (-reply[0], reply[1] + 1)
        return found

    def chances(self, stacks):
        """How often random play ends in a LOSS, DRAW and WIN for the side to move, where nobody has four yet."""
        if stacks not in self.shares:
            moves, shares = list(self.moves(stacks)), [0.0, 0.0, 0.0]
            for _, grown, makes_four in moves:
                ends = (0.0, 0.0, 1.0) if makes_four else reversed(self.chances(grown))
                shares = [share + end / len(moves) for share, end in zip(shares, ends, strict=True)]
            self.shares[stacks] = shares if moves else [0.0, 1.0, 0.0]
        return self.shares[stacks]

    @staticmethod
    def _best(replies):
        """The best for who moves, of what is left to the other side."""
        lost = [plies + 1 for result, plies in filter(None, replies) if result == LOSS]
        if lost:
            return (WIN, min(lost))
        if None in replies:
            return None
        drawn = [plies + 1 for result, plies in replies if result == DRAW]
        return (DRAW, max(drawn)) if drawn else (LOSS, max(plies + 1 for _, plies in replies))

    def _makes_four(self, stacks, column):
        """Whether the top stone of a column stands in a line of four."""
        row = len(stacks[column]) - 1

        def run(right, up):
            at, height, length = column + right, row + up, 0
            while 0 <= at < self.width and 0 <= height < len(stacks[at]) and stacks[at][height] == stacks[column][row]:
                at, height, length = at + right, height + up, length + 1
            return length

        return any(run(right, up) + run(-right, -up) >= 3 for right, up in DIRECTIONS)
