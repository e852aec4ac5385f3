"""Whole games of a player: by the rules, the same on any thread, worse against evil, better with depth."""

import time

import numpy as np
import pytest

from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE
from plyd.engines.tiles.play.fast_player import FastTilePlayer
from plyd.engines.tiles.play.kernel import Pace, play_game
from plyd.engines.tiles.play.many_games import GameSettings, results
from plyd.engines.tiles.rulebook import SLIDES
from plyd.engines.tiles.search.expectimax import DepthPolicy, ExpectimaxLimit, memory_for
from plyd.engines.tiles.search.searcher import OPTIONS, TileSearcher
from tests.engines.tiles.small_players import VARIANTS, random_player, slow_value, trained_player
from tests.patience import SOON

SEARCHER_OPTIONS = read_options(OPTIONS, {})
GAMES_TO_LEARN = {("2048", "classic"): 300, ("2584", "classic"): 60, ("2584", "hard"): 200}


@pytest.fixture(params=VARIANTS, ids=" ".join)
def player(request):
    return trained_player(*request.param, GAMES_TO_LEARN[request.param])


def played(
    player, games, depth=1, seconds=None, evil=False, seed=1, with_actions=False, threads=1, until=0, reckons_evil=None
):
    """Results of games, without the times, in the order of their points: threads end games in any order."""
    match = GameSettings(
        player, depth, seconds, evil, evil if reckons_evil is None else reckons_evil, seed, with_actions, until
    )
    found = list(results(match, games, threads))
    assert all(game.pop("start_ms") <= game.pop("end_ms") for game in found)
    return sorted(found, key=lambda game: (game["points"], game["moves"]))


def average(games):
    return np.mean([game["points"] for game in games])


def replay(player, game):
    """The last position, the points and the slides of a game by the rulebook, which refuses what is not legal."""
    rules = player.game.variants[player.variant]
    position, points, slides = rules.start(), 0, 0
    for action in game["actions"]:
        step = rules.play(position, SLIDES[action] if action < 4 else f"{action >> 4}@{action & 15}")
        position, points, slides = step.position, points + step.points, slides + (action < 4)
    return position, points, slides


@pytest.mark.parametrize(("depth", "evil"), [(1, False), (1, True), (2, False)])
def test_a_game_is_played_by_the_rules_until_no_slide_is_left(player, depth, evil):
    for game in played(player, 2, depth, evil=evil, with_actions=True):
        position, points, slides = replay(player, game)
        assert position.before
        assert not player.game.rules.legal_moves(position)
        assert (game["points"], game["moves"], game["largest"]) == (points, slides, max(position.cells))
        assert game["actions"][0] > 3
        assert game["actions"][1] > 3, "two drops begin a game"


def test_every_slide_of_depth_1_is_the_best_at_first_sight():
    for name, variant in VARIANTS:
        player = random_player(name, variant)
        rules, value = player.game.variants[variant], slow_value(player)
        (game,) = played(player, 1, with_actions=True)
        position = rules.start()
        for action in game["actions"]:
            if position.before:
                values = {}
                for move in rules.legal_moves(position):
                    step = rules.play(position, move.text)
                    values[move.text] = step.points + value(step.position.cells)
                assert values[SLIDES[action]] >= max(values.values()) - 0.05
                position = rules.play(position, SLIDES[action]).position
            else:
                position = rules.play(position, f"{action >> 4}@{action & 15}").position


def test_every_drop_of_an_evil_environment_leaves_the_player_least():
    for name, variant in VARIANTS:
        player = random_player(name, variant)
        rules, value = player.game.variants[variant], slow_value(player)

        def worth(position, rules=rules, value=value):
            steps = [rules.play(position, move.text) for move in rules.legal_moves(position)]
            return max((step.points + value(step.position.cells) for step in steps), default=0.0)

        (game,) = played(player, 1, evil=True, with_actions=True)
        position = rules.start()
        for ply, action in enumerate(game["actions"][:150]):
            move = SLIDES[action] if action < 4 else f"{action >> 4}@{action & 15}"
            if action > 3 and ply > 1:
                same_tile = [m.text for m in rules.legal_moves(position) if m.text.startswith(f"{action >> 4}@")]
                least = min(worth(rules.play(position, other).position) for other in same_tile)
                assert worth(rules.play(position, move).position) <= least + 0.05
            position = rules.play(position, move).position


def test_drops_of_chance_have_the_odds_of_the_rulebook(player):
    rules = player.game.variants[player.variant]
    drops = [a for game in played(player, 10, with_actions=True) for a in game["actions"] if a > 3]
    for index, chance in rules.spawns.items():
        share = np.mean([drop >> 4 == index for drop in drops])
        assert share == pytest.approx(chance, abs=5 * (chance * (1 - chance) / len(drops)) ** 0.5)
    firsts = [g["actions"][0] & 15 for g in played(random_player("2048", "classic"), 160, with_actions=True)]
    assert set(firsts) == set(range(16))


@pytest.mark.parametrize("depth", [1, 2])
def test_the_same_seed_plays_the_same_games_whatever_the_number_of_threads(depth):
    player = random_player("2584", "hard")
    one = played(player, 8, depth, seed=7, with_actions=True)
    assert one == played(player, 8, depth, seed=7, with_actions=True, threads=3)
    assert one != played(player, 8, depth, seed=8, with_actions=True)
    assert len({tuple(game["actions"]) for game in one}) == 8


def test_games_are_numbered_so_that_fewer_are_the_first_of_more():
    player = random_player("2048", "classic")
    few, more = played(player, 3), played(player, 6)
    assert all(game in more for game in few)


def test_actions_come_only_if_they_are_asked_for():
    (game,) = played(random_player("2048", "classic"), 1)
    assert set(game) == {"points", "moves", "largest"}


def test_evil_drops_cost_the_player_points(player):
    assert average(played(player, 60, evil=True, threads=2)) < 0.75 * average(played(player, 60, threads=2))


def test_what_a_player_reckons_with_and_what_plays_are_apart():
    player = random_player("2584", "hard")
    for evil in False, True:
        depths = [
            [played(player, 3, depth, evil=evil, with_actions=True, reckons_evil=reckons) for reckons in (False, True)]
            for depth in (1, 2)
        ]
        assert depths[0][0] == depths[0][1], "at depth 1 no drop is looked at"
        assert depths[1][0] != depths[1][1]


def test_looking_two_slides_ahead_makes_more_points_than_one(player):
    assert average(played(player, 20, depth=2, threads=2)) > 1.25 * average(played(player, 60, threads=2))


@pytest.mark.parametrize("evil", [False, True], ids=["chance", "evil"])
def test_games_with_time_for_each_move_are_played_to_their_end(evil):
    for name, variant in VARIANTS:
        player = random_player(name, variant)
        (game,) = played(player, 1, seconds=0.0005, evil=evil, with_actions=True)
        position, points, _ = replay(player, game)
        assert not player.game.rules.legal_moves(position)
        assert game["points"] == points


def test_a_caller_who_takes_no_more_results_ends_the_games_that_are_played():
    match = GameSettings(random_player("2048", "classic"), 1, 0.002, False, False, 1, False, 0)
    games = results(match, 100_000, 2)  # hours, if all were played
    next(games)
    began = time.monotonic()
    games.close()
    assert time.monotonic() - began < SOON


def test_a_game_may_end_with_a_tile_before_it_is_over(player):
    rules, reached = player.game.variants[player.variant], 0
    for game in played(player, 10, until=6, with_actions=True):
        position, points, _ = replay(player, game)
        assert game["points"] == points
        assert max(position.cells) == game["largest"] <= 7, "a slide of 2584 may make a larger one at once"
        if game["largest"] >= 6:
            reached += 1
            assert not position.before, "it ends after the slide that makes the tile"
        else:
            assert not rules.legal_moves(position)
    assert reached >= 8


def kernel_game(player, actions, flag=0, depth=1):
    limit = ExpectimaxLimit(np.int64(NEVER), np.int64(NEVER), np.full(1, flag, np.uint8))
    pace, memory = (
        Pace(DepthPolicy(np.int64(depth), False, False), np.int64(0), np.int64(0)),
        memory_for(player.model.shape, 1 << 14),
    )
    seed = np.array([3], np.uint64)
    return play_game(player.model, pace, False, limit, memory, player.game.empty, seed, actions)


@pytest.mark.parametrize("scratch", [0, 1, 2, 3, 4, 9, 10])
def test_a_game_ends_when_there_is_no_room_for_its_actions_and_writes_nothing_behind_it(scratch):
    player = random_player("2048", "classic")
    guarded = np.full(scratch + 5, -7, np.int16)
    length, _, moves, most = kernel_game(player, guarded[:scratch])
    assert (guarded[scratch:] == -7).all()
    assert length == (0 if scratch < 2 else scratch if scratch % 2 else scratch - 1), (
        "a drop, then drops and slides in pairs"
    )
    assert moves == sum(0 <= action < 4 for action in guarded[:length].tolist()) == length // 2
    assert most <= 3


def test_a_game_whose_flag_is_raised_ends_before_it_begins():
    assert kernel_game(random_player("2048", "classic"), np.zeros(100, np.int16), flag=1)[:3] == (0, 0, 0)


# --- Many moves of one game -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_a_fast_player_makes_the_moves_of_the_searcher_by_the_rules(variant):
    player = random_player(*variant)
    rules = player.game.variants[player.variant]
    position, fast = rules.parse("b 1 1" + " 0" * 14), FastTilePlayer(player, NEVER_DOWNGRADE, 7)
    searcher = TileSearcher(player, SEARCHER_OPTIONS, 0)
    while rules.legal_moves(position):
        slides, moves = fast.play(position, 20, Stop())
        assert 2 * slides == len(moves) > 0
        for slide, drop in zip(moves[::2], moves[1::2], strict=True):
            [report] = searcher.search(position, Limits(max_depth=1), Stop())
            assert slide == report.move
            position = rules.play(rules.play(position, slide).position, drop).position
        assert slides == 20 or not rules.legal_moves(position)
    assert fast.play(position, 20, Stop()) == (0, []), "the game is over"


def test_a_fast_player_goes_on_with_its_chance_and_repeats_it_from_the_same_seed():
    player = random_player("2048", "classic")
    start = player.game.rules.parse("b 1 1" + " 0" * 14)
    whole, pieces = FastTilePlayer(player, NEVER_DOWNGRADE, 7), FastTilePlayer(player, NEVER_DOWNGRADE, 7)
    position, moves = start, []
    for most in (1, 2, 4, 8):
        more = pieces.play(position, most, Stop())[1]
        moves += more
        for move in more:
            position = player.game.rules.play(position, move).position
    assert moves == whole.play(start, 15, Stop())[1]
    assert moves != FastTilePlayer(player, NEVER_DOWNGRADE, 8).play(start, 15, Stop())[1]


def test_a_fast_player_drops_by_the_odds_on_every_cell():
    player = random_player("2584", "hard")
    start = player.game.rules.parse("b 1 1" + " 0" * 14)
    fast = FastTilePlayer(player, NEVER_DOWNGRADE, 1)
    drops = [fast.play(start, 1, Stop())[1][1] for _ in range(4000)]
    rare = str(int(player.model.spawns.rare))
    assert np.mean([drop.startswith(f"{rare}@") for drop in drops]) == pytest.approx(
        float(player.model.spawns.rare_chance), abs=0.03
    )
    assert len({drop.partition("@")[2] for drop in drops}) >= 14


def test_a_fast_player_that_is_stopped_makes_no_move():
    player, stop = random_player("2048", "classic"), Stop()
    stop.set()
    position = player.game.rules.parse("b 1 1" + " 0" * 14)
    assert FastTilePlayer(player, NEVER_DOWNGRADE, 1).play(position, 9, stop) == (0, [])
