"""Keys of boards in the tables of a search, in numba."""

from typing import Any

from numba.extending import overload

from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import Word, is_word


@njit(cache=True, nogil=True)
def mixed(x: Word) -> Word:
    """A bijective mix of the bits of a word (SplitMix64)."""
    x = (x ^ x >> Word(30)) * Word(0xBF58476D1CE4E5B9)
    x = (x ^ x >> Word(27)) * Word(0x94D049BB133111EB)
    return x ^ x >> Word(31)


def key_of(board: Any, depth: int) -> Word:
    """The table key of an after-state searched to a depth."""


@overload(key_of)
def _key_of(board, depth):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, depth: mixed(board + mixed(Word(depth)))
    return lambda board, depth: mixed(board[0] + mixed(board[1] + mixed(Word(depth))))
