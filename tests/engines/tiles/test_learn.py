"""Learning against sums done by hand, against the formulas in slow Python, and against play without learning."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import load, slides_of, store
from plyd.engines.tiles.ntuple.moves import best_slide
from plyd.engines.tiles.ntuple.network import network_of, shape_of
from plyd.engines.tiles.train.learn import game_of, learn_afters, train
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles import small_players
from tests.engines.tiles.slow_tiles import (
    GAMES,
    SlowNetwork,
    cells_of,
    legal_slides,
    played_boards,
    random_boards,
    random_score,
    words_of,
)

SMALL = "01 15"  # two 2-tuples: corner and neighbour, edge and inner cell
GUARD = 1000  # items behind an array that nothing may touch


method_of = partial(small_players.method_of, trace=0.0)


@njit(cache=True)
def learn_path(like, begin, end, target, rows, spawns, weights, sums, shape, method, desk):
    net, game = network_of(weights, shape, desk.scratch), game_of(desk, rows, spawns)
    learn_afters(like, begin, end, target, net, pointer_to(sums), method, game)


@njit(cache=True)
def find_best_slides(boards, like, rows, weights, shape, scratch, best, afters, points, values):
    net, slides = network_of(weights, shape, scratch), slides_of(rows)
    for i in range(len(boards)):
        best[i], values[i], after, points[i] = best_slide(load(pointer_to(boards), i, like), slides, net)
        store(pointer_to(afters), i, after)


class Learner:
    """Weights that learn, and a desk, each with guards behind them."""

    def __init__(self, game, network=SMALL, base=16, seed=1, most_moves=20_000, spread=0.0):
        self.game, self.patterns, self.base = game, patterns_of(network), base
        self.shape = shape_of(self.patterns, game.bits, base)
        size = int(self.shape.offsets[-1])
        self.guarded = np.full(size + GUARD, np.nan, np.float32)
        self.weights = self.guarded[:size]
        self.weights[:] = np.random.default_rng(seed).normal(0, 1, size) * spread
        self.sums = np.zeros((size, 2), np.float32)
        self.long_path = np.full((most_moves + GUARD, game.words), 7, np.uint64)
        self.long_points = np.full(most_moves + GUARD, 7, np.float32)
        self.desk = small_players.desk_of(self.long_path[:most_moves], self.long_points[:most_moves], seed, self.shape)

    def learn(self, path, points, target, method, begin=0, end=None):
        """Learns from after-states given by their cells; `target` is the last one's."""
        self.desk.path[: len(path)] = words_of(self.game, path)
        self.desk.points[: len(path)] = points
        end, rows, spawns = len(path) if end is None else end, self.game.rows(), self.game.spawns("classic")
        sums, like = self.sums.reshape(-1), self.game.empty
        learn_path(
            like, begin, end, np.float32(target), rows, spawns, self.weights, sums, self.shape, method, self.desk
        )

    def train(self, games, method, variant="classic"):
        """Results of games and the number of moves."""
        results = np.full((games + 5, 3), -1, np.int64)
        rows, spawns, sums = self.game.rows(), self.game.spawns(variant), self.sums.reshape(-1)
        moves = train(games, self.game.empty, rows, spawns, self.weights, sums, self.shape, method, self.desk, results)
        assert (results[games:] == -1).all()
        assert np.isnan(self.guarded[self.weights.size :]).all()
        assert np.isfinite(self.weights).all()
        return results[:games], moves

    def best_slides(self, boards):
        """Opcode, cells after it, points and worth of the best slide on each board."""
        count, game = len(boards), self.game
        best, points, values = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.float32)
        words, afters, rows = words_of(game, boards), np.zeros((count, game.words), np.uint64), game.rows()
        scratch = self.desk.scratch
        find_best_slides(words, game.empty, rows, self.weights, self.shape, scratch, best, afters, points, values)
        cells = [cells_of(game, words) for words in afters]
        return list(zip(best.tolist(), cells, points.tolist(), values.tolist(), strict=True))

    def path(self, moves):
        """After-states of the last game, and the points of the slides that led to them."""
        assert (self.long_path[len(self.desk.path) :] == 7).all()
        assert (self.long_points[len(self.desk.points) :] == 7).all()
        return [cells_of(self.game, words) for words in self.desk.path[:moves]], self.desk.points[:moves].tolist()

    def slow(self):
        """The same network in slow Python, as it is now."""
        return SlowNetwork(self.patterns, self.base, self.weights)

    def at(self, p, *tiles):
        """The weight of these tiles in a pattern's table, and its E and A."""
        place = int(self.shape.offsets[p]) + sum(tile * self.base**k for k, tile in enumerate(tiles))
        return float(self.weights[place]), *self.sums[place].tolist()


@pytest.fixture(params=[GAMES["2048"], pytest.param(GAMES["2584"], marks=pytest.mark.slow)], ids=list(GAMES))
def game(request):
    return request.param


def assert_same(learner, slow):
    assert np.allclose(learner.weights, slow.weights, rtol=1e-4, atol=1e-4 * (1 + np.abs(slow.weights).max()))


# --- By hand ----------------------------------------------------------------------------------------------------------

#  1  5  6  2      Eight different pairs of a corner and its neighbour, eight of an edge cell and the one inside it:
#  7 13 13  8      under this board are sixteen weights, each of them once.
#  9 13 13 10
#  3 11 12  4
APART = (1, 5, 6, 2, 7, 13, 13, 8, 9, 13, 13, 10, 3, 11, 12, 4)
#  1  2  2  1      And under this one only two, eight times each.
#  2  3  3  2
#  2  3  3  2
#  1  2  2  1
ALIKE = (1, 2, 2, 1, 2, 3, 3, 2, 2, 3, 3, 2, 1, 2, 2, 1)
PAIRS_OF_APART = [(1, 5), (2, 6), (1, 7), (2, 8), (3, 9), (4, 10), (3, 11), (4, 12)]


def test_td_0_moves_each_weight_by_its_share_of_the_error(game):
    # APART has 16 weights of 0 and the target 32: each moves by 0.5 * 32 / 16 = 1, and its value is then 16.
    learner = Learner(game)
    learner.learn([APART], [0], target=32, method=method_of(rate=0.5))
    for corner, edge in PAIRS_OF_APART:
        assert learner.at(0, corner, edge)[0] == 1
        assert learner.at(1, edge, 13)[0] == 1
    assert learner.weights.sum() == 16, "no other weight moved"


@pytest.mark.parametrize(("trace", "weight"), [(0.0, 5.0), (0.5, 7.0), (1.0, 9.0)])
def test_an_earlier_board_learns_from_the_target_and_the_new_value_of_the_later_one(game, trace, weight):
    # ALIKE, then a slide that gains 4 to APART, which had the target 32 and is now worth 16. The target of ALIKE is
    #   lambda 0:    4 + 16                   = 20, a share of it 0.5 * 20 / 16 = 0.625
    #   lambda 0.5:  4 + 0.5 * 32 + 0.5 * 16  = 28                               0.875
    #   lambda 1:    4 + 32                   = 36                               1.125
    # and both weights under ALIKE move by eight shares, since each is there eight times.
    learner = Learner(game)
    learner.learn([ALIKE, APART], [100, 4], target=32, method=method_of(rate=0.5, trace=trace))
    assert learner.at(0, 1, 2)[0] == learner.at(1, 2, 3)[0] == weight
    assert learner.at(0, 1, 5)[0] == 1
    assert learner.weights.sum() == 16 + 2 * weight


def test_tc_multiplies_the_rate_by_the_sum_of_errors_over_the_sum_of_their_sizes(game):
    learner, method = Learner(game), method_of(rate=0.5, coherent=True)
    # First visit, target 32: error 32, rate 1, so each weight moves by 0.5 * 32 / 16.
    learner.learn([APART], [0], 32, method)
    assert learner.at(0, 1, 5) == learner.at(1, 12, 13) == (1, 32, 32)
    # Worth 16, target 0: error -16, |E| / A = 32 / 32, so by 0.5 * -16 / 16.
    learner.learn([APART], [0], 0, method)
    assert learner.at(0, 1, 5) == learner.at(1, 12, 13) == (0.5, 16, 48)
    # Worth 8, target 24: error 16, |E| / A = 16 / 48, so by a third of 0.5 * 16 / 16.
    learner.learn([APART], [0], 24, method)
    assert learner.at(0, 1, 5) == learner.at(1, 12, 13) == pytest.approx((0.5 + 1 / 6, 32, 64))
    # A board never seen has the rate 1 again; errors of both signs that cancel out leave a weight where it is.
    learner.sums[:] = 0, 5
    before = learner.weights.copy()
    learner.learn([APART], [0], 100, method)
    assert (learner.weights == before).all()


def test_tc_counts_each_time_that_a_weight_is_under_a_board(game):
    # Two weights, eight times each: error 16, eight shares of 16 / 16, and eight times 16 in E and in A.
    learner = Learner(game)
    learner.learn([ALIKE], [0], 16, method_of(coherent=True))
    assert learner.at(0, 1, 2) == learner.at(1, 2, 3) == (8, 128, 128)


def test_plain_td_leaves_the_sums_of_tc_alone(game):
    learner = Learner(game)
    learner.learn([ALIKE, APART], [0, 4], 32, method_of())
    assert not learner.sums.any()


# --- By the formulas --------------------------------------------------------------------------------------------------

METHODS = [
    pytest.param(method_of(0.25, trace=0.0), id="TD(0)"),
    pytest.param(method_of(0.25, trace=0.5), id="TD(0.5)"),
    pytest.param(method_of(0.25, trace=1.0), id="TD(1)"),
    pytest.param(method_of(0.5, trace=0.0, coherent=True), id="TC(0)"),
    pytest.param(method_of(0.5, trace=0.5, coherent=True), id="TC(0.5)"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("moves", [0, 1, 2, 3, 4, 5, 40])
def test_a_path_teaches_what_the_formulas_say(game, method, moves):
    learner = Learner(game, "0123 15 05", base=16, spread=10.0)
    slow = learner.slow()
    path = random_boards(game, 60, seed=5)[20 : 20 + moves]
    points = np.random.default_rng(6).integers(0, 200, moves).astype(float)
    for target in (30.0, -5.0):
        learner.learn(path, points, target, method)
        slow.learn(path, points, target, method)
        assert_same(learner, slow)
        if method.coherent:
            assert np.allclose(learner.sums, slow.sums, rtol=1e-3, atol=1e-4 * (1 + slow.sums.max()))


def test_only_the_part_of_a_path_that_was_asked_for_teaches(game):
    learner = Learner(game, spread=10.0)
    slow, path, method = learner.slow(), random_boards(game, 60, seed=5)[20:40], method_of(0.25, trace=0.5)
    points = [float(10 * t) for t in range(len(path))]
    learner.learn(path, points, 30.0, method, begin=5, end=13)
    slow.learn(path[5:13], points[5:13], 30.0, method)
    assert_same(learner, slow)


def test_the_best_slide_has_the_most_points_and_value_of_the_legal_ones(game):
    learner = Learner(game, "0123 15", spread=20.0)
    slow = learner.slow()
    boards = played_boards(game, 300, seed=8) + random_boards(game, 300, seed=9)
    answers = learner.best_slides(boards)
    assert {answer[0] for answer in answers} == {-1, 0, 1, 2, 3}
    for cells, (opcode, after, gained, worth) in zip(boards, answers, strict=True):
        slides = legal_slides(game, cells)
        if not slides:
            assert (opcode, after, gained, worth) == (-1, cells, 0, 0)
            continue
        assert slides[opcode] == (after, gained)
        values = {other: points + slow.value(after) for other, (after, points) in slides.items()}
        assert values[opcode] >= max(values.values()) - 1e-2
        assert worth == pytest.approx(values[opcode], rel=1e-5, abs=1e-2)


def test_of_equal_slides_the_first_by_opcode_is_best(game):
    boards = played_boards(game, 300, seed=8)
    for cells, (opcode, *_) in zip(boards, Learner(game).best_slides(boards), strict=True):
        slides = legal_slides(game, cells)  # all values are 0
        most = max((points for _, points in slides.values()), default=0)
        assert opcode == next((opcode for opcode in slides if slides[opcode][1] == most), -1)


# --- Whole games ------------------------------------------------------------------------------------------------------


def befores(game, after, variant="classic"):
    """The boards that the environment may make of an after-state."""
    return [
        (*after[:cell], index, *after[cell + 1 :])
        for cell in range(16)
        if after[cell] == 0
        for index in game.variants[variant].spawns
    ]


def assert_is_greedy_game(game, path, points, slow):
    """Each after-state comes from a drop and then the slide with the most points and value, as the network was."""
    starts = [board for first in befores(game, (0,) * 16) for board in befores(game, first)]
    for t, (after, gained) in enumerate(zip(path, points, strict=True)):
        worth, found = gained + slow.value(after), False
        for before in befores(game, path[t - 1]) if t else starts:
            slides = legal_slides(game, before).values()
            if (after, gained) in slides:
                found = found or worth >= max(points + slow.value(after) for after, points in slides) - 1e-2
        assert found, f"move {t}: {after}"


@pytest.mark.parametrize("every", [0, 7], ids=["at the end", "every 7 moves"])
@pytest.mark.parametrize("coherent", [False, True], ids=["TD", "TC"])
def test_a_game_is_played_by_the_rules_and_teaches_what_the_formulas_say(game, coherent, every):
    learner = Learner(game, seed=3, spread=10.0)
    slow, method = learner.slow(), method_of(0.5, trace=0.5, coherent=coherent, every=every)
    ((score, moves, most),), all_moves = learner.train(1, method)
    path, points = learner.path(moves)

    assert all_moves == moves == len(path) > 20
    assert score == sum(points)
    assert most in {max(*path[-1], dropped) for dropped in game.variants["classic"].spawns}
    assert any(not any(legal_slides(game, end)) for end in befores(game, path[-1])), "the game is over"
    if not every:
        assert_is_greedy_game(game, path, points, slow)

    learned = 0
    for t in range(moves):
        if every and t - learned == every:  # learn from what led here: the last one's target is known by now
            slow.learn(path[learned:t], points[learned:t], points[t] + slow.value(path[t]), method)
            learned = t
    slow.learn(path[learned:], points[learned:], 0.0, method)
    assert_same(learner, slow)


def test_learning_within_a_game_makes_another_game_of_it(game):
    at_end, within = Learner(game, seed=3), Learner(game, seed=3)
    at_end.train(3, method_of(0.5))
    within.train(3, method_of(0.5, every=7))
    assert (at_end.weights != within.weights).any()


@pytest.mark.parametrize("every", [0, 7])
@pytest.mark.parametrize("most_moves", [1, 2, 8, 21])
def test_a_game_ends_when_its_path_is_full_and_writes_nothing_behind_it(game, most_moves, every):
    learner = Learner(game, most_moves=most_moves, spread=10.0)
    results, all_moves = learner.train(20, method_of(0.1, trace=0.5, coherent=True, every=every))
    assert (results[:, 1] == most_moves).all()
    assert all_moves == 20 * most_moves
    path, points = learner.path(most_moves)
    assert results[-1, 0] == sum(points)
    assert results[-1, 2] >= max(path[-1])


def test_training_fills_a_result_for_each_game(game):
    learner = Learner(game)
    results, all_moves = learner.train(30, method_of(0.1))
    points, moves, most = results.T
    assert all_moves == moves.sum()
    assert (points > 0).all()
    assert (moves > 20).all()
    assert ((most >= 4) & (most <= game.rules.max_index)).all()
    assert len(set(points.tolist())) > 20
    assert learner.desk.seed[0] != 1


def test_no_games_teach_nothing(game):
    learner = Learner(game, spread=1.0)
    before = learner.weights.copy()
    results, all_moves = learner.train(0, method_of(0.1))
    assert (len(results), all_moves) == (0, 0)
    assert (learner.weights == before).all()


def test_a_rate_of_0_changes_no_weight(game):
    learner = Learner(game, spread=1.0)
    before = learner.weights.copy()
    learner.train(5, method_of(0.0, trace=0.5))
    assert (learner.weights == before).all()


def test_a_long_game_is_begun_again_from_its_middle_and_counts_only_in_the_moves(game):
    plain, again = Learner(game, spread=1.0), Learner(game, spread=1.0)
    (first, *_), _ = plain.train(10, method_of(0.0))
    results, all_moves = again.train(10, method_of(0.0, restart_moves=50))
    assert results[0].tolist() == first.tolist(), "the first game is the same"
    assert all_moves > results[:, 1].sum()
    unreached, all_moves = Learner(game, spread=1.0).train(10, method_of(0.0, restart_moves=10**6))
    assert all_moves == unreached[:, 1].sum()


@pytest.mark.parametrize("coherent", [False, True], ids=["TD", "TC"])
def test_the_same_seed_learns_the_same_weights_and_another_one_others(game, coherent):
    def trained(seed):
        learner = Learner(game, "0123", seed=seed)
        results, _ = learner.train(50, method_of(0.5, trace=0.5, coherent=coherent))
        return learner.weights.tobytes(), learner.sums.tobytes(), results.tobytes()

    assert trained(1) == trained(1)
    assert all(one != other for one, other in zip(trained(1)[::2], trained(2)[::2], strict=True))


@pytest.mark.parametrize(
    ("name", "variant", "base", "games"),
    [
        ("2048", "classic", 16, 600),
        pytest.param("2584", "classic", 19, 300, marks=pytest.mark.slow),
        pytest.param("2584", "hard", 19, 1000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("coherent", [False, True], ids=["TD", "TC"])
def test_training_makes_far_more_points_than_random_or_greedy_play(name, variant, base, games, coherent):
    game = GAMES[name]
    method = method_of(1.0 if coherent else 0.1, trace=0.5, coherent=coherent)
    learner = Learner(game, "0123 4567 0145 1256", base)
    results, _ = learner.train(games, method, variant)
    greedy, _ = Learner(game, "0", base).train(100, method_of(0.0), variant)
    rng = np.random.default_rng(1)
    at_random = np.mean([random_score(game.variants[variant], rng) for _ in range(10)])
    learned = results[-100:, 0].mean()
    assert learned > 3 * at_random
    assert learned > 1.4 * greedy[:, 0].mean()


def test_an_evil_environment_drops_each_tile_where_the_network_fears_it_most(game):
    learner = Learner(game, spread=10.0)
    (result,), moves = learner.train(1, method_of(rate=0.0)._replace(evil=True))
    afters, _ = learner.path(moves)
    assert result[1] == moves == len(afters) > 5
    for after, following in pairwise(afters):
        feared = []
        for tile in (1, 2):
            boards = [(*after[:cell], tile, *after[cell + 1 :]) for cell in range(16) if after[cell] == 0]
            feared.append(min(learner.best_slides(boards), key=lambda best: best[3])[1])
        assert following in feared
