"""Boards in machine words against the rulebook and plain lists of cells; bit extraction against plain Python."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from plyd.engines.core import intrinsics
from plyd.engines.core.intrinsics import extract_bits, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import (
    cell_at,
    count_empty,
    drop_at,
    empties,
    largest,
    load,
    nth_empty,
    slides_of,
    store,
    symmetries,
    transpose,
    turned_bit,
    with_tile,
)
from plyd.engines.tiles.ntuple.moves import drop, random_word, slide
from plyd.engines.tiles.rulebook import SLIDES
from tests.engines.tiles.slow_tiles import GAMES, IMAGES, cells_of, played_boards, random_boards, words_of

UNTOUCHED = 2**64 - 1
CELLS = {  # by the bit of an empty cell: see bitboard
    "2048": {4 * cell: cell for cell in range(16)},
    "2584": {5 * (cell % 8) + cell // 8: cell for cell in range(16)},
}
DROPPED = 3  # the index that `look` drops


class Seen(NamedTuple):
    """What kernels say of n boards."""

    loaded: Any  # (n, words): stored again as it was loaded
    afters: Any  # (n, 4, words): after the slide of each opcode
    points: Any  # (n, 4)
    turned: Any  # (n, words): transposed
    images: Any  # (n, 8, words)
    free: Any  # (n,): bits of the empty cells
    counts: Any  # (n,): number of empty cells
    bits: Any  # (n, 16): each bit of `free`, from the first to the last
    turned_bits: Any  # (n, 16): the same cells' bits on the transposed board
    drops: Any  # (n, 16, words): a tile dropped at each of these bits
    placed: Any  # (n, 16, words): a tile put on each empty cell, by the cell's number
    cells: Any  # (n, 16)
    tops: Any  # (n,): largest index


@njit(cache=True)
def look(boards, like, rows, seen):
    slides, images = slides_of(rows), np.zeros(16, np.uint64)
    for i in range(len(boards)):
        board = load(pointer_to(boards), i, like)
        store(pointer_to(seen.loaded), i, board)
        for direction in range(4):
            after, seen.points[i, direction] = slide(board, direction, slides)
            store(pointer_to(seen.afters), 4 * i + direction, after)
        store(pointer_to(seen.turned), i, transpose(board))
        symmetries(board, pointer_to(images))
        for image in range(8):
            for word in range(boards.shape[1]):
                seen.images[i, image, word] = images[8 * word + image]
        seen.free[i], seen.counts[i] = empties(board), count_empty(board)
        for n in range(seen.counts[i]):
            seen.bits[i, n] = nth_empty(seen.free[i], n)
            seen.turned_bits[i, n] = turned_bit(board, seen.bits[i, n])
            store(pointer_to(seen.drops), 16 * i + n, drop_at(board, seen.bits[i, n], 3))
        for cell in range(16):
            seen.cells[i, cell] = cell_at(board, cell)
            if seen.cells[i, cell] == 0:
                store(pointer_to(seen.placed), 16 * i + cell, with_tile(board, cell, 3))
        seen.tops[i] = largest(board)


def seen_of(game, boards):
    n, words = len(boards), game.words

    def scratch(*shape, dtype=np.uint64):
        return np.full((n, *shape), UNTOUCHED if dtype is np.uint64 else -1, dtype)

    seen = Seen(
        loaded=scratch(words),
        afters=scratch(4, words),
        points=scratch(4, dtype=np.int64),
        turned=scratch(words),
        images=scratch(8, words),
        free=scratch(),
        counts=scratch(dtype=np.int64),
        bits=scratch(16, dtype=np.int64),
        turned_bits=scratch(16, dtype=np.int64),
        drops=scratch(16, words),
        placed=scratch(16, words),
        cells=scratch(16, dtype=np.int64),
        tops=scratch(dtype=np.int64),
    )
    look(words_of(game, boards), game.empty, game.rows(), seen)
    return seen


@pytest.fixture(scope="module", params=GAMES.values(), ids=GAMES)
def game(request):
    return request.param


@pytest.fixture(scope="module")
def boards(game):
    """Boards of random play, then boards of random cells."""
    return played_boards(game, 1000, seed=1) + random_boards(game, 2000, seed=2)


@pytest.fixture(scope="module")
def seen(game, boards):
    return seen_of(game, boards)


# --- Cells and words --------------------------------------------------------------------------------------------------


def test_a_board_has_the_cells_it_was_made_of(game, boards):
    assert [game.cells(game.board(cells)) for cells in boards] == boards
    assert game.cells(game.empty) == (0,) * 16


def test_cell_0_is_in_the_lowest_bits_and_rows_lie_side_by_side(game):
    row = sum(index << (game.bits * i) for i, index in enumerate([1, 2, 3, 4]))
    board = game.board([1, 2, 3, 4] + [0] * 8 + [1, 2, 3, 4])
    first, last = (board, board) if game.words == 1 else board
    assert int(first) & (1 << (4 * game.bits)) - 1 == row
    assert int(last) >> (48 if game.words == 1 else 20) == row


def test_a_loaded_board_is_stored_as_it_was(game, boards, seen):
    assert (seen.loaded == words_of(game, boards)).all()


def test_each_cell_is_read_and_the_largest_found(boards, seen):
    assert (seen.cells == boards).all()
    assert (seen.tops == np.max(boards, axis=1)).all()


# --- Slides -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", range(4), ids=SLIDES)
def test_a_slide_leaves_and_gains_what_the_rulebook_says(game, boards, seen, direction):
    legal = 0
    for cells, afters, points in zip(boards, seen.afters, seen.points, strict=True):
        after = cells_of(game, afters[direction])
        assert (after, points[direction]) == game.rules.slide(cells, SLIDES[direction]), cells
        legal += after != cells
    assert 1000 < legal < len(boards) - 100, "some slides should be legal and some not"


def test_a_slide_that_is_not_legal_leaves_the_board_and_gains_nothing(game, boards, seen):
    rules = game.rules
    for cells, board, afters, points in list(zip(boards, seen.loaded, seen.afters, seen.points, strict=True))[::4]:
        position = rules.parse("b " + " ".join(map(str, cells)))
        legal = {move.text for move in rules.legal_moves(position)}
        for direction, word in enumerate(SLIDES):
            is_same = (afters[direction] == board).all()
            assert is_same == (word not in legal)
            assert not is_same or points[direction] == 0


def test_a_row_of_the_table_slides_as_the_rulebook_slides_a_line(game):
    table, bits = game.rows().table, game.bits
    assert table.shape == (2, 1 << (4 * bits))
    count = table.shape[1]
    some = range(count) if bits == 4 else np.random.default_rng(3).integers(0, count, 20_000).tolist()
    for row in some:
        line = tuple(row >> (bits * i) & (1 << bits) - 1 for i in range(4))
        for way in range(2):
            moved, points = game.rules.slide_line(line[:: -1 if way else 1])
            after = sum(index << (bits * i) for i, index in enumerate(moved[:: -1 if way else 1]))
            assert int(table[way, row]) == after | points << 32, line


# --- Images -----------------------------------------------------------------------------------------------------------


def test_transposing_swaps_rows_and_columns(game, boards, seen):
    for cells, turned in zip(boards, seen.turned, strict=True):
        assert cells_of(game, turned) == tuple(cells[4 * (i % 4) + i // 4] for i in range(16))


def test_the_images_of_a_board_are_the_eight_of_the_square_in_the_same_order_for_all(game, boards, seen):
    numbered = tuple(range(16))
    order = [cells_of(game, image) for image in seen_of(game, [numbered]).images[0]]
    assert sorted(order) == sorted(IMAGES), "each once"
    assert order[0] == numbered
    for cells, images in zip(boards, seen.images, strict=True):
        for shown, image in zip(order, images, strict=True):
            assert cells_of(game, image) == tuple(cells[cell] for cell in shown)


# --- Empty cells and drops --------------------------------------------------------------------------------------------


def test_each_empty_cell_has_a_bit_and_no_other_bit_is_set(boards, seen):
    for cells, free, count, bits in zip(boards, seen.free, seen.counts, seen.bits, strict=True):
        assert count == cells.count(0) == int(free).bit_count()
        assert bits[:count].tolist() == [bit for bit in range(64) if int(free) >> bit & 1]
        assert (bits[count:] == -1).all()


def test_the_bit_of_an_empty_cell_is_turned_with_the_board(game, boards, seen):
    for cells, bits, turned_bits in zip(boards, seen.bits, seen.turned_bits, strict=True):
        for bit, turned in zip(bits[: cells.count(0)].tolist(), turned_bits.tolist(), strict=False):
            cell, turned_cell = (CELLS[game.name][each] for each in (bit, turned))
            assert turned_cell == 4 * (cell % 4) + cell // 4


def test_a_tile_dropped_at_a_bit_fills_one_empty_cell_a_different_one_for_each_bit(game, boards, seen):
    for cells, count, drops in zip(boards, seen.counts, seen.drops, strict=True):
        expected = {(*cells[:i], DROPPED, *cells[i + 1 :]) for i in range(16) if cells[i] == 0}
        assert {cells_of(game, board) for board in drops[:count]} == expected
        assert (drops[count:] == UNTOUCHED).all()


def test_a_tile_put_on_an_empty_cell_is_on_that_cell(game, boards, seen):
    for cells, placed in zip(boards, seen.placed, strict=True):
        for cell in range(16):
            if cells[cell] == 0:
                assert cells_of(game, placed[cell]) == (*cells[:cell], DROPPED, *cells[cell + 1 :])


@njit(cache=True)
def drop_often(board, spawns, seed, out):
    for i in range(len(out)):
        store(pointer_to(out), i, drop(board, spawns, seed))


def dropped(game, variant, cells, count, seed):
    out = np.zeros((count, game.words), np.uint64)
    drop_often(game.board(cells), game.spawns(variant), np.array([seed], np.uint64), out)
    return out


VARIANTS = [
    pytest.param(game, variant, id=f"{name} {variant}") for name, game in GAMES.items() for variant in game.variants
]


@pytest.mark.parametrize(("game", "variant"), VARIANTS)
def test_every_tile_falls_on_every_empty_cell_as_often_as_its_odds_say(game, variant):
    cells = (0, 5, 0, 1, 2, 3, 0, 0, 1, 0, 4, 0, 6, 0, 0, 7)
    count, holes = 1_000_000, [cell for cell in range(16) if cells[cell] == 0]
    counts = {}
    for board, seen in zip(
        *np.unique(dropped(game, variant, cells, count, 11), axis=0, return_counts=True), strict=True
    ):
        after = cells_of(game, board)
        (cell,) = [i for i in range(16) if after[i] != cells[i]]
        counts[cell, after[cell]] = int(seen)
    spawns = game.variants[variant].spawns
    assert set(counts) == {(cell, index) for cell in holes for index in spawns}
    for (_, index), seen in counts.items():
        chance = spawns[index] / len(holes)
        assert abs(seen - count * chance) < 6 * (count * chance * (1 - chance)) ** 0.5


@pytest.mark.parametrize("hole", [0, 7, 8, 15])
def test_a_drop_fills_the_only_empty_cell(game, hole):
    cells = tuple(0 if cell == hole else game.rules.max_index for cell in range(16))
    variant = next(iter(game.variants))
    for board in dropped(game, variant, cells, 50, seed=hole):
        after = cells_of(game, board)
        assert after[hole] in game.variants[variant].spawns
        assert after[:hole] + after[hole + 1 :] == cells[:hole] + cells[hole + 1 :]


def test_the_same_seed_drops_the_same_tiles_and_another_one_others(game):
    first, same, other = (dropped(game, "classic", (0,) * 16, 100, seed) for seed in (5, 5, 6))
    assert (first == same).all()
    assert (first != other).any()


def test_random_words_are_those_of_splitmix64():
    seed = np.array([1234567], np.uint64)
    assert [int(random_word(seed)) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


# --- Bit extraction ---------------------------------------------------------------------------------------------------


def slow_extract(word, mask):
    places = [bit for bit in range(64) if mask >> bit & 1]
    return sum((word >> bit & 1) << i for i, bit in enumerate(places))


def compiled_extract():
    """A function that is compiled anew, with what the machine now says it has."""

    @njit
    def extract_all(words, masks, out):
        for i in range(len(words)):
            out[i] = extract_bits(words[i], masks[i])

    return extract_all


@pytest.mark.parametrize("is_quick", [True, False], ids=["by instruction", "bit by bit"])
def test_bits_under_a_mask_move_together(monkeypatch, is_quick):
    if is_quick and not intrinsics.has_quick_extract():
        pytest.skip("this processor has no such instruction")
    monkeypatch.setattr(intrinsics, "has_quick_extract", lambda: is_quick)
    rng, full = np.random.default_rng(4), 2**64 - 1
    words = rng.integers(0, full, 2000, np.uint64, endpoint=True)
    masks = rng.integers(0, full, 2000, np.uint64, endpoint=True)
    masks[:500] &= rng.integers(0, full, 500, np.uint64) & rng.integers(0, full, 500, np.uint64)
    corners = [0, 1, 1 << 63, full, 0x5555_5555_5555_5555, 0xFFFF_0000_0000_FFFF]
    words = np.concatenate([words, np.repeat(np.array(corners, np.uint64), len(corners))])
    masks = np.concatenate([masks, np.tile(np.array(corners, np.uint64), len(corners))])
    out = np.zeros_like(words)

    extract_all = compiled_extract()
    extract_all(words, masks, out)

    assert out.tolist() == [slow_extract(word, mask) for word, mask in zip(words.tolist(), masks.tolist(), strict=True)]
    (assembly,) = extract_all.inspect_asm().values()
    assert ("pext" in assembly) == is_quick
