"""MCTS led by a network: the formula, signs, what is certain, the tree kept from move to move, limits."""

import random
import time
from functools import cache
from math import log, sqrt

import numpy as np
import pytest

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Clock, Limits, Proven, Result, StopReason, WinProbability
from plyd.engines.gomoku.board.board import O, X
from plyd.engines.gomoku.mcts.nodes import (
    DRAW,
    IS_EXPANDED,
    IS_WHOLE,
    LOSS,
    NO_CHILD,
    NODE,
    OPEN,
    WIN,
    backpropagate,
    order,
    transplant,
)
from plyd.engines.gomoku.mcts.search_tree import C_PUCT as C_PUCT
from plyd.engines.gomoku.mcts.search_tree import SearchTree, params_of
from plyd.engines.gomoku.mcts.searcher import MctsSearcher, cells_of
from plyd.engines.gomoku.mcts.tree import choose
from plyd.engines.gomoku.rules import FREESTYLE, STANDARD
from tests.engines.conftest import reports_until_stopped
from tests.patience import SOON


class Toy:
    """A network that likes some cells, finds every position worth the same, and counts what it is asked."""

    def __init__(self, likes=None, value=0.0):
        self.likes, self.value, self.asked = likes or {}, value, 0

    def __call__(self, planes):
        self.asked += len(planes)
        logits = np.zeros((len(planes), planes.shape[2] ** 2), np.float32)
        for cell, logit in self.likes.items():
            logits[:, cell] = logit
        return logits, np.full(len(planes), self.value, np.float32)


def tree_at(text, network=None, rules=FREESTYLE, **settings):
    position = rules.parse(text)
    tree = SearchTree(network or Toy(), position.size, rule=rules.rule, **settings)
    tree.begin(cells_of(position), X if position.mover == "x" else O)
    return tree


def texts(tree, children):
    return {f"{'abcdefghijklmnopqrst'[cell % tree.size]}{tree.size - cell // tree.size}" for cell in children}


def children_of(tree):
    return texts(tree, [tree.cell_of(int(point)) for point in tree.children_of(tree.root)["point"]])


def family(*children, **root):
    """A node and its children, as the tree keeps them."""
    nodes = np.zeros(1 + len(children), NODE)
    nodes["first"] = NO_CHILD
    for name, value in {"first": 1, "count": len(children), "flags": IS_EXPANDED | IS_WHOLE, **root}.items():
        nodes[0][name] = value
    for i, child in enumerate(children, 1):
        for name, value in child.items():
            nodes[i][name] = value
    return nodes


# --- The formula ------------------------------------------------------------------------------------------------------


def test_the_child_with_the_largest_sum_of_worth_and_curiosity_is_walked():
    # N = 4, so c sqrt(N) is 2 c (1 + 0.25 ln(1 + 4/500)), with c = 1.2: 2.4048
    #   a  Q = 1/2 = 0.5   P = 0.5   n = 2   0.5 + 2.4048 * 0.5 / 3 = 0.9008
    #   b  Q = 0.9 / 1     P = 0.2   n = 1   0.9 + 2.4048 * 0.2 / 2 = 1.1405
    #   c  untried         P = 0.1   n = 0   node's own 0.2 less 0.25 sqrt(0.7), + 2.4048 * 0.1 = 0.2313
    a, b = {"total": 1.0, "visits": 2, "prior": 0.5}, {"total": 0.9, "visits": 1, "prior": 0.2}
    nodes = family(a, b, {"prior": 0.1}, visits=4, total=-0.8)
    push = 1.2 * (1 + 0.25 * log(1 + 4 / 500)) * sqrt(4)
    assert push == pytest.approx(2.4048, abs=1e-4)
    assert choose(nodes, 0, params_of(1.2)) == 2
    nodes[2]["total"] = 0.65  # 0.65 + 0.2405 = 0.8905, just less than a's 0.9008
    assert choose(nodes, 0, params_of(1.2)) == 1
    nodes[3]["prior"] = 0.4  # 0.2 - 0.2092 + 0.9619 = 0.9528, just more than a's
    assert choose(nodes, 0, params_of(1.2)) == 3


def test_a_walk_under_way_counts_as_lost():
    # a: (1.6 - 1) / 3 + 2.4 * 0.4 / 4; without the walk under way 0.8 + 2.4 * 0.4 / 3
    a, b = {"total": 1.6, "visits": 2, "prior": 0.4}, {"total": 0.5, "visits": 1, "prior": 0.3}
    assert choose(family(a, b, visits=4), 0, params_of(1.2)) == 1
    assert choose(family(a | {"virtual_loss": 1}, b, visits=4, virtual_loss=1), 0, params_of(1.2)) == 2


def test_what_is_certain_is_not_walked_again():
    lost = {"total": 0.9, "visits": 1, "prior": 0.9, "status": WIN}  # a win for the opponent, who is to move there
    drawn = {"total": 0.9, "visits": 1, "prior": 0.05, "status": DRAW}
    bad = {"total": -0.5, "visits": 1, "prior": 0.05}
    assert choose(family(lost, drawn, bad, visits=4), 0, params_of(1.2)) == 3
    assert choose(family(lost, drawn, visits=4), 0, params_of(1.2)) == NO_CHILD


def test_values_change_sign_from_ply_to_ply():
    nodes = np.zeros(3, NODE)
    for i in (0, 1):
        nodes[i]["first"], nodes[i]["count"], nodes[i]["flags"] = i + 1, 1, IS_EXPANDED
    nodes["virtual_loss"] = 1
    backpropagate(nodes, np.arange(3, dtype=np.int32), 2, 0.6, 1)  # good for who is to move at the leaf
    assert list(nodes["total"]) == pytest.approx([-0.6, 0.6, -0.6])  # each for who moved into the node
    assert list(nodes["visits"]) == [1, 1, 1]
    assert list(nodes["virtual_loss"]) == [0, 0, 0]


def test_a_child_that_is_lost_wins_and_children_that_all_win_lose():
    nodes = family({"status": LOSS, "plies": 2, "point": 77}, {"visits": 1})
    backpropagate(nodes, np.array([0, 1], np.int32), 1, 0.0, 0)
    assert (nodes[0]["status"], nodes[0]["plies"], nodes[0]["reply"]) == (WIN, 3, 77)
    assert nodes[0]["total"] == -1  # a win for who is to move at it is a loss for who moved into it
    nodes = family({"status": WIN, "plies": 3}, {"status": WIN, "plies": 7})
    backpropagate(nodes, np.array([0, 1], np.int32), 1, 0.0, 0)
    assert (nodes[0]["status"], nodes[0]["plies"]) == (LOSS, 8)
    nodes = family({"status": WIN, "plies": 3}, {"status": DRAW, "plies": 0})
    backpropagate(nodes, np.array([0, 1], np.int32), 1, 0.0, 0)
    assert nodes[0]["status"] == DRAW
    nodes = family({"status": WIN, "plies": 3}, flags=IS_EXPANDED)  # others were left out: nothing is certain
    backpropagate(nodes, np.array([0, 1], np.int32), 1, 0.0, 0)
    assert nodes[0]["status"] == OPEN


def test_a_sure_win_comes_first_and_the_longest_loss_last_but_one():
    children = np.zeros(5, NODE)
    children["visits"], children["point"] = [5, 90, 1, 2, 3], range(5)
    children["status"], children["plies"] = [OPEN, OPEN, LOSS, WIN, WIN], [0, 0, 4, 3, 9]
    assert list(order(children)["point"]) == [2, 1, 0, 4, 3]


def test_a_draw_is_played_if_the_rest_is_worse():
    children = np.zeros(3, NODE)
    children["visits"], children["total"], children["point"] = [90, 1, 2], [-9.0, 0.0, -2.0], range(3)
    children["status"] = [OPEN, DRAW, WIN]
    assert list(order(children)["point"]) == [1, 0, 2]
    children["total"][0] = 9.0
    assert list(order(children)["point"]) == [0, 1, 2]


# --- Leaves -----------------------------------------------------------------------------------------------------------


def test_a_five_at_hand_wins_without_the_network():
    tree = tree_at("xxxx.../ooo..../......./......./......./......./....... x")
    tree.simulate(5)
    assert (tree.root["status"], tree.root["plies"]) == (WIN, 1)
    assert texts(tree, [tree.best()]) == {"e7"}
    assert tree.evaluate.asked == 0


def test_two_fives_of_the_opponent_lose():
    tree = tree_at("......./.xxxx../......./ooo..../......./......./....... o")
    tree.simulate(5)
    assert (tree.root["status"], tree.root["plies"]) == (LOSS, 2)


def test_one_five_of_the_opponent_leaves_one_move_and_needs_no_network():
    tree = tree_at("oxxxx../.oo..../......./......./......./......./....... o")
    tree.simulate(1)
    assert children_of(tree) == {"f7"}
    assert tree.root["flags"] & IS_WHOLE
    assert tree.evaluate.asked == 1  # of the position after it


def test_a_three_of_the_opponent_leaves_what_may_stop_it():
    tree = tree_at("......../......../..xxx.../......../......../......../oo....../........ o")
    tree.simulate(1)
    assert {"b6", "f6"} <= children_of(tree) <= {"a6", "b6", "f6", "g6"}
    assert tree.root["flags"] & IS_WHOLE


def test_a_win_by_fours_is_seen_at_a_leaf():
    # x: c6 d6 e6 with b6 closed by o, and c3 d4 below: f6 makes a four, g6 answers; then the diagonal
    text = "......../......../.oxxx.../......../...x..../..x...../......../........ x"
    tree = tree_at(text)
    tree.simulate(50)
    assert tree.root["status"] == WIN


def test_a_full_board_is_a_draw_and_worth_nothing():
    rows = "xxoox/ooxxo/xxoox/ooxxo/xxoo."
    assert FREESTYLE.outcome(FREESTYLE.parse(rows)) is Outcome.ONGOING
    tree = tree_at(rows, Toy(value=0.7))
    tree.simulate(10)
    assert tree.root["status"] == DRAW
    assert tree.children_of(tree.root)["total"].sum() == 0


@cache
def minimax(position, rules):
    """1, 0 or -1 for who is to move, by trying everything."""
    outcome = rules.outcome(position)
    if outcome is not Outcome.ONGOING:
        return 0 if outcome is Outcome.DRAW else -1
    moves = (rules.play(position, move.text).position for move in rules.legal_moves(position))
    return max(-minimax(after, rules) for after in moves)


@pytest.mark.parametrize("rules", [FREESTYLE, STANDARD])
@pytest.mark.parametrize("width", [2, 24])
def test_what_is_certain_is_what_trying_everything_finds(rules, width):
    # width 2: most moves have no child at first, so nothing may count as lost before they all have one
    rng, results = random.Random(3), set()
    for _ in range(60):
        cells = ["."] * 6 + list("xo" * 9) + ["x"]
        rng.shuffle(cells)
        rows = tuple("".join(cells[i : i + 5]) for i in range(0, 25, 5))
        try:
            position = rules.parse("/".join(rows))
        except Exception:  # both have five, or the one who is to move
            continue
        if rules.outcome(position) is not Outcome.ONGOING:
            continue
        tree = tree_at("/".join(rows), Toy({0: 2.0, 7: 1.0}), rules, params=params_of(1.2, width=width))
        tree.simulate(5000)
        found = {WIN: 1, LOSS: -1, DRAW: 0}[int(tree.root["status"])]
        assert found == minimax(position, rules)
        results.add(found)
    assert results == {1, 0, -1}


# --- The tree from move to move ---------------------------------------------------------------------------------------


def test_the_tree_is_kept_for_the_next_move_and_the_answer_to_it():
    tree = tree_at("7x7", Toy({24: 3.0, 25: 2.0}))
    tree.simulate(200)
    child = order(tree.children_of(tree.root))[0]
    grandchild = order(tree.children_of(child))[0]
    first, second = tree.cell_of(int(child["point"])), tree.cell_of(int(grandchild["point"]))
    visits = int(grandchild["visits"])
    assert visits > 10
    cells = tree.cells.copy()
    cells.reshape(-1)[first], cells.reshape(-1)[second] = X, O
    tree.begin(cells, X)
    assert tree.root["visits"] == visits
    tree.begin(cells, X)  # the same again
    assert tree.root["visits"] == visits
    tree.begin(np.zeros((7, 7), np.uint8), X)  # back at the start: a new tree
    assert tree.root["visits"] == 0


def test_only_what_still_matters_is_copied():
    tree = tree_at("7x7", Toy({24: 3.0}))
    tree.simulate(300)
    tree.play(24)
    root, target, state = tree.root.copy(), np.zeros(len(tree.nodes), NODE), tree.state.copy()
    assert transplant(tree.nodes, state, target, len(target), 1)
    assert state[0] == 0
    assert state[1] < tree.state[1]
    assert (target[0]["visits"], target[0]["count"]) == (root["visits"], root["count"])
    before = tree.children_of(root)
    after = target[target[0]["first"] : target[0]["first"] + target[0]["count"]]
    for name in ("point", "visits", "total", "prior", "status"):
        assert (before[name] == after[name]).all()


def test_nodes_with_few_visits_become_leaves_when_not_all_can_be_copied():
    tree = tree_at("7x7", Toy({24: 3.0}))
    tree.simulate(300)
    used = int(tree.state[1])
    target, state = np.zeros(len(tree.nodes), NODE), tree.state.copy()
    assert not transplant(tree.nodes, state, target, used // 2, 1)
    assert (state == tree.state).all(), "nothing has changed"
    assert transplant(tree.nodes, state, target, used, 8)
    kept = target[: state[1]]
    assert 1 < len(kept) < used
    assert ((kept["visits"] >= 8) | (kept["count"] == 0))[1:].all()
    assert kept["visits"][0] == tree.root["visits"]
    assert (kept["first"][kept["count"] > 0] + kept["count"][kept["count"] > 0] <= len(kept)).all()


def test_a_tree_is_shrunk_again_and_again_and_searched_on():
    tree = tree_at("7x7", Toy({24: 3.0}), most_nodes=20_000)
    tree.simulate(6000)
    assert tree.root["visits"] == 6000
    assert tree.state[1] <= len(tree.nodes) == 20_000
    children = tree.children_of(tree.root)
    assert children["visits"].sum() == 5999
    assert not children["virtual_loss"].any()


def test_a_tree_is_not_shrunk_when_its_time_is_over():
    tree = tree_at("7x7", Toy({24: 3.0}))
    tree.simulate(300)
    nodes = tree.nodes
    tree.shrink(deadline_ns=0)
    assert tree.nodes is nodes


def test_a_tree_that_is_full_is_walked_on():
    tree = tree_at("7x7", most_nodes=4000)
    tree.simulate(3000)
    assert tree.root["visits"] == 3000
    assert len(tree.nodes) <= 4000


def test_noise_changes_priors_but_not_their_sum():
    tree = tree_at("7x7", Toy({24: 3.0}))
    tree.simulate(1)
    before = np.sort(tree.children_of(tree.root)["prior"].copy())
    tree.add_noise(np.random.default_rng(1), 0.25, 0.05)
    after = tree.children_of(tree.root)["prior"]
    assert after.sum() == pytest.approx(1.0, abs=1e-4)
    assert (np.diff(after) <= 0).all()
    assert not np.allclose(before, np.sort(after))


# --- The searcher -----------------------------------------------------------------------------------------------------


def searcher_with(evaluate, threads=0, megabytes=64):
    return MctsSearcher(FREESTYLE, evaluate, {"threads": threads, "c": C_PUCT}, megabytes)


@pytest.fixture(scope="module")
def warm():
    searcher = searcher_with(Toy())
    searcher.warm_up()


def test_the_only_move_takes_no_time_of_the_clock_and_the_next_one_loses(warm):
    position = FREESTYLE.start()
    for move in ("h8", "g8", "i8", "a1", "j8", "a15", "k8"):  # x has a four, and o one point to answer it
        position = FREESTYLE.play(position, move).position
    *_, last = searcher_with(Toy()).search(position, Limits(clock=Clock(36_000.0)), Stop())
    assert (last.move, last.stop_reason) == ("l8", StopReason.TIME)  # not one of the twenty minutes
    *_, last = searcher_with(Toy()).search(position, Limits(max_nodes=100, max_lines=2), Stop())
    assert [line.moves[:2].index("l8") for line in last.lines] == [0, 1], "the other move loses to the same point"
    assert last.lines[1].score.value == Proven(Result.LOSS, 2)


def test_a_node_limit_is_kept_to_the_node_and_finds_the_same_again(warm):
    found = []
    for _ in range(2):
        searcher = searcher_with(Toy({112: 2.0, 113: 1.0}), threads=1)
        *_, last = searcher.search(FREESTYLE.start(), Limits(max_nodes=777, max_lines=3), Stop())
        assert (last.nodes, last.stop_reason) == (777, StopReason.NODES)
        found.append((last.move, last.lines, last.score))
        *_, again = searcher.search(FREESTYLE.start(), Limits(max_nodes=100), Stop())
        assert (again.nodes, again.kept_nodes, last.kept_nodes) == (100, 777, 0)
    assert found[0] == found[1]
    assert [line.visits for line in found[0][1]] == sorted((line.visits for line in found[0][1]), reverse=True)
    assert isinstance(found[0][2].value, WinProbability)


def test_a_whole_game_in_a_small_tree_keeps_to_the_nodes_of_each_move(warm, monkeypatch):
    searcher, position, shrunk = searcher_with(Toy(), threads=1, megabytes=1), FREESTYLE.parse("9x9"), []
    monkeypatch.setattr(SearchTree, "shrink", lambda *args, shrink=SearchTree.shrink: shrunk.append(shrink(*args)))
    while FREESTYLE.outcome(position) is Outcome.ONGOING:
        reports = list(searcher.search(position, Limits(max_nodes=200), Stop()))
        assert max(report.nodes for report in reports) <= 200
        position = FREESTYLE.play(position, reports[-1].move).position
    assert shrunk


@pytest.mark.parametrize("threads", [1, 2])
def test_time_is_kept(warm, threads):
    searcher = searcher_with(Toy(), threads=threads)
    position = FREESTYLE.play(FREESTYLE.start(), "h8").position
    began = time.monotonic()
    reports = list(searcher.search(position, Limits(max_seconds=0.35), Stop()))
    took = time.monotonic() - began
    assert 0.3 < took < SOON
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    assert reports[-1].stop_reason is StopReason.TIME
    assert not searcher._tree.nodes["virtual_loss"].any()
    assert searcher._tree.root["visits"] == reports[-1].nodes > 0


def test_reports_come_on_the_way(warm):
    reports = reports_until_stopped(searcher_with(Toy()), FREESTYLE.play(FREESTYLE.start(), "h8").position, 3)
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    assert reports[-1].stop_reason is StopReason.STOPPED


def test_no_time_at_all_still_gives_a_move(warm):
    searcher = searcher_with(Toy({112: 5.0}))
    (report,) = searcher.search(FREESTYLE.start(), Limits(max_seconds=0.0), Stop())
    assert (report.move, report.stop_reason) == ("h8", StopReason.TIME)


@pytest.mark.parametrize("size", [6, 9, 15, 20])
def test_an_empty_board_is_begun_near_the_middle_whatever_the_network_likes(warm, size):
    searcher = searcher_with(Toy({0: 5.0, size + 1: 3.0}), threads=1)
    *_, last = searcher.search(FREESTYLE.parse(f"{size}x{size}"), Limits(max_nodes=60, max_lines=400), Stop())
    points = [(ord(line.moves[0][0]) - ord("a") + 1, int(line.moves[0][1:])) for line in last.lines]
    assert all(abs(2 * row - size - 1) <= 4 and abs(2 * column - size - 1) <= 4 for column, row in points)
    assert len(points) == (25 if size % 2 else 16)
    assert sum(line.prior for line in last.lines) == pytest.approx(1.0)


def test_on_the_smallest_board_and_beside_blocked_points_every_point_may_be_first(warm):
    for text, count in (("5x5", 25), ("#" + "." * 8 + ("/" + "." * 9) * 8, 80)):
        searcher = searcher_with(Toy(), threads=1)
        *_, last = searcher.search(FREESTYLE.parse(text), Limits(max_nodes=20, max_lines=400), Stop())
        assert len(last.lines) == count


def test_a_sure_win_ends_the_search_and_is_told_with_its_length(warm):
    searcher = searcher_with(Toy())
    position = FREESTYLE.parse("......../......../..xxx.../......../......../......../ooo...../........ x")
    *_, last = searcher.search(position, Limits(max_seconds=10), Stop())
    assert last.stop_reason is StopReason.FINISHED
    assert last.score.point_of_view is Side.PLAYER_ONE
    assert last.score.value == Proven(Result.WIN, 3)
    assert last.move in ("b6", "f6")


def test_a_lost_position_still_gives_a_move(warm):
    searcher = searcher_with(Toy())
    position = FREESTYLE.parse("......./.xxxx../......./ooo..../......./......./....... o")
    *_, last = searcher.search(position, Limits(max_seconds=10), Stop())
    assert last.score.value == Proven(Result.LOSS, 2)
    assert last.move in ("a6", "f6")


def test_depth_ends_a_search_and_so_does_the_stop_flag(warm):
    searcher = searcher_with(Toy({112: 2.0, 113: 2.0, 114: 2.0}))
    *_, last = searcher.search(FREESTYLE.start(), Limits(max_depth=3), Stop())
    assert last.stop_reason is StopReason.DEPTH
    assert last.depth >= 3
    stop = Stop()
    stop.set()
    *_, last = searcher.search(FREESTYLE.play(FREESTYLE.start(), "a1").position, Limits(), stop)
    assert last.stop_reason is StopReason.STOPPED


def test_a_finished_game_gives_one_report(warm):
    position = FREESTYLE.parse("xxxxx/oooo./...../...../.....")
    (report,) = searcher_with(Toy()).search(position, Limits(), Stop())
    assert (report.move, report.lines, report.stop_reason) == (None, (), StopReason.NO_SEARCH)
    assert report.score.value == Proven(Result.LOSS, 0)
