"""Kaggle's ConnectX: whole games of the agent, with and without Kaggle's own environment."""

import subprocess
import sys
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from plyd.clients.hosts.kaggle import connectx
from plyd.clients.library.client import EngineClient, Game
from plyd.clients.library.errors import UnknownGame
from plyd.v1 import position_pb2
from tests.patience import LONG, SOON

ACT_SECONDS = 0.4


def configuration(rows=6, columns=7, inarow=4, actTimeout=ACT_SECONDS):  # noqa: N803
    return SimpleNamespace(rows=rows, columns=columns, inarow=inarow, actTimeout=actTimeout)


def observation(board, mark, overage=60.0):
    return SimpleNamespace(board=list(board), mark=mark, remainingOverageTime=overage)


def drop(board, columns, column, mark):
    """Put a stone where it rests."""
    cell = max(cell for cell in range(column, len(board), columns) if not board[cell])
    board[cell] = mark


@pytest.fixture
def agent(connect4, monkeypatch):
    """The agent, at a table of its own, with a daemon that runs."""
    monkeypatch.setenv("PLYD_CONNECT4", connect4)
    monkeypatch.setattr(connectx, "SESSION", connectx.KaggleSession())
    return connectx.agent


@pytest.fixture
def streams(monkeypatch):
    """Every Play stream that is opened."""
    opened, plain = [], Game.__init__

    def counted(self, *arguments):
        opened.append(self)
        plain(self, *arguments)

    monkeypatch.setattr(Game, "__init__", counted)
    return opened


def play_out(agent, client, setup, mark, random):
    """One game against somebody who plays at random; the outcome."""
    board, turn = [0] * (setup.rows * setup.columns), 1
    while True:
        state = client.inspect(connectx.position_text(board, setup.columns))
        if state.outcome != position_pb2.OUTCOME_ONGOING:
            return state.outcome
        legal = [int(move.move) - 1 for move in state.legal_moves]
        column = agent(observation(board, mark), setup) if turn == mark else random.choice(legal)
        assert column in legal
        drop(board, setup.columns, column, turn)
        turn = 3 - turn


@pytest.mark.parametrize("mark", [1, 2])
@pytest.mark.parametrize(("rows", "columns"), [(6, 7), (4, 4), (9, 5)])
def test_whole_games_on_one_stream_each(agent, streams, connect4, mark, rows, columns):
    random = Random(rows + mark)
    with EngineClient(connect4, "connect4") as client:
        for games in (1, 2):
            play_out(agent, client, configuration(rows, columns), mark, random)
            assert len(streams) == games


def test_a_board_that_does_not_follow_begins_a_new_game(agent, streams):
    setup, board = configuration(), [0] * 42
    agent(observation(board, 1), setup)
    drop(board, 7, 3, 1)
    drop(board, 7, 3, 2)
    agent(observation(board, 1), setup)
    assert len(streams) == 1
    for column, mark in ((0, 1), (1, 2), (0, 1), (1, 2)):
        drop(board, 7, column, mark)
    agent(observation(board, 1), setup)
    assert len(streams) == 2
    agent(observation([0] * 64, 1), configuration(8, 8))
    assert len(streams) == 3


E = [0] * 4
FOLLOWING = [  # two boards of 4x4, whose mark, the moves between them
    (E * 4, E * 3 + [1, 2, 0, 0], 1, ["1", "2"]),
    (E * 4, E * 3 + [1, 2, 0, 0], 2, ["2", "1"]),
    (E * 4, E * 2 + [0, 2, 0, 0] + [0, 1, 0, 0], 1, ["2", "2"]),
    (E * 4, E * 2 + [0, 2, 0, 0] + [0, 1, 0, 0], 2, None),  # ours would have been in the air
    (E * 3 + [1, 0, 0, 0], E * 3 + [1, 0, 0, 0], 1, None),
    (E * 3 + [1, 0, 0, 0], E * 3 + [2, 1, 0, 0], 1, None),
    (E * 4, E * 3 + [1, 1, 0, 0], 1, None),
    (E * 4, E * 3 + [1, 0, 0, 0], 1, None),
    (E * 4, E * 5, 1, None),
    ((), E * 4, 1, None),
]


@pytest.mark.parametrize(("before", "after", "mark", "moves"), FOLLOWING)
def test_moves_between_boards(before, after, mark, moves):
    assert connectx.moves_between(before, after, mark, 4) == moves


def test_the_rows_come_from_the_top():
    assert connectx.position_text(E * 2 + [0, 2, 0, 0] + [0, 1, 0, 0], 4) == "..../..../.o../.x.."


def test_time_to_think():
    assert connectx.thinking_seconds(configuration(actTimeout=2), 0.0) == pytest.approx(1.7)
    assert connectx.thinking_seconds(configuration(actTimeout=10), 1.0) == pytest.approx(7.5)
    assert connectx.thinking_seconds(configuration(actTimeout=2), 9.0) == connectx.LEAST_SECONDS


def test_it_answers_in_time(agent):
    agent(observation([0] * 42, 1), configuration())
    began = time.monotonic()
    agent(observation([0] * 42, 1), configuration(actTimeout=1))
    assert time.monotonic() - began < SOON


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"inarow": 5}, "inarow is 5; plyd plays 4 in a row only"),
        ({"rows": 3}, "rows is 3; allowed is 4 to 16"),
        ({"columns": 17}, "columns is 17; allowed is 4 to 16"),
    ],
)
def test_a_game_that_plyd_does_not_play(agent, wrong, message):
    with pytest.raises(ValueError, match=message):
        agent(observation([0] * 42, 1), configuration(**wrong))


def test_a_daemon_of_another_game_is_an_error(agent, daemon, monkeypatch):
    monkeypatch.setenv("PLYD_CONNECT4", daemon)
    with pytest.raises(UnknownGame, match="connect4"):
        agent(observation([0] * 42, 1), configuration())


def test_a_private_daemon_if_nobody_is_there(agent, nowhere, monkeypatch, capsys):
    monkeypatch.setenv("PLYD_CONNECT4", nowhere)
    for _ in range(2):
        assert agent(observation([0] * 42, 1), configuration()) in range(7)
    assert capsys.readouterr().err.count(f"{nowhere} is unavailable") == 1
    assert connectx.SESSION.client().settings.target.startswith("unix:")
    connectx.SESSION._stack.close()


def test_a_game_that_breaks_off_costs_no_more_than_strength(agent, streams, monkeypatch, capsys):
    def hang_up(game, **_):
        game.close()
        return game.moves("1")

    monkeypatch.setattr(Game, "best", hang_up)
    board = [0, 0, 0, 1, 0, 0, 0] + [0, 0, 0, 2, 0, 0, 0] + [0] * 28
    assert agent(observation(board, 1), configuration()) == 2
    assert "; playing without the engine\n" in capsys.readouterr().err


def test_a_daemon_that_hangs_is_left(agent, monkeypatch, capsys):
    def wait(game, **_):
        return game._reply(1 << 40)

    monkeypatch.setattr(Game, "best", wait)
    began = time.monotonic()
    assert agent(observation([0] * 42, 1, overage=0.2), configuration()) == 3
    assert time.monotonic() - began < SOON
    assert "playing without the engine" in capsys.readouterr().err


def test_the_agent_is_the_last_callable_of_a_file_without_a_name():
    found = {}
    exec(compile(Path(connectx.__file__).read_text(), "<string>", "exec"), found)
    assert [name for name, value in found.items() if callable(value)][-1] == "agent"


GAMES = """
import sys
from kaggle_environments import make
for players in ([sys.argv[1], "random"], ["negamax", sys.argv[1]], [sys.argv[1], sys.argv[1]]):
    game = make("connectx", configuration={"actTimeout": 1}, debug=False)
    steps = game.run(players)
    print(len(steps) - 1, *(state.status for state in steps[-1]), *(state.reward for state in steps[-1]))
"""


@pytest.mark.kaggle
def test_games_in_kaggles_own_environment(connect4, monkeypatch):
    pytest.importorskip("kaggle_environments")
    monkeypatch.setenv("PLYD_CONNECT4", connect4)
    command = [sys.executable, "-c", GAMES, connectx.__file__]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr
    games = [line.split() for line in done.stdout.splitlines() if line.endswith(("1", "0"))][-3:]
    assert len(games) == 3
    for moves, *statuses, first, second in games:
        assert 7 <= int(moves) <= 42
        assert statuses == ["DONE", "DONE"]
        assert int(first) == -int(second)
