"""The moves that renju forbids to x, in slow, obvious Python.

x, who moves first, may not make six or more in a row, two fours at once, or two open threes at once; five in a row wins
whatever else the stone makes. Only fours and threes that x could really continue count:

    _ x x x x _   a four is open if x can make five on both sides
    _ x x x _ _   a three is open if x could make an open four of it, on a point that is not forbidden itself

So whether a point is forbidden may depend on whether others are. On artificial boards this recursion can get very deep;
after MOST_ASKED points, what looks like two open threes counts as two open threes.
"""

from collections.abc import Iterator

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (rows, columns) to the next point of a line
FAR = 5  # stones farther away do not affect a stone's fives
MOST_ASKED = 100  # maximum number of points that are checked for one answer; a handful in real games
STONE, EMPTY, OUTSIDE = "x", ".", "#"
TOO_LONG, TWO_FOURS, TWO_THREES = "six or more in a row", "two fours", "two open threes"
Point = tuple[int, int]  # row from the top, and column


def why_forbidden(rows: tuple[str, ...], point: Point) -> str:
    """The reason why x may not play on an empty point; "" if x may."""
    return _why(rows, point, iter(range(MOST_ASKED)))


def _why(rows: tuple[str, ...], point: Point, questions: Iterator[int]) -> str:
    lines = [_line(rows, point, step) for step in STEPS]
    stones = sorted(line.count(STONE) for line in lines)
    if stones[3] < 5 and stones[2] < 3:  # too few stones for any foul, even with the new one
        return ""
    longest = {_row(line) for line in lines}
    if 5 in longest:
        return ""
    if max(longest) > 5:
        return TOO_LONG
    fours = [_fours(line) for line in lines]
    if sum(fours) >= 2:
        return TWO_FOURS
    threes = [_ways_to_open_four(point, line, step) for line, step in zip(lines, STEPS, strict=True)]
    threes = [ways for ways, four in zip(threes, fours, strict=True) if ways and not four]
    if len(threes) < 2:
        return ""
    if next(questions, None) is None:
        return TWO_THREES
    after, count = _put(rows, point), 0
    for ways in threes:
        count += any(_is_allowed(after, way, questions) for way in ways)
        if count == 2:
            return TWO_THREES
    return ""


def _line(rows: tuple[str, ...], point: Point, step: Point) -> str:
    """The line around a point after x has played there; the point is in the middle."""
    size = len(rows)
    cells = []
    for i in range(-FAR, FAR + 1):
        row, column = point[0] + i * step[0], point[1] + i * step[1]
        cells.append(rows[row][column] if 0 <= row < size and 0 <= column < size else OUTSIDE)
    cells[FAR] = STONE
    return "".join(cells)


def _put(rows: tuple[str, ...], point: Point) -> tuple[str, ...]:
    row, column = point
    return (*rows[:row], rows[row][:column] + STONE + rows[row][column + 1 :], *rows[row + 1 :])


def _row(line: str) -> int:
    """Length of the row of x stones that contains the middle one."""
    before, behind = line[FAR::-1], line[FAR:]
    return len(before) - len(before.lstrip(STONE)) + len(behind) - len(behind.lstrip(STONE)) - 1


def _ways_to_five(line: str) -> int:
    """Number of points where one more stone makes five with the one in the middle."""
    return sum(_row(line[:i] + STONE + line[i + 1 :]) == 5 for i in range(1, 2 * FAR) if line[i] == EMPTY)


def _fours(line: str) -> int:
    """Number of fours that the stone in the middle makes; there can be two in one line."""
    return 1 if _is_open_four(line) else _ways_to_five(line)


def _is_open_four(line: str) -> bool:
    return _row(line) == 4 and _ways_to_five(line) == 2


def _ways_to_open_four(point: Point, line: str, step: Point) -> list[Point]:
    """Points where one more stone in a line makes an open four with the one in the middle."""
    return [
        (point[0] + (i - FAR) * step[0], point[1] + (i - FAR) * step[1])
        for i in range(2, 2 * FAR - 1)
        if line[i] == EMPTY and _is_open_four(line[:i] + STONE + line[i + 1 :])
    ]


def _is_allowed(rows: tuple[str, ...], point: Point, questions: Iterator[int]) -> bool:
    """Whether x may make an open four there: not if the point is forbidden, or if the stone makes five instead."""
    makes_five = any(_row(_line(rows, point, step)) == 5 for step in STEPS)
    return not makes_five and not _why(rows, point, questions)
