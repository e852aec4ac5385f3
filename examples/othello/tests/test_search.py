"""The search against plain minimax, and what it promises beyond the contract."""

import random

import pytest
from plyd_othello import kernel
from plyd_othello.rules import RULES, SIDES, start_of
from plyd_othello.search import stack_for

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Limits, Proven, Result, StopReason

MUST_PASS = "xxxxxx/xxxxxo/xxxxxo/xxxxxo/xxxxx./xxxxx. o"


def minimax(position, depth):
    """The value for the side to move: no window, no table."""
    legal = RULES.legal_moves(position)
    if not depth or not legal:
        stack = stack_for(position, 1)
        return kernel.evaluate(stack.board, stack.turns[0, 0], stack.corners)
    return max(-minimax(RULES.play(position, move.text).position, depth - (move.cell is not None)) for move in legal)


def positions(size, empties, count):
    """Positions of random games with so many empty cells."""
    found, seed = [], 0
    while len(found) < count:
        rng, position, seed = random.Random(seed), start_of(size), seed + 1
        while RULES.outcome(position) is Outcome.ONGOING and position.count(".") > empties:
            position = RULES.play(position, rng.choice(RULES.legal_moves(position)).text).position
        if RULES.outcome(position) is Outcome.ONGOING:
            found.append(position)
    return found


@pytest.fixture
def search(engine):
    """Searches a position with a new searcher: the final report, and the run's root values."""

    def search(position, **limits):
        searcher = engine.searcher("classic", read_options(engine.card.options, {"memory": "1"}))
        return list(searcher.search(position, Limits(**limits), Stop()))[-1]

    return search


@pytest.mark.parametrize(("size", "empties", "depth"), [(6, 20, 3), (6, 5, 5), (8, 30, 2), (10, 60, 1)])
def test_alpha_beta_finds_what_minimax_finds(search, size, empties, depth):
    for position in positions(size, empties, 3):
        best = search(position, max_depth=depth)
        values = {
            move.text: -minimax(RULES.play(position, move.text).position, depth - (move.cell is not None))
            for move in RULES.legal_moves(position)
        }
        assert values[best.move] == max(values.values())


def test_every_line_that_is_asked_for_has_its_own_value_the_best_first(search):
    [position] = positions(6, 18, 1)
    last = search(position, max_depth=4, max_lines=3)
    values = [-minimax(RULES.play(position, line.moves[0]).position, 3) for line in last.lines]
    assert len(last.lines) == 3
    assert values == sorted(values, reverse=True)


def test_a_solved_endgame_is_proven_and_ends_the_search(search):
    for position in positions(6, 6, 3):
        last = search(position)
        assert last.stop_reason is StopReason.FINISHED
        value = minimax(position, 6)
        expected = Result.WIN if value > 0 else Result.LOSS if value < 0 else Result.DRAW
        assert (last.score.value, last.score.exact) == (Proven(expected), True)


def test_a_line_of_play_is_legal_and_may_pass(search):
    last = search(RULES.parse(MUST_PASS))
    assert last.lines[0].moves[0] == "pass"
    assert last.score.point_of_view is Side.PLAYER_TWO
    position = RULES.parse(MUST_PASS)
    for move in last.lines[0].moves:
        position = RULES.play(position, move).position


def test_it_beats_a_random_player(search):
    for seed, engine_disc in ((1, "x"), (2, "o")):
        rng, position = random.Random(seed), start_of(6)
        while RULES.outcome(position) is Outcome.ONGOING:
            legal = [move.text for move in RULES.legal_moves(position)]
            move = search(position, max_depth=2).move if position.mover == engine_disc else rng.choice(legal)
            position = RULES.play(position, move).position
        wins = {"x": Outcome.PLAYER_ONE_WINS, "o": Outcome.PLAYER_TWO_WINS}
        assert RULES.outcome(position) is wins[engine_disc]
        assert SIDES[engine_disc]
