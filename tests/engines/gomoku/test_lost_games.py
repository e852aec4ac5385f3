"""Look before you leap: what refutes a move about to be played; positions of lost games, and what lost them."""

import pytest

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Limits, Proven, Result
from plyd.engines.gomoku.board.board import place_of, point_at
from plyd.engines.gomoku.board.vcf import WIN
from plyd.engines.gomoku.engine import OPTIONS, Gomoku
from plyd.engines.gomoku.fit.pattern_games import Sparring
from plyd.engines.gomoku.prover import SLICE_NODES, SMALLEST_SLICE, Refuter, slice_of
from plyd.engines.gomoku.rules import FREESTYLE, SIDES, WINS, move_at, point_of
from tests.engines.gomoku.kernels import COLOURS
from tests.engines.gomoku.searches import answer, searcher

LOST = [  # the moves to the last position that was not lost, the move that lost it, the reply that refutes that move
    ("e6 f6 b3 d6 d5 c4 g7 e7 f8 g5 d8", "f4", "g8"),
    ("f9 g6 d5 f5 j6 i8 h7 e6 f6 d7 c8 h5 i5 g8", "h4", "g4"),
    ("e6 f6 b3 d6 d5 f7 g7 g5 f5 e7 d8 h6 h4 i7", "f4", "g9"),
    (
        "i7 g7 i8 j9 g6 i6 h8 g9 j8 k8 i10 i11 k9 h6 h10 f8 e9 g10 g11 i9 l10 m11 h12 i13 f9 h5 j7 h4 h3 j5 i5 k4 l3 "
        "j4 i4 j2 j3 i3 h9 h11",
        "g5",
        "k5",
    ),
    ("g6 g7 f4 f3 c1 f5 h4 i4 g3 i5 e5", "d6", "g5"),
    (
        "n12 o11 o12 l11 k12 l12 k11 k10 j9 l10 l9 k13 j10 n10 m11 m10 o10 l13 l14 i9 h11 j8 h10 h12 i10 g12 g9",
        "g10",
        "h9",
    ),
    ("e6 f6 b3 d6 d5 f7 f5 e5 c4 a2 e4 g7 h8 f4 c7 h7 i7 g4 g5 c6 f8 i6 e8 g8 j5 h5", "j7", "h4"),
]


def position_after(moves):
    position = FREESTYLE.start()
    for move in moves.split():
        position = FREESTYLE.play(position, move).position
    return position


def number_of(move):
    return point_at(*point_of(move, 15))


@pytest.mark.parametrize(("moves", "blunder", "reply"), LOST[:2])
def test_what_lost_the_game_is_refuted_and_the_proof_holds_against_a_strong_defender(moves, blunder, reply):
    using, strong = searcher(memory=32), Sparring(FREESTYLE, 2000)
    position = position_after(f"{moves} {blunder}")
    winner = position.mover
    report = answer(FREESTYLE, position, using, max_nodes=150_000)
    assert isinstance(report.score.value, Proven)
    assert report.score.value.result is Result.WIN
    assert report.move == reply
    while FREESTYLE.outcome(position) is Outcome.ONGOING:
        if position.mover == winner:
            move = answer(FREESTYLE, position, using, max_nodes=150_000).move
        else:
            move = strong.choose(position)[0]
        position = FREESTYLE.play(position, move).position
    assert FREESTYLE.outcome(position) is WINS[SIDES[winner]]


@pytest.mark.parametrize(("moves", "blunder"), [lost[:2] for lost in LOST])
def test_the_move_that_lost_the_game_is_not_played_again(moves, blunder):
    position = position_after(moves)
    report = answer(FREESTYLE, position, searcher(memory=32), max_nodes=300_000)
    assert report.move != blunder
    assert not isinstance(report.score.value, Proven), "it is not lost yet"


@pytest.mark.parametrize(("moves", "blunder", "reply"), LOST)
def test_after_the_reply_that_refutes_it_every_move_is_proven_to_lose(moves, blunder, reply):
    report = answer(FREESTYLE, position_after(f"{moves} {blunder} {reply}"), searcher(memory=32), max_nodes=200_000)
    assert isinstance(report.score.value, Proven)
    assert report.score.value.result is Result.LOSS
    assert report.nodes < 200_000, "and nothing is left to find"


def test_a_refuter_finds_the_forced_win_that_a_move_allows():
    refuter, position = Refuter(FREESTYLE.rule, 1 << 12), position_after("h8 a1 h9 a15 h10")
    refuter.begin(position, COLOURS[position.mover])
    away, stop = number_of("o1"), number_of("h11")
    assert refuter.open_move([away, stop]) == away
    assert refuter.work(away, 1000)
    assert move_at(*place_of(refuter.reply_to(away)), 15) in ("h7", "h11"), "an open four"
    assert refuter.open_move([away, stop]) == stop, "the next of the moves that are not yet decided"
    assert not refuter.work(stop, 1000)
    assert refuter.reply_to(stop) is None
    assert refuter.open_move([away, stop]) is None
    assert refuter.nodes > 0


def test_a_refuted_move_is_replaced_in_negascout(monkeypatch):
    position = position_after(LOST[1][0])  # its best move is found early, so that it is looked at
    best = answer(FREESTYLE, position, max_nodes=20_000).move
    real = Refuter.work

    def refutes_the_best(self, point, nodes):
        real(self, point, nodes)
        if point == number_of(best):
            self._provers[point].winner, self._provers[point].verdict = number_of("a1"), WIN
        return point == number_of(best)

    monkeypatch.setattr(Refuter, "work", refutes_the_best)
    assert answer(FREESTYLE, position, max_nodes=20_000).move != best


@pytest.mark.parametrize(("moves", "blunder"), [lost[:2] for lost in LOST[:2]])
def test_mcts_marks_a_refuted_move_as_lost_and_plays_another(moves, blunder):
    position = position_after(moves)
    using = Gomoku().searcher("freestyle", read_options(OPTIONS, {"method": "mcts", "threads": "1"}))
    list(using.search(position, Limits(max_nodes=20), Stop()))
    tree, point = using._tree, number_of(blunder)
    [child] = [child for child in tree.children_of(tree.root) if child["point"] == point]
    child["visits"] = 1_000_000  # as if all simulations went there
    assert move_at(*divmod(tree.best(), 15), 15) == blunder
    tree.root["visits"] = 0
    *_, last = using.search(position, Limits(max_nodes=800, max_lines=400), Stop())
    assert last.move != blunder
    [line] = [line for line in last.lines if line.moves[0] == blunder]
    assert line.score.value == Proven(Result.LOSS, None)


def test_slices_keep_to_their_share():
    used, total = 0, 100
    while total < 1_000_000:
        nodes = slice_of(0.2, used, total)
        assert nodes == 0 or SMALLEST_SLICE <= nodes <= SLICE_NODES
        used, total = used + nodes, total + nodes + 1000
        assert used <= 0.2 * total + SLICE_NODES
    assert used > 0.15 * total


def test_a_node_limit_makes_a_search_with_refutations_repeatable():
    for moves, _, _ in LOST[:2]:
        position = position_after(moves)
        one, two = (answer(FREESTYLE, position, max_nodes=60_000) for _ in range(2))
        assert (one.move, one.score, one.nodes, one.depth) == (two.move, two.score, two.nodes, two.depth)
