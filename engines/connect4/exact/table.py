"""The solver's transposition table: small at first, so that an easy position touches little memory."""

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.entries import LEAST_BITS, spread
from plyd.engines.core.memory import dense_zeros

ENTRY_BYTES = 8
LARGER_BYTES = ENTRY_BYTES << LEAST_BITS + 1  # the least that has room to grow
GROWTH = (
    (1 << 16, 20),
    (1 << 20, 22),
    (1 << 22, 40),
)  # after this many nodes of one position, at most 2**so many entries


class Table:
    """Bounds of positions of one board. Address space is reserved once; of that, 2**bits entries are in use."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bits = max(LEAST_BITS, (most_bytes // ENTRY_BYTES).bit_length() - 1)
        self.entries: NDArray[np.uint64] = dense_zeros(1 << self.most_bits, np.uint64)
        self.bits = LEAST_BITS

    def nodes_to_growth(self, nodes: int) -> int | None:
        """Nodes until the table is to be enlarged in a search that has so many; 0 now, None never."""
        for after, bits in GROWTH:
            if self.bits < min(bits, self.most_bits):
                return max(0, after - nodes)
        return None

    def grow_fully(self) -> None:
        """Use all of the memory from now on, for many positions one after the other."""
        while self.bits < self.most_bits:
            self.grow()

    def grow(self) -> None:
        """Enlarge the part in use to the next size."""
        more = min(next(bits for _, bits in GROWTH if self.bits < bits), self.most_bits)
        spread(self.entries, self.bits, more)
        self.bits = more
