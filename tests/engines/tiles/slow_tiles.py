"""4x4 tile games in slow, obvious Python, beside the kernels: boards to look at, images, values, lessons of a path."""

from itertools import chain

import numpy as np

from plyd.engines.tiles.rulebook import SLIDES
from plyd.engines.tiles_2048.rules import GAME as GAME_2048
from plyd.engines.tiles_2584.rules import GAME as GAME_2584

GAMES = {"2048": GAME_2048, "2584": GAME_2584}


def square_images():
    """For each of the eight images of the square, which cell each of its cells shows."""
    square, images = [[4 * row + column for column in range(4)] for row in range(4)], []
    for _ in range(4):
        square = [list(column) for column in zip(*square[::-1], strict=True)]  # a quarter turn
        images += [square, [row[::-1] for row in square]]
    return [tuple(chain.from_iterable(image)) for image in images]


IMAGES = square_images()


def words_of(game, boards):
    """Boards, given by their cells, as kernels store them: (boards, words)."""
    return np.array([game.board(cells) for cells in boards], np.uint64).reshape(len(boards), game.words)


def cells_of(game, words):
    """The cells of a stored board."""
    return game.cells(words[0] if game.words == 1 else tuple(words))


def played_boards(game, count, seed):
    """Boards before each slide of random games, by the rulebook's own moves."""
    rng, rules, boards = np.random.default_rng(seed), game.rules, []
    position = rules.start()
    while len(boards) < count:
        moves = rules.legal_moves(position)
        if position.before:
            boards.append(position.cells)
        position = rules.play(position, moves[rng.integers(len(moves))].text).position if moves else rules.start()
    return boards


def random_boards(game, count, seed):
    """Boards of random cells: of any index, of few low ones, of few high ones; full ones and nearly empty ones."""
    rng, top = np.random.default_rng(seed), game.rules.max_index
    boards = [(0,) * 16, (top,) * 16, (top - 1,) * 16, (1,) * 16]
    while len(boards) < count:
        low, high = [(1, top), (1, 4), (top - 3, top), (top // 2, top // 2 + 3)][rng.integers(4)]
        cells = rng.integers(low, high + 1, 16) * (rng.random(16) < rng.choice([0.2, 0.6, 0.9, 1.0]))
        boards.append(tuple(cells.tolist()))
    return boards


def random_score(rules, rng):
    """Points of a game of random moves."""
    position, score = rules.start(), 0
    while moves := rules.legal_moves(position):
        step = rules.play(position, moves[rng.integers(len(moves))].text)
        position, score = step.position, score + step.points
    return score


def legal_slides(game, cells):
    """The legal slides by opcode: cells after it, and points."""
    slides = {opcode: game.rules.slide(cells, word) for opcode, word in enumerate(SLIDES)}
    return {opcode: slide for opcode, slide in slides.items() if slide[0] != tuple(cells)}


class SlowNetwork:
    """An n-tuple network by its definition, in double precision, that learns by the formulas."""

    def __init__(self, patterns, base, weights):
        self.patterns, self.base, self.weights = patterns, base, weights.astype(np.float64)
        self.sums = np.zeros((weights.size, 2))  # E and A
        self.offsets = np.cumsum([0] + [base ** len(pattern) for pattern in patterns])
        self.features = 8 * len(patterns)

    def places(self, cells):
        """Where each pattern on each image has its weight."""
        capped = [min(index, self.base - 1) for index in cells]
        return [
            int(offset) + sum(capped[image[cell]] * self.base**k for k, cell in enumerate(pattern))
            for image in IMAGES
            for offset, pattern in zip(self.offsets[:-1], self.patterns, strict=True)
        ]

    def value(self, cells):
        """Sum of the weights at its places."""
        return float(self.weights[self.places(cells)].sum())

    def update(self, cells, target, method):
        """Moves the weights under a board towards a target; the sum of the weights, each as its own step left it.

        A place that counts several times moves as often, so this sum is not quite the worth that the board then has.
        """
        error, total = target - self.value(cells), 0.0
        for place in self.places(cells):
            errors, sizes = self.sums[place]
            trust = abs(errors) / sizes if method.coherent and sizes > 0 else 1.0
            self.weights[place] += method.rate * trust * error / self.features
            self.sums[place] += error, abs(error)
            total += self.weights[place]
        return total

    def learn(self, path, points, target, method):
        """Learns from after-states, last first; `points[t]` is of the slide that led to `path[t]`."""
        for cells, gained in zip(path[::-1], points[::-1], strict=True):
            now = self.update(cells, target, method)
            target = gained + method.trace * target + (1 - method.trace) * now
