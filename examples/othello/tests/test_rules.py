"""The rulebook: moves, passes, ends; and the compiled board against it."""

import random

import numpy as np
import pytest
from plyd_othello import kernel
from plyd_othello.rules import PASS, RULES, SIZES, Position, start_of
from plyd_othello.search import stack_for

from plyd.engines.core.errors import BadMove, BadPosition
from plyd.engines.core.rules import MoveKind, Outcome, Side

MUST_PASS = "xxxxxx/xxxxxo/xxxxxo/xxxxxo/xxxxx./xxxxx. o"  # white turns nothing over; black can, below the white discs


def count_games(position, plies):
    """Number of move sequences of this length: perft."""
    if plies == 0:
        return 1
    moves = RULES.legal_moves(position)
    if plies == 1:
        return len(moves)
    return sum(count_games(RULES.play(position, move.text).position, plies - 1) for move in moves)


@pytest.mark.parametrize(("plies", "games"), [(1, 4), (2, 12), (3, 56), (4, 244), (5, 1396)])
def test_perft_is_that_of_the_literature(plies, games):
    assert count_games(RULES.start(), plies) == games


def test_a_disc_turns_over_what_it_encloses():
    after = RULES.play(RULES.parse("6x6"), "c2")
    assert RULES.text(after.position) == "....../..x.../..xx../..xo../....../...... o"
    assert after.cells == (8,)


def test_a_player_without_a_move_passes_and_the_other_moves_twice():
    position = RULES.parse(MUST_PASS)
    [move] = RULES.legal_moves(position)
    assert (move.text, move.kind, move.cell) == (PASS, MoveKind.PASS, None)
    step = RULES.play(position, PASS)
    assert (RULES.to_move(step.position), step.cells) == (Side.PLAYER_ONE, ())
    with pytest.raises(BadMove, match='illegal move "pass"; legal is f5'):
        RULES.play(step.position, PASS)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("xxxxxx/xxxxxx/xxxxxx/oooooo/oooooo/oooooo x", Outcome.DRAW),
        ("xxxxxx/xxxxxx/xxxxxx/xooooo/oooooo/oooooo x", Outcome.PLAYER_ONE_WINS),
        ("xxxxxx/xxxxxx/oooooo/oooooo/oooooo/oooooo x", Outcome.PLAYER_TWO_WINS),
        ("....../....../..oo../..oo../....../...... x", Outcome.PLAYER_TWO_WINS),
    ],
)
def test_most_discs_win_when_neither_can_move(text, outcome):
    position = RULES.parse(text)
    assert (RULES.outcome(position), RULES.to_move(position), RULES.legal_moves(position)) == (outcome, None, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7x7", "a board of 7x7 in .*; allowed is 6x6, 8x8, 10x10"),
        ("6x8", "a board of 6x8"),
        ("12x12", "a board of 12x12"),
        ("", "cannot read"),
        ("....../....../..ox../..xo../....../......", "cannot read"),
        ("....../....../..oz../..xo../....../...... x", "unknown cell 'z'"),
        ("....../...../..ox../..xo../....../...... x", "rows of different length"),
        ("x" * 300, "300 characters"),
    ],
)
def test_positions_that_are_refused(text, message):
    with pytest.raises(BadPosition, match=message):
        RULES.parse(text)


@pytest.mark.parametrize("move", ["a1", "k1", "d33", "", "PASS"])
def test_moves_that_are_refused(move):
    with pytest.raises(BadMove, match="legal is d3 c4 f5 e6"):
        RULES.play(RULES.start(), move)


@pytest.mark.parametrize("size", SIZES)
def test_the_compiled_board_plays_as_the_rulebook(size):
    for seed in range(2 if size < 10 else 1):
        rng, position = random.Random(seed), start_of(size)
        while RULES.outcome(position) is Outcome.ONGOING:
            legal = RULES.legal_moves(position)
            check_moves(position, legal)
            position = RULES.play(position, rng.choice(legal).text).position


def check_moves(position: Position, legal):
    """The kernel has the same moves, turns the same discs, and takes them back."""
    stack, size = stack_for(position, 1), position.size
    before = stack.board.copy()
    places = [12 * (cell // size + 1) + cell % size + 1 for cell in (move.cell for move in legal) if cell is not None]
    assert sorted(stack.moves[0, : kernel.list_moves(stack, 0, kernel.PASS)]) == sorted(places)
    for move, place in zip(legal, places or [kernel.PASS], strict=True):
        kernel.do_move(stack, 0, place)
        expected = stack_for(RULES.play(position, move.text).position, 1)
        assert np.array_equal(stack.board, expected.board)
        assert stack.key[1] ^ stack.key[0] != 0
        kernel.undo_move(stack, 0, place)
        assert np.array_equal(stack.board, before)
