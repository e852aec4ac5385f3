"""Gomoku worked out slowly: what a stone makes, wins by threats, minimax. Shares no line with the engine's kernels.

Boards are tuples of rows as in texts, points are (row, column) from the top left. A line is a string of which one item
is looked at; whatever is neither the own stone nor empty is closed, and so is what lies beyond its ends:

    . . x x _ x . o      five needs one more stone beside the one on _: a four, as there is but one way to five
"""

import functools
import operator
import random

from plyd.engines.gomoku.renju import why_forbidden
from plyd.engines.gomoku.rules import FREESTYLE, Position, Rule, empty_board, move_at, other

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
SURE, LARGEST_GUESS, SEEN_POINTS = 30_000, 20_000, 4
FAR = 5  # steps that can matter to a point

# --- What a stone makes -----------------------------------------------------------------------------------------------


@functools.cache
def fives_with(line, at, exactly_five):
    """The empty places of each five in which x at a place of a line can still end: tuples, () if it stands already."""
    found = []
    for start in range(max(0, at - 4), min(at, len(line) - 5) + 1):
        five, before, behind = line[start : start + 5], line[max(0, start - 1) : start], line[start + 5 : start + 6]
        if set(five) <= {"x", "."} and not (exactly_five and "x" in before + behind):
            found.append(tuple(i for i in range(start, start + 5) if line[i] == "."))
    return tuple(found)


@functools.cache
def class_in(line, at, exactly_five):
    """The name of what x, which stands at a place of a line, makes there: how far it is from five, and how open."""
    fives = fives_with(line, at, exactly_five)
    missing = min(map(len, fives), default=5)
    if missing == 0:
        return "FIVE"
    if missing == 1:
        ways = {five[0] for five in fives if len(five) == 1}
        return "OPEN_FOUR" if len(ways) > 1 else "FOUR"
    after = [
        class_in(line[:i] + "x" + line[i + 1 :], at, exactly_five)
        for i in range(max(0, at - FAR), min(len(line), at + FAR + 1))
        if line[i] == "."
    ]
    if missing == 2:
        return {0: "THREE", 1: "OPEN_THREE_1"}.get(after.count("OPEN_FOUR"), "OPEN_THREE")
    if missing == 3:
        open_threes = sum(name.startswith("OPEN_THREE") for name in after)
        return {0: "TWO", 1: "OPEN_TWO", 2: "OPEN_TWO_2"}.get(open_threes, "OPEN_TWO_3")
    if missing == 4:
        return "OPEN_ONE" if any(name.startswith("OPEN_TWO") for name in after) else "ONE"
    return "DEAD"


def kind_by(classes):
    """The name of the strongest threat of a stone, by what it makes in its four lines."""
    return sorted_kind(tuple(sorted(classes)))


@functools.cache
def sorted_kind(classes):
    fours = classes.count("FOUR")
    threes = sum(name.startswith("OPEN_THREE") for name in classes)
    twos = sum(name == "THREE" or name.startswith("OPEN_TWO") for name in classes)
    if "FIVE" in classes:
        return "MAKES_FIVE"
    if "OPEN_FOUR" in classes or fours > 1:
        return "WINS_NEXT"
    if fours:
        return "FOUR_AND_THREE" if threes else "FOUR_AND_TWO" if twos else "A_FOUR"
    if threes > 1:
        return "TWO_THREES"
    if threes:
        return "THREE_AND_TWO" if twos else "A_THREE"
    return ("NO_THREAT", "A_TWO", "TWO_TWOS")[min(twos, 2)]


# --- Boards -----------------------------------------------------------------------------------------------------------


def put(rows, point, stone):
    """The rows with a stone on a point."""
    row, column = point
    return (*rows[:row], rows[row][:column] + stone + rows[row][column + 1 :], *rows[row + 1 :])


def empty_points(rows):
    return [(row, column) for row, cells in enumerate(rows) for column, cell in enumerate(cells) if cell == "."]


@functools.cache
def points_in_line(point, direction, size):
    """The points of a line within FAR steps of a point, those off the board as None; the point is in the middle."""
    places = [(point[0] + i * direction[0], point[1] + i * direction[1]) for i in range(-FAR, FAR + 1)]
    return [place if 0 <= place[0] < size and 0 <= place[1] < size else None for place in places]


@functools.cache
def cells_of_lines(point, size):
    """For each direction, what takes the cells of the line around a point out of all cells, and one # behind them."""
    lines = [points_in_line(point, direction, size) for direction in DIRECTIONS]
    return [
        operator.itemgetter(*(size * size if at is None else at[0] * size + at[1] for at in line)) for line in lines
    ]


@functools.cache
def class_among(cells, stone, exactly_five):
    """What a stone in the middle of some cells makes."""
    line = "".join("x" if cell == stone else "." if cell == "." else "#" for cell in cells)
    return class_in(line[:FAR] + "x" + line[FAR + 1 :], FAR, exactly_five)


def classes_at(rows, point, stone, exactly_five):
    """What a stone on an empty point makes in each direction."""
    cells = "".join(rows) + "#"
    return [class_among(take(cells), stone, exactly_five) for take in cells_of_lines(point, len(rows))]


@functools.lru_cache(maxsize=200_000)
def kinds_of(rows, stone, exactly_five):
    """The kind of each empty point."""
    return {point: kind_by(classes_at(rows, point, stone, exactly_five)) for point in empty_points(rows)}


def points_of(rows, stone, exactly_five, *names):
    """The empty points whose kind has one of these names, row by row."""
    return [point for point, kind in kinds_of(rows, stone, exactly_five).items() if kind in names]


FOURS = ("WINS_NEXT", "FOUR_AND_THREE", "FOUR_AND_TWO", "A_FOUR")
THREES = ("TWO_THREES", "THREE_AND_TWO", "A_THREE")


def five_points(rows, stone, exactly_five):
    """Where a stone makes five."""
    return points_of(rows, stone, exactly_five, "MAKES_FIVE")


def makes_five(rows, point, stone, exactly_five):
    """Whether a stone on an empty point makes five."""
    for down, right in DIRECTIONS:
        row = 1
        for sign in (1, -1):
            r, c = point[0] + sign * down, point[1] + sign * right
            while 0 <= r < len(rows) and 0 <= c < len(rows) and rows[r][c] == stone:
                row, r, c = row + 1, r + sign * down, c + sign * right
        if row == 5 or (row > 5 and not exactly_five):
            return True
    return False


# --- Wins by threats --------------------------------------------------------------------------------------------------


class SlowThreats:
    """Who wins by force, by trying everything: with fours alone, or with open threes too."""

    def __init__(self, attacker, *, exactly_five, threes):
        self.attacker, self.defender, self.exactly_five = attacker, other(attacker), exactly_five
        self.threes = threes
        self.known = {}

    def wins(self, rows, moves):
        """Whether the attacker, who is to move, makes five with at most so many moves."""
        if moves <= 0:
            return False
        if five_points(rows, self.attacker, self.exactly_five):
            return True
        if (rows, moves) not in self.known:
            self.known[rows, moves] = any(
                self.holds(put(rows, point, self.attacker), moves - 1) for point in self.attacks(rows)
            )
        return self.known[rows, moves]

    def attacks(self, rows):
        """The moves to try, what looks strongest first: threats, or what stops a five of the defender's."""
        danger = five_points(rows, self.defender, self.exactly_five)
        names = FOURS + THREES if self.threes else FOURS
        return danger or [point for name in names for point in points_of(rows, self.attacker, self.exactly_five, name)]

    def holds(self, rows, moves):
        """Whether the attacker, who has just moved, wins with so many moves more, whatever the defender does."""
        fives = five_points(rows, self.attacker, self.exactly_five)
        threat = fives or (self.threes and points_of(rows, self.attacker, self.exactly_five, "WINS_NEXT"))
        if not threat or five_points(rows, self.defender, self.exactly_five):
            return False
        answers = fives[:2] or empty_points(rows)  # of whoever does not stop a five, nothing need be asked
        return all(self.wins(put(rows, point, self.defender), moves) for point in answers)

    def shortest(self, rows, most):
        """The attacker's moves until five, None if so many do not do."""
        return next((moves for moves in range(1, most + 1) if self.wins(rows, moves)), None)


# --- Minimax ----------------------------------------------------------------------------------------------------------


class SlowSearch:
    """Plain minimax by the rules of negascout.py, no VCF. `guess` values a quiet position.

    Where moves that no threat asks for all lose for certain, there is some `doubt`: others were left out.
    """

    def __init__(self, exactly_five, guess, decided, doubt):
        self.exactly_five, self.guess, self.decided, self.doubt = exactly_five, guess, decided, doubt
        self.depths = {}  # with which each position was looked at

    def value(self, rows, mover, depth, ply=0):
        """What a position is worth to who is to move."""
        danger = five_points(rows, other(mover), self.exactly_five)
        if five_points(rows, mover, self.exactly_five):
            return SURE - ply - 1
        if not empty_points(rows):
            return 0
        if len(danger) > 1:
            return -(SURE - ply - 2)
        if not danger and points_of(rows, mover, self.exactly_five, "WINS_NEXT"):
            return SURE - ply - 3
        if not danger and depth <= 0:
            return max(-LARGEST_GUESS, min(LARGEST_GUESS, self.guess(rows, mover)))
        self.depths.setdefault((rows, mover), set()).add(depth)
        values = self.values(rows, mover, depth, ply)
        best = max(values.values(), default=-(SURE - ply - 4))  # nothing stops an open four
        return best + self.doubt if best < -self.decided and not self.moves(rows, mover)[1] else best

    def values(self, rows, mover, depth, ply=0):
        """What each move is worth to who makes it. The only answer to a threat costs no depth."""
        moves, is_forced = self.moves(rows, mover)
        left = depth if is_forced and len(moves) == 1 else depth - 1
        return {move: -self.value(put(rows, move, mover), other(mover), left, ply + 1) for move in moves}

    def moves(self, rows, mover):
        """The moves to look at, and whether they answer a threat."""
        waiting = other(mover)
        if danger := five_points(rows, waiting, self.exactly_five):
            return danger, True
        if points := points_of(rows, waiting, self.exactly_five, "WINS_NEXT"):
            return answers_to(rows, points, mover, self.exactly_five), True
        stones = [point for point in all_points(rows) if rows[point[0]][point[1]] in "xo"]
        near = [point for point in empty_points(rows) if any(steps(point, stone) <= 2 for stone in stones)]
        return near or empty_points(rows), False


def answers_to(rows, points, mover, exactly_five):
    """What stands in a line of each of the first points that win next, within reach, and the mover's own fours."""
    waiting, far = other(mover), 5 if exactly_five else 4
    helping = set(empty_points(rows))
    for point in points[:SEEN_POINTS]:
        reached = {point}
        for direction, name in zip(DIRECTIONS, classes_at(rows, point, waiting, exactly_five), strict=True):
            if name in ("FOUR", "OPEN_FOUR", "FIVE"):
                reached |= set(points_in_line(point, direction, len(rows))[FAR - far : FAR + far + 1])
        helping &= reached
    return sorted(helping | set(points_of(rows, mover, exactly_five, *FOURS)))


def all_points(rows):
    return [(row, column) for row in range(len(rows)) for column in range(len(rows))]


def steps(one, two):
    return max(abs(one[0] - two[0]), abs(one[1] - two[1]))


class Solver:
    """The result of any position of few empty points, by trying everything: 1, 0 or -1 for who is to move."""

    def __init__(self, rule):
        self.rule, self.known = rule, {}

    def result(self, rows, mover):
        if (rows, mover) not in self.known:
            self.known[rows, mover] = self._worked_out(rows, mover)
        return self.known[rows, mover]

    def _worked_out(self, rows, mover):
        free, best = empty_points(rows), -1
        if not free:
            return 0
        if any(makes_five(rows, point, mover, self.rule.wants_exactly_five(mover)) for point in free):
            return 1
        if self.rule is Rule.RENJU and mover == "x":
            free = [point for point in free if not why_forbidden(rows, point)]
        for point in free:
            best = max(best, -self.result(put(rows, point, mover), other(mover)))
            if best == 1:
                break
        return best


# --- Positions --------------------------------------------------------------------------------------------------------


def random_position(rules, size, stones, chance, *, walls=0, spread=None):
    """A position of random moves, none of which ends the game; within a spread of the middle, if one is given."""
    while True:
        rows, mover = empty_board(size).rows, "x"
        for point in chance.sample(all_points(rows), walls):
            rows = put(rows, point, "#")
        for _ in range(stones):
            free = empty_points(rows)
            if spread is not None:
                free = [point for point in free if steps(point, (size // 2, size // 2)) <= spread]
            chance.shuffle(free)
            quiet = (
                point for point in free if not makes_five(rows, point, mover, rules.rule.wants_exactly_five(mover))
            )
            if (point := next(quiet, None)) is None:
                break
            rows, mover = put(rows, point, mover), other(mover)
        else:
            if empty_points(rows):
                return Position(rows, mover)


def random_positions(rules, size, stones, count, seed, **how):
    """Such positions, with one of these numbers of stones each."""
    chance = random.Random(f"{size} {seed}")
    return [random_position(rules, size, chance.choice(stones), chance, **how) for _ in range(count)]


def seeded(rules, size, stones, seed, **how):
    """The position of a seed, with one of these numbers of stones."""
    chance = random.Random(seed)
    return random_position(rules, size, chance.choice(stones), chance, **how)


def drawing(*rows):
    """The text of a drawn board."""
    return "/".join(row.replace(" ", "") for row in rows)


def after(position, *moves, rules=FREESTYLE):
    """The position that moves lead to."""
    return functools.reduce(lambda reached, move: rules.play(reached, move).position, moves, position)


def text_of(point, size):
    return move_at(*point, size)
