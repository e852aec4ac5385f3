"""Boards as SVG pictures: every kind of board, by the game's card alone; nothing from a daemon gets out of its text."""

import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from plyd.clients import Report, State
from plyd.engines import registry
from plyd.servers.rpc.messages import engine_message, state_message
from plyd.servers.search.game_record import GameRecord
from plyd.v1 import engine_pb2, position_pb2, search_pb2

SVG = "{http://www.w3.org/2000/svg}"
BLACK, WHITE, FELT, WOOD, FRAME = "#141416", "#f1ede3", "#2c7a51", "#e3b96f", "#2b5fa8"
EVIL = '</text><script>alert(1)</script>\x00&"'


def card(kind, **look):
    sides = [
        engine_pb2.SideLook(side=position_pb2.SIDE_PLAYER_ONE, name="Black", stone="x", colour=BLACK),
        engine_pb2.SideLook(side=position_pb2.SIDE_PLAYER_TWO, name="White", stone="o", colour=WHITE),
    ]
    return engine_pb2.EngineInfo(game="any", board_look=engine_pb2.BoardLook(kind=kind, **look), sides=sides)


def state_of(cells, columns, **fields):
    board = position_pb2.Board(rows=len(cells) // columns, columns=columns, cells=cells)
    return position_pb2.State(position=position_pb2.Position(game="any"), board=board, **fields)


def drawn(state, look, report=None):
    """The elements of a picture, which is well-formed."""
    picture = State(state, lambda _: look).svg(report)
    return list(ET.fromstring(picture).iter())


def fills(elements, shape):
    return Counter(each.get("fill") for each in elements if each.tag == SVG + shape)


def texts(elements):
    return [each.text for each in elements if each.tag == SVG + "text"]


@pytest.mark.parametrize("game", list(registry.games()))
def test_every_game_has_a_picture_by_its_card(game):
    engine = registry.load(game)
    look = engine_message(engine)
    record = GameRecord(engine, look.variants[0].name, look.position_examples[-1])
    state = state_message(record)
    elements = drawn(state, look)
    labels = [label for label in state.board.cells if label]
    if look.board_look.kind == engine_pb2.BOARD_KIND_TILES:
        assert [text for text in texts(elements) if text] == labels
    else:
        colours = {side.stone: side.colour for side in look.sides}
        for stone, colour in colours.items():
            assert fills(elements, "circle")[colour] == labels.count(stone)
        assert look.board_look.column_labels[0] in texts(elements)


@pytest.mark.parametrize(
    ("kind", "shape", "colour"),
    [
        (engine_pb2.BOARD_KIND_POINTS, "rect", WOOD),
        (engine_pb2.BOARD_KIND_CELLS, "rect", FELT),
        (engine_pb2.BOARD_KIND_DROPPED, "rect", FRAME),
        (engine_pb2.BOARD_KIND_GRID, "rect", "#fffdf9"),
        (99, "rect", "#fffdf9"),  # a kind of a later schema
    ],
)
def test_a_kind_of_board_has_its_ground_and_its_stones(kind, shape, colour):
    elements = drawn(state_of(["x", "", "o", "", "#", "K"], 3), card(kind))
    assert fills(elements, shape)[colour] >= 1
    assert (fills(elements, "circle")[BLACK], fills(elements, "circle")[WHITE]) == (1, 1)
    assert texts(elements) == ["K"]  # neither a stone nor blocked: its label


def test_labels_are_those_of_the_board_from_the_side_that_the_card_says():
    names = {"column_labels": "abcdef", "row_labels": [str(row) for row in range(1, 7)]}
    state = state_of([""] * 6, 3)
    assert texts(drawn(state, card(engine_pb2.BOARD_KIND_CELLS, **names))) == ["a", "b", "c", "1", "2"]
    upright = card(engine_pb2.BOARD_KIND_DROPPED, rows_from_bottom=True, **names)
    assert texts(drawn(state, upright)) == ["a", "b", "c", "2", "1"]


def test_the_last_move_the_winning_line_and_a_report_are_marked():
    state = state_of(["x", "x", "", "o"], 2, last_cells=[3])
    state.board.winning_cells.extend([0, 1])
    state.legal_moves.add(move="a1", cell=2)
    plain, marked = card(engine_pb2.BOARD_KIND_CELLS), search_pb2.Report(move="a1")
    elements = drawn(state, plain)
    assert fills(elements, "circle")["none"] == 4  # two rings around each of two stones
    assert fills(elements, "circle")["#c8642b"] == 1
    marked.score.proven.result = search_pb2.RESULT_WIN
    marked.score.point_of_view = position_pb2.SIDE_PLAYER_ONE
    marked.lines.add(moves=["a1"], score=marked.score)
    for report in (marked, Report(marked)):
        assert texts(drawn(state, plain, report)) == ["W", "a1: player one wins"]


def test_nothing_that_a_daemon_says_becomes_markup():
    look = card(engine_pb2.BOARD_KIND_GRID, column_labels=[EVIL], row_labels=[EVIL])
    look.title = EVIL
    look.sides[0].colour = 'red" onload="alert(1)'
    state = state_of(["x", EVIL], 2, text=EVIL)
    picture = State(state, lambda _: look).svg()
    assert "<script" not in picture
    assert "onload" not in picture
    assert EVIL.replace("\x00", " ") in texts(ET.fromstring(picture).iter())


def test_a_board_of_any_measures_is_drawn_as_far_as_there_are_cells():
    for rows, columns, cells in ((4_000_000_000, 2, 3), (0, 0, 0), (1, 4_000_000_000, 2), (3, 0, 2)):
        state = position_pb2.State(board=position_pb2.Board(rows=rows, columns=columns, cells=["x"] * cells))
        elements = drawn(state, card(engine_pb2.BOARD_KIND_POINTS))
        assert fills(elements, "circle")[BLACK] == cells
