"""Expectimax in slow, obvious Python, from the rulebook."""

import functools

from plyd.engines.tiles.rulebook import SLIDES


class SlowSearch:
    """Worths of slides, searched to a depth; `value` is what a leaf, the cells after a slide, is worth."""

    def __init__(self, rules, value, evil=False, wide=17, reduced=False):
        self.rules, self.value, self.evil, self.wide, self.reduced = rules, value, evil, wide, reduced
        self.after = functools.cache(self.after)

    def slides(self, cells, depth):
        """The worth of each legal slide."""
        found = {word: self.rules.slide(cells, word) for word in SLIDES}
        return {
            word: points + self.after(after, depth - 1) for word, (after, points) in found.items() if after != cells
        }

    def before(self, cells, depth):
        """The most that a slide is worth, 0 if there is none."""
        return max(self.slides(cells, depth).values(), default=0.0)

    def after(self, cells, depth):
        """What the environment's drops leave on average; an evil one chooses the cell, not the tile.

        Below a board with `wide` empty cells or more, what is left of the depth shrinks by one, down to one.
        """
        if depth == 0:
            return self.value(cells)
        depth -= depth > 1 and cells.count(0) >= self.wide
        return sum(
            chance * self.with_tile(cells, index, self.depth_below(depth, chance))
            for index, chance in self.rules.spawns.items()
        )

    def depth_below(self, depth, chance):
        """The depth below drops of a tile: a reduced search looks at the rare one less deep, but at least one slide."""
        return max(1, depth - 1) if self.reduced and chance < 0.5 else depth

    def with_tile(self, cells, index, depth):
        """What drops of one index leave."""
        values = list(self.drops(cells, index, depth).values())
        return min(values) if self.evil else sum(values) / len(values)

    def drops(self, cells, index, depth):
        """What each drop of an index leaves the player."""
        free = [cell for cell in range(len(cells)) if cells[cell] == 0]
        return {f"{index}@{cell}": self.before((*cells[:cell], index, *cells[cell + 1 :]), depth) for cell in free}
