"""The merge rule of 2584: tiles are Fibonacci numbers, and neighbours in the sequence merge."""

FIBONACCI = [0, 1, 2]  # tile by index, 0 for an empty cell; the Fibonacci numbers with a single 1
while len(FIBONACCI) <= 34:
    FIBONACCI.append(FIBONACCI[-1] + FIBONACCI[-2])

CLASSIC = {1: 0.9, 2: 0.1}  # probability of each index dropped


def tile(index: int) -> int:
    """The face value of an index."""
    return FIBONACCI[index]


def merge(one: int, other: int) -> int | None:
    """The index of the merged tile: 1 and 1 make 2, neighbours in the sequence make the next one; else None."""
    merged = 2 if one == other == 1 else max(one, other) + 1 if abs(one - other) == 1 else None
    return merged if merged is None or merged < len(FIBONACCI) - 1 else None
