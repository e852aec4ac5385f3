"""Whole games with either client: with history and without, by calls and on a stream, the same game to the same end."""

import pytest

from plyd.clients.library.errors import InvalidRequest
from tests.servers.daemons import OpenDaemon
from tests.servers.fakes import EndlessEngine

LATE = "a 11 9 7 1 2 0"  # 2584 on 2x3, not long before its end; chance begins


@pytest.fixture(scope="module")
def endless(house):
    """The address of a daemon of a game without end."""
    with OpenDaemon(house, EndlessEngine()) as daemon:
        yield daemon.target


def by_calls(client):
    """The end of a game by separate calls, and the moves made."""
    state = client.new_game(LATE, seed=1)
    moves, seed = [*state.chance_moves], 0
    while state.legal_moves:
        report, seed = client.search(state.position), seed + 1
        state = client.apply(state.position, report.move, with_chance=True, seed=seed)
        moves += [report.move, *state.chance_moves]
    return state, moves


def by_stream(client):
    """The end of the same game on a stream, and the moves made: a round trip for the search, one for the move."""
    state = client.new_game(LATE, seed=1)
    moves, seed = [*state.chance_moves], 0
    with client.play(state.position) as game:
        while game.state.legal_moves:
            report, seed = game.best(), seed + 1
            game.moves(report.move, with_chance=True, seed=seed)
            moves += [report.move, *game.state.chance_moves]
        return game.state, moves


def in_one(client):
    """The end of the same game on a stream, and the moves made: one round trip for all of it."""
    state = client.new_game(LATE, seed=1)
    moves, seed = [*state.chance_moves], 0
    with client.play(state.position) as game:
        report = game.best()
        while report.move:
            move, seed = report.move, seed + 1
            report = game.best(move, with_chance=True, seed=seed)
            moves += [move, *game.state.chance_moves]
        return game.state, moves


def test_a_game_ends_the_same_with_history_and_without_by_calls_and_on_a_stream(connect, daemon):
    whole, _ = by_calls(connect(daemon))
    assert whole.plies == len(whole.position.moves) > 10
    for play in (by_calls, by_stream, in_one):
        state, moves = play(connect(daemon, history=False))
        assert moves == list(whole.position.moves)
        assert (state.text, state.points, state.plies) == (whole.text, whole.points, whole.plies)
        assert (state.position.start, list(state.position.moves)) == (state.text, [])
        state.position.CopyFrom(whole.position.message)
        state.ClearField("chance_moves")
        assert state == whole
    for play in (by_stream, in_one):
        state, _ = play(connect(daemon))
        assert state == whole


def test_20000_moves_are_played_by_calls_and_on_a_stream(connect, endless):
    client = connect(endless, history=False)
    state = client.inspect("b 1 1")
    for _ in range(20):
        state = client.apply(state.position, *["left", "1@1"] * 500)
    assert (state.plies, state.points, len(state.position.moves)) == (20_000, 20_000, 0)
    with client.play(state.position) as game:
        for _ in range(20):
            game.moves(*["left", "1@1"] * 500)
        assert (game.state.plies, game.state.points, len(game.state.position.moves)) == (40_000, 40_000, 0)
        assert game.moves("left", with_chance=True).chance_moves == ["1@1"]
        assert game.take_back(1024).plies == 38_978


def test_the_state_after_a_move_is_known_before_the_search_ends(connect, daemon):
    with connect(daemon).play("b 2 1 0 0 0 0") as game:
        [report] = game.go("left", with_chance=True, seed=7)
        assert report.final
        assert game.state.text == "b 3 0 1 0 0 0"
        assert game.state.plies == 2


def test_moves_of_another_type_are_refused_before_they_are_sent(connect, daemon):
    with connect(daemon).play("b 2 1 0 0 0 0") as game:
        with pytest.raises(TypeError, match=r"move \['left'\] is not a text"):
            game.best(["left"])
        assert game.state.text == "b 2 1 0 0 0 0"


# --- Games that the engine plays on by itself -------------------------------------------------------------------------


def test_an_engine_plays_on_by_itself_and_tells_every_move(connect, daemon):
    client = connect(daemon, history=False)
    with client.play(LATE) as game:
        told = list(game.play_on(seed=3))
        assert [played.final for played in told] == [False] * (len(told) - 1) + [True]
        assert told[-1].state == game.state
        assert not game.state.legal_moves
        moves = [move for played in told for move in played.moves]
        assert (game.state.plies, told[-1].count) == (len(moves), sum("@" not in move for move in moves))
        again = client.apply(client.inspect(LATE).position, *moves)
        assert (again.text, again.points) == (game.state.text, game.state.points)
    with client.play(LATE) as game:
        assert [move for played in game.play_on(seed=3) for move in played.moves] == moves


def test_playing_on_takes_a_number_of_moves_and_limits(connect, daemon):
    with connect(daemon).play(LATE) as game:
        [played] = game.play_on(2, seed=3, interval_seconds=1, depth=1)
        assert (played.count, len(played.moves)) == (2, 5), "chance was to move first"
        with pytest.raises(TypeError, match="unknown argument 'lines'"):
            list(game.play_on(2, lines=3))
        with pytest.raises(InvalidRequest, match="moves is 0; allowed is 1 to 1000000"):
            list(game.play_on(0))
        assert game.moves(game.best().move).plies == 6, "the game goes on"


def test_playing_on_is_stopped_in_the_middle(connect, endless):
    with connect(endless, history=False).play("b 1 1") as game:
        told = game.play_on(1_000_000, interval_seconds=0.01)
        first = next(told)
        assert not first.final
        game.stop()
        *_, last = told
        assert last.final
        assert last.count < 1_000_000
        assert game.state.plies == 2 * last.count
        assert game.moves("left").plies == 2 * last.count + 1
