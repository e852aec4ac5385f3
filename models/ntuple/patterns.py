"""n-tuple networks by name: which cells each pattern reads. Cells of the 4x4 board are hexadecimal digits, row by row.

    0 1 2 3        0 1 2 3 4 5      # # # #      the eight mirror images and rotations of a pattern
    4 5 6 7                         # # . .      share one table of weights
    8 9 a b                         . . . .
    c d e f                         . . . .

Which of its eight images represents a pattern makes no difference to what a network can learn, but it does to speed:
the index of the first cell varies fastest in the table, and weights of cells that change often should be close.
"""

from plyd.models.errors import BadWeights

MOST_PATTERNS = 64
MOST_INDICES = 32  # that a cell may have
MOST_WEIGHTS = (1 << 32) - 1  # of a network: a place among them is 32 bits
LAB = "012345 456789 012456 45689a"
NETWORKS = {
    "lab": LAB,  # four 6-tuples of the 2048 lab; the author of 2584 uses the same two axes and two boxes
    "lab-extra": f"{LAB} 4567 0123 14569",  # and the patterns its report adds
    "4x6": "abcdef 6789ab 9abdef 5679ab",  # the lab's, turned by half
    "6x6": "9abdef 269ade abcdef 589aef 56adef 126aef",
    "8x6": "9abdef 269ade abcdef 589aef 56adef 126aef 267aef 59bdef",  # turned by half
}


def patterns_of(name: str) -> list[tuple[int, ...]]:
    """The patterns of a named network, or of a text that lists them."""
    words = NETWORKS.get(name, name).split(maxsplit=MOST_PATTERNS)
    if len(words) > MOST_PATTERNS:
        raise BadWeights(f'the network "{name:.60}" has too many patterns; at most {MOST_PATTERNS} are allowed')
    patterns = []
    for word in words:
        cells = sorted({int(digit, 16) for digit in word}) if all(c in "0123456789abcdef" for c in word) else []
        if len(cells) != len(word) or not 1 <= len(cells) <= 6:
            names = ", ".join(NETWORKS)
            raise BadWeights(
                f'unknown network "{name:.60}"; networks are {names}, or patterns of one to six different cells such '
                f'as "{LAB}"'
            )
        patterns.append(tuple(cells))
    if not patterns:
        raise BadWeights("a network has at least one pattern")
    return patterns


def text_of(patterns: list[tuple[int, ...]]) -> str:
    """The patterns as a text that `patterns_of` reads."""
    return " ".join("".join(f"{cell:x}" for cell in pattern) for pattern in patterns)
