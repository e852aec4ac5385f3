"""Boards of Connect Four within kernels against the rulebook; playouts against all games there are; the memory."""

import itertools
import random

import numpy as np
import pytest

from plyd.engines.connect4.board import (
    BELOW,
    DRAW,
    LOSS,
    MINE,
    ONES,
    OPEN,
    ROWS_OF_BOARD,
    TAKEN,
    WIN,
    YOURS,
    board_array,
    glance,
    has_four,
    key_of,
    playable,
    several,
    under,
    winning_cells,
)
from plyd.engines.connect4.graph.memory import (
    EDGE,
    KEPT,
    NODE,
    NODE_BITS,
    NONE,
    OLDEST,
    enlist,
    find,
    forget_all,
    graph_for,
    is_stale,
    nodes_within,
    recycle,
    room_in,
    take_node,
)
from plyd.engines.connect4.graph.searcher import OPTIONS, GraphSearcher
from plyd.engines.connect4.playout import any_of, blind_playout, next_random, playout
from plyd.engines.connect4.rules import RULES, lines_of, mover
from plyd.engines.connect4.rules import has_four as has_four_by_rulebook
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Limits
from plyd.engines.core.simd import count_all, is_any, load, store
from tests.engines.connect4 import slow
from tests.engines.connect4.slow import SlowGame, after, filled, random_game, random_positions

SIZES = [(4 + i, 4 + 5 * i % 13) for i in range(13)] + [(4 + 7 * i % 13, 4 + i) for i in range(13)]


def starts(columns, rows):
    """Empty boards of a size: with no forbidden cell, with one in each corner, with one somewhere in each column."""
    corners = itertools.product((1, columns), (1, rows))
    somewhere = ((column, 1 + (7 * column + columns) % rows) for column in range(1, columns + 1))
    size = f"{columns}x{rows}"
    return [size, *sorted({f"{size} #{column},{row}" for column, row in (*corners, *somewhere)})]


STARTS = [start for size in SIZES for start in starts(*size)]


def test_the_sample_has_each_number_of_columns_and_of_rows_and_each_corner_of_each():
    assert {columns for columns, _ in SIZES} == {rows for _, rows in SIZES} == set(range(4, 17))
    assert {start.split("#")[1].split(",")[0] for start in STARTS if "#" in start} == {str(n) for n in range(1, 17)}


# --- Boards -----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def look(board, out):
    """What the kernels see, one a row of `out`; whether each side has four, and the position's key."""
    mine, yours, taken = load(board, 0), load(board, 1), load(board, 2)
    below, ones = load(board, 3), load(board, 4)
    cells = playable(taken, ones)
    store(out, 0, cells)
    store(out, 1, winning_cells(mine))
    store(out, 2, winning_cells(yours))
    store(out, 3, under(winning_cells(mine) & ~taken, below))
    store(out, 4, under(winning_cells(yours) & ~taken, below))
    return has_four(mine), has_four(yours), several(cells), key_of(mine, taken)


def seen(position):
    """The same by names, cells as (column, row from below)."""
    out = np.zeros((5, 16), np.uint16)
    mine, yours, is_several, key = look(board_array(position), out)
    names = ("playable", "my_wins", "your_wins", "under_mine", "under_yours")
    found = {name: cells_of(lanes) for name, lanes in zip(names, out, strict=True)}
    return found | {"i_have_four": mine, "you_have_four": yours, "several": is_several, "key": int(key)}


def cells_of(lanes):
    return {(column, row) for column in range(16) for row in range(16) if int(lanes[column]) >> row & 1}


def stones_of(position):
    """Mine and yours, as letters."""
    return ("x", "o") if mover(position) is Side.PLAYER_ONE else ("o", "x")


def cells_with(position, kind):
    height = len(position.rows)
    return {
        (column, height - 1 - row)
        for row, cells in enumerate(position.rows)
        for column, cell in enumerate(cells)
        if cell == kind
    }


def landings(position):
    """Where the rulebook's legal moves come to rest."""
    height, width = len(position.rows), len(position.rows[0])
    return {(move.cell % width, height - 1 - move.cell // width) for move in RULES.legal_moves(position)}


def four_makers(position, stone):
    """Cells whose three companions in some line are all of one kind."""
    height, width = len(position.rows), len(position.rows[0])
    found = set()
    for line in lines_of(height, width):
        others = [cell for cell in line if position.rows[cell[0]][cell[1]] != stone]
        if len(others) == 1:
            found.add((others[0][1], height - 1 - others[0][0]))
        elif not others:
            found |= {(column, height - 1 - row) for row, column in line}
    return found


def next_up(position, column, row):
    """The cell of a column where the stone after next rests."""
    forbidden = cells_with(position, "#")
    above = (column, row + 1)
    return (column, row + 2) if above in forbidden else above


def test_the_array_of_a_board_has_a_column_in_each_lane_and_nothing_beyond_the_board():
    # . . . . .
    # . # . . .
    # . o . . .
    # x x o . x      o to move
    board = board_array(RULES.parse("...../.#.../.o.../xxo.x"))
    assert board.shape == (ROWS_OF_BOARD, 16)
    assert board.dtype == np.uint16
    assert board[MINE].tolist() == [0, 0b0010, 0b0001, 0, 0, *[0] * 11]
    assert board[YOURS].tolist() == [0b0001, 0b0001, 0, 0, 0b0001, *[0] * 11]
    off = 0xFFF0
    assert board[TAKEN].tolist() == [off | 1, off | 0b0111, off | 1, off, off | 1, *[0xFFFF] * 11]
    assert board[BELOW].tolist() == [0, 0b0010, *[0] * 14]
    assert board[ONES].tolist() == [1] * 16


def test_random_games_have_the_same_moves_and_the_same_end_as_in_the_rulebook():
    for number, start in enumerate(STARTS):
        game = list(random_game(start, random.Random(number)))
        for position in game[number % 9 :: 9] + game[-2:]:
            found = seen(position)
            if RULES.outcome(position) in (Outcome.ONGOING, Outcome.DRAW):
                assert found["playable"] == landings(position)
                assert found["several"] == (len(landings(position)) > 1)
            assert found["you_have_four"] == (RULES.outcome(position) not in (Outcome.ONGOING, Outcome.DRAW))
            assert not found["i_have_four"]


def test_cells_that_complete_a_four_are_those_of_the_rulebook_in_all_directions_at_all_edges():
    chance = random.Random(1)
    for start in STARTS:
        position = filled(start, chance.randrange(4, RULES.parse(start).count(".") + 1), chance)
        mine, yours = stones_of(position)
        found, free = seen(position), cells_with(position, ".")
        assert found["my_wins"] & free == four_makers(position, mine) & free
        assert found["your_wins"] & free == four_makers(position, yours) & free
        assert found["i_have_four"] == has_four_by_rulebook(position, mine)
        assert found["you_have_four"] == has_four_by_rulebook(position, yours)


@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (16, 4), (4, 16), (16, 16), (7, 6)])
def test_every_line_of_a_board_is_a_four_and_each_of_its_cells_completes_the_other_three(columns, rows):
    out = np.zeros((5, 16), np.uint16)
    for line in lines_of(rows, columns):
        cells = [(column, rows - 1 - row) for row, column in line]
        top = max(row for _, row in cells)
        is_upright = len({column for column, _ in cells}) == 1
        board = board_array(RULES.parse(f"{columns}x{rows}"))
        for column, row in cells:
            board[MINE, column] |= 1 << row
        assert look(board, out)[0]
        for column, row in cells:
            board[MINE, column] ^= 1 << row
            assert not look(board, out)[0]
            assert (column, row) in cells_of(out[1]) or (is_upright and row < top)  # where no gap can be
            board[MINE, column] |= 1 << row


def test_the_cell_under_another_is_the_next_one_down_that_a_stone_can_be_in():
    checked = 0
    for number, start in enumerate(STARTS):
        chance = random.Random(number)
        position = filled(start, RULES.parse(start).count(".") * 2 // 3, chance)
        found, free = seen(position), cells_with(position, ".")
        for wins, under_them in (("my_wins", "under_mine"), ("your_wins", "under_yours")):
            targets = found[wins] & free
            expected = {cell for cell in free if next_up(position, *cell) in targets}
            assert found[under_them] & free == expected
            checked += sum(next_up(position, *cell) != (cell[0], cell[1] + 1) for cell in expected)
    assert checked > 3, "some of them below the forbidden cell"


def test_positions_have_the_same_key_if_and_only_if_they_are_the_same():
    for start in ("7x6", "7x6 #4,2", "4x4", "16x16"):
        positions = [position for seed in range(25) for position in random_game(start, random.Random(seed))]
        assert len({seen(position)["key"] for position in positions}) == len(set(positions)) < len(positions)


def test_stones_in_another_order_have_the_same_key_and_of_other_sides_another():
    assert seen(after("7x6", *"44331252"))["key"] == seen(after("7x6", *"12524433"))["key"]
    assert seen(after("7x6", *"12"))["key"] != seen(after("7x6", *"21"))["key"]


def test_the_same_stones_with_the_other_side_to_move_have_another_key():
    board = board_array(after("7x6", *"44"))
    swapped = board[[YOURS, MINE, TAKEN, BELOW, ONES]]
    out = np.zeros((5, 16), np.uint16)
    assert look(board, out)[3] != look(swapped, out)[3]


# --- At a glance ------------------------------------------------------------------------------------------------------


@njit(cache=True)
def glanced(board, out):
    mine, yours, taken = load(board, 0), load(board, 1), load(board, 2)
    my_wins, your_wins = winning_cells(mine) & ~taken, winning_cells(yours) & ~taken
    status, plies, moves = glance(playable(taken, load(board, 4)), my_wins, your_wins, load(board, 3))
    store(out, 0, moves)
    return status, plies


def at_a_glance(position):
    """How a position stands, the plies to its end, and the columns worth a thought."""
    out = np.zeros((1, 16), np.uint16)
    status, plies = glanced(board_array(position), out)
    return int(status), int(plies), {column for column, _ in cells_of(out[0])}


RESULTS = {WIN: slow.WIN, DRAW: slow.DRAW, LOSS: slow.LOSS}


def assert_a_glance_is_right(game, position):
    """What a glance says is what three plies by brute force say; how the position stands."""
    status, plies, moves = at_a_glance(position)
    stacks = game.stacks(position)
    if status != OPEN:
        assert game.result(stacks, 3) == (RESULTS[status], plies), position
        return status
    assert game.result(stacks, 2) in (None, (slow.DRAW, 1), (slow.DRAW, 2))
    lost = {column for column, result in game.results(stacks, 2).items() if result == (slow.LOSS, 2)}
    assert moves == {column for column, _, _ in game.moves(stacks)} - lost
    return status


@pytest.mark.parametrize("start", ["4x4", "5x4", "4x5", "7x6", "6x7", "8x8"])
def test_what_a_glance_decides_is_so_and_other_moves_lose_at_once(start):
    positions = [at for empty in ((1, 2, 3, 4), (6, 8, 9), (12,)) for at in random_positions(start, 25, empty, seed=1)]
    statuses = {assert_a_glance_is_right(SlowGame(position), position) for position in positions}
    assert statuses >= {OPEN, WIN, LOSS}


FORBIDDEN_STARTS = [
    f"{size} #{cell}"
    for size in ("4x4", "5x5", "7x6")
    for cell in ("1,1", "2,2", "3,3", "4,4", "2,3", "1,2", "4,2", "3,1")
]


@pytest.mark.parametrize("start", FORBIDDEN_STARTS)
def test_what_a_glance_decides_beside_the_forbidden_cell_is_so(start):
    for empty in ((2, 3, 4, 5), (7, 8), (10, 11)):
        for position in random_positions(start, 25, empty, seed=2):
            assert_a_glance_is_right(SlowGame(position), position)


def test_a_full_board_is_drawn_at_a_glance():
    # x x o o
    # o o x x
    # x x o o
    # o o x x
    assert at_a_glance(RULES.parse("xxoo/ooxx/xxoo/ooxx"))[:2] == (DRAW, 0)


def test_one_winning_cell_above_the_forbidden_one_is_not_two():
    # . o . . . . x
    # x o . . . x o      o to move: only this row of column 4 wins,
    # o x . # o x x
    # x x o . x o x      and this is under the forbidden cell
    # o o x x x o o
    # x o o o x o x
    position = RULES.parse(".o....x/xo...xo/ox.#oxx/xxo.xox/ooxxxoo/xoooxox")
    assert seen(position)["my_wins"] & cells_with(position, ".") == {(3, 4)}
    assert SlowGame(position).result(SlowGame(position).stacks(position), 3) is None
    assert at_a_glance(position)[0] == OPEN


# --- Playouts ---------------------------------------------------------------------------------------------------------


@njit(cache=True)
def ends(board, count, seed, is_blind):
    """How often playouts end in a LOSS, DRAW and WIN for the side to move."""
    mine, yours, taken = load(board, 0), load(board, 1), load(board, 2)
    below, ones = load(board, 3), load(board, 4)
    found = np.zeros(3, np.int64)
    chance = np.uint64(seed)
    for _ in range(count):
        if is_blind:
            result, chance = blind_playout(mine, yours, taken, ones, chance)
        else:
            result, chance = playout(mine, yours, taken, below, ones, chance)
        found[result] += 1
    return found


LATE = ("4x4", "5x4", "4x5 #2,2", "7x6", "7x6 #4,1", "6x6 #6,6")


@pytest.mark.parametrize("start", LATE)
def test_blind_playouts_end_as_often_one_way_or_another_as_random_play_does(start):
    for position in random_positions(start, 6, (1, 4, 7, 9), seed=3):
        game = SlowGame(position)
        found = ends(board_array(position), 20_000, 12345, True) / 20_000
        assert found.tolist() == pytest.approx(game.chances(game.stacks(position)), abs=0.015)


@pytest.mark.parametrize("start", LATE)
def test_playouts_with_open_eyes_end_only_as_games_can_and_never_miss_what_is_certain(start):
    for position in random_positions(start, 25, (1, 3, 5, 7, 9), seed=4):
        game = SlowGame(position)
        stacks = game.stacks(position)
        found = ends(board_array(position), 300, 999, False)
        assert found.sum() == 300
        for result, share in enumerate(game.chances(stacks)):
            assert found[result] == 0 or share > 0, position
        if certain := game.result(stacks, 2):
            assert found[certain[0] + 1] == 300
        lost_at_once = [column for column, result in game.results(stacks, 2).items() if result == (slow.LOSS, 2)]
        if len(lost_at_once) == len(game.results(stacks, 2)):
            assert found[0] == 300


def test_playouts_do_not_take_one_winning_cell_above_the_forbidden_one_for_two():
    # . . . o . o
    # . x . o . o      only this row of column 3 wins
    # x o # x . x
    # o x . x . o
    # o o x o o x
    # x x x o x x
    position = RULES.parse("...o.o/.x.o.o/xo#x.x/ox.x.o/ooxoox/xxxoxx")
    assert {row for column, row in seen(position)["my_wins"] & cells_with(position, ".") if column == 2} == {4}
    assert ends(board_array(position), 300, 999, False)[2] < 300


@njit(cache=True)
def chosen(board, count, out):
    """How often each column is chosen among the playable cells."""
    cells = playable(load(board, 2), load(board, 4))
    chance, alone = np.uint64(7), True
    for _ in range(count):
        chance = next_random(chance)
        cell = any_of(cells, chance)
        alone = alone and count_all(cell) == 1 and is_any(cell & cells)
        store(out, 0, cell)
        for column in range(16):
            out[1, column] += out[0, column] != 0
    return alone


@pytest.mark.parametrize("text", ["16x16", "7x6 #4,1", "4x4", "..xo/oxox/oxox/xoox"])
def test_chance_is_fair_to_all_columns_with_room(text):
    position = RULES.parse(text)
    moves = RULES.legal_moves(position)
    out = np.zeros((2, 16), np.uint16)
    assert chosen(board_array(position), 16_000, out)
    expected = [0.0] * 16
    for move in moves:
        expected[int(move.text) - 1] = 1 / len(moves)
    assert (out[1] / 16_000).tolist() == pytest.approx(expected, abs=0.02)


# --- Memory -----------------------------------------------------------------------------------------------------------


def grown_graph(start="7x6", nodes=9000, **options):
    """A searcher after a search: the root's node in its graph."""
    values = read_options(OPTIONS, {"solver": "false"} | options)
    searcher, position = GraphSearcher(values, values["memory"]), RULES.parse(start)
    list(searcher.search(position, Limits(max_nodes=nodes), Stop()))
    board = board_array(position)
    out = np.zeros((5, 16), np.uint16)
    graph = searcher._graph
    return graph, int(find(graph, look(board, out)[3])), out


def in_use(graph):
    """Nodes in use."""
    return np.flatnonzero(graph.generation >= graph.state[OLDEST]).tolist()


def edges_of(graph, node):
    """A node's edges without where they lead: one that is given up keeps all else."""
    edges = graph.edges[node, : graph.nodes["degree"][node]]
    return [
        tuple(edge[name].item() for name in ("column", "visits", "value", "prior", "proven_result")) for edge in edges
    ]


def assert_sound(graph):
    """Every node in use is found by its key, and no edge leads to one that is not."""
    nodes = in_use(graph)
    used = set(nodes)
    assert NONE not in used
    for node in nodes:
        children = graph.edges["child"][node, : graph.nodes["degree"][node]].tolist()
        assert set(children) <= used | {NONE}
        assert find(graph, graph.nodes["key"][node]) == node
    listed = [int(entry & NODE_BITS) for entry in graph.index if entry != NONE and not is_stale(graph, entry)]
    assert sorted(listed) == nodes


def test_what_is_enlisted_is_found_and_nothing_else():
    graph = graph_for(64, 4)
    keys = np.random.default_rng(1).integers(1, 1 << 63, 64, np.uint64)
    keys[32:48] = keys[31] + np.uint64(graph.index.size) * np.arange(1, 17, dtype=np.uint64)  # all want one slot
    for node, key in enumerate(keys[1:], 1):
        assert find(graph, key) == NONE
        graph.nodes["key"][node] = key
        enlist(graph, node)
        assert find(graph, key) == node
    assert [find(graph, key) for key in keys[1:]] == list(range(1, 64))


def test_more_nodes_for_one_slot_than_there_are_probes_do_no_harm():
    graph = graph_for(64, 4)
    for node in range(1, 41):
        graph.nodes["key"][node] = 5 + node * graph.index.size
        enlist(graph, node)
    found = [int(find(graph, np.uint64(5 + node * graph.index.size))) for node in range(1, 41)]
    assert found == [*range(1, 33), *[NONE] * 8]


def test_a_new_graph_fits_into_the_memory_it_was_made_for():
    for columns in (4, 7, 12, 16):
        for megabytes in (1, 6, 48):
            nodes = nodes_within(megabytes, columns)
            graph = graph_for(nodes, columns)
            assert sum(array.nbytes for array in graph) <= megabytes << 20
            assert nodes * (NODE.itemsize + columns * EDGE.itemsize) > megabytes << 19


def test_a_search_leaves_a_sound_graph_without_walks_under_way():
    graph, root, _ = grown_graph()
    assert root != NONE
    assert_sound(graph)
    assert not graph.edges["virtual_loss"][in_use(graph)].any()


@pytest.mark.parametrize("most", [2, 10, 100, 3000])
def test_recycling_keeps_the_root_and_what_was_visited_most(most):
    graph, root, _ = grown_graph()
    before = {node: edges_of(graph, node) for node in in_use(graph)}
    values, children = graph.nodes.copy(), graph.edges["child"].copy()
    count = recycle(graph, root, most, np.zeros(1, np.uint8), NEVER)
    kept = in_use(graph)
    assert len(kept) == count == graph.state[KEPT] <= most
    assert root in kept
    assert_sound(graph)
    for node in kept:
        assert edges_of(graph, node) == before[node]
        assert graph.nodes[node] == values[node]
    given_up, stayed = [], []
    for edge in range(graph.nodes["degree"][root]):
        if (child := children[root, edge]) != NONE:
            (stayed if child in kept else given_up).append(int(graph.edges["visits"][root, edge]))
    assert min(stayed, default=1 << 30) >= max(given_up, default=0)


def test_recycling_with_room_for_all_gives_up_only_what_the_root_does_not_lead_to():
    graph, root, _ = grown_graph()
    best = int(graph.edges["child"][root, graph.edges["visits"][root].argmax()])
    reached, todo = {best}, [best]
    while todo:
        node = todo.pop()
        new = set(graph.edges["child"][node, : graph.nodes["degree"][node]].tolist()) - reached - {NONE}
        reached |= new
        todo += new
    assert recycle(graph, best, graph.nodes.size, np.zeros(1, np.uint8), NEVER) == len(reached)
    assert set(in_use(graph)) == reached
    assert_sound(graph)


@pytest.mark.parametrize(("flag", "deadline_ns"), [(1, NEVER), (0, 0)])
def test_recycling_that_is_stopped_or_late_frees_nothing(flag, deadline_ns):
    graph, root, _ = grown_graph(nodes=9_000)
    copy, before = [array.copy() for array in (graph.index, graph.nodes, graph.edges)], in_use(graph)
    assert graph.taken[0] > 2 * 4096, "enough to look at the flag"
    assert recycle(graph, root, graph.nodes.size, np.full(1, flag, np.uint8), deadline_ns) == NONE
    assert in_use(graph) == before
    for array, was in zip((graph.index, graph.nodes, graph.edges), copy, strict=True):
        assert (array == was).all()
    assert_sound(graph)
    assert recycle(graph, root, graph.nodes.size, np.zeros(1, np.uint8), NEVER) == len(before)
    assert in_use(graph) == before


def test_freed_nodes_are_taken_again_and_kept_ones_are_not():
    graph, root, _ = grown_graph()
    recycle(graph, root, 100, np.zeros(1, np.uint8), NEVER)
    kept, taken = in_use(graph), []
    while (node := int(take_node(graph))) != NONE:
        taken.append(node)
    assert sorted(taken + kept) == list(range(1, graph.nodes.size))
    assert room_in(graph) == 0
    forget_all(graph)
    assert in_use(graph) == []
    assert room_in(graph) == graph.nodes.size - 1


def test_a_graph_recycled_many_times_finds_all_its_nodes():
    values = read_options(OPTIONS, {"solver": "false"})
    searcher, position = GraphSearcher(values, 1), RULES.parse("9x9")
    for _ in range(6):
        list(searcher.search(position, Limits(max_nodes=12_000), Stop()))
        position = RULES.play(position, str(RULES.legal_moves(position)[0].text)).position
    assert searcher._graph.state[OLDEST] > 4, "recycled several times"
    nodes = in_use(searcher._graph)
    assert sum(find(searcher._graph, searcher._graph.nodes["key"][node]) == node for node in nodes) == len(nodes)
