"""`plyd ugi`: transcripts with the session's daemon of Connect Four, and what a manager does wrong."""

import asyncio
import re
import subprocess

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.library.bridges import bridge_engine
from plyd.clients.library.bridges.bridge_engine import BridgeEngine
from plyd.clients.library.connect.locate import ExistingDaemon
from plyd.clients.ugi.bridge import UgiBridge
from plyd.clients.ugi.text import centipawns_of, info_of
from plyd.protocols.ugi import Info, read_info
from plyd.v1 import position_pb2, search_pb2
from tests.patience import LONG, SOON

ONE, TWO = position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO


class Talk:
    """A bridge in this process: `tell` it lines, `hear` its answers."""

    def __init__(self, address, options):
        self._said = asyncio.Queue()
        self.infos = []  # passed over
        self.bridge = UgiBridge(
            BridgeEngine(ExistingDaemon(address), "connect4"), self._said.put_nowait, "connect4", options
        )

    async def tell(self, *lines):
        for line in lines:
            await self.bridge.handle_line(line, asyncio.get_running_loop().time())

    async def hear(self):
        while True:
            line = await asyncio.wait_for(self._said.get(), SOON)
            if not line.startswith("info depth"):
                return line
            self.infos.append(line)

    async def ask(self, *lines):
        await self.tell(*lines)
        return await self.hear()

    async def hear_until(self, last):
        heard = []
        while not heard or heard[-1] != last:
            heard.append(await self.hear())
        return heard


@pytest.fixture
def talking(connect4, monkeypatch):
    """Run a conversation, an async function of a Talk."""
    monkeypatch.setattr(bridge_engine, "WARM_UP_SECONDS", 0.0)

    def run(conversation, address=connect4, **options):
        async def whole():
            talk = Talk(address, options)
            try:
                return await asyncio.wait_for(conversation(talk), 2 * SOON)
            finally:
                await talk.bridge.close()

        return asyncio.run(whole())

    return run


def test_a_manager_plays_a_game(talking):
    async def conversation(talk):
        await talk.tell("ugi")
        introduction = await talk.hear_until("ugiok")
        assert introduction[0].startswith("id name plyd ")
        assert "option name variant type combo default classic var classic" in introduction
        assert "option name playouts type spin default 4 min 1 max 100" in introduction
        assert await talk.ask("setoption name seed value 3", "isready") == "readyok"
        moves, result = [], "response none"
        await talk.tell("uginewgame")
        while result == "response none":
            position = "position fen 5x4" + (f" moves {' '.join(moves)}" if moves else "")
            turn = await talk.ask(position, "query p1turn")
            assert turn == f"response {'false' if len(moves) % 2 else 'true'}"
            word, move = (await talk.ask("go nodes 50")).split()
            assert word == "bestmove"
            moves.append(move)
            assert read_info(talk.infos[-1].removeprefix("info ")).pv[0] == move
            result = await talk.ask(f"position fen 5x4 moves {' '.join(moves)}", "query result")
        assert result in ("response p1win", "response p2win", "response draw")
        assert await talk.ask("query gameover") == "response true"
        assert await talk.ask("go movetime 10") == "bestmove 0000"

    talking(conversation)


def test_a_search_is_stopped_however_early(talking):
    async def conversation(talk):
        for lines in (["go infinite", "stop"], ["go p1time 900000 p2time 900000", "stop"]):
            assert (await talk.ask("position startpos moves 4", *lines)).startswith("bestmove ")
        await talk.tell("go infinite")
        while not talk.infos:
            await asyncio.sleep(0)
            talk.infos += [line for line in [talk._said.get_nowait()] if line] if not talk._said.empty() else []
        await talk.tell("stop")
        assert (await talk.hear()).startswith("bestmove ")

    talking(conversation)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["position 4"], "position needs startpos, or fen and a position"),
        (["setoption name bla value 3"], 'unknown option "bla"; options are method'),
        (["setoption name variant value x"], "unknown variant 'x'; variants are classic"),
        (["query weather"], "unknown query 'weather'; queries are gameover, p1turn and result"),
        (["go movetime now"], "movetime needs a whole number"),
        (["dance"], "unknown command 'dance'; commands are ugi, isready"),
        (["position fen 4x4 moves 9", "query result"], 'move 1: unknown move "9"'),
    ],
)
def test_what_a_manager_does_wrong_is_said(talking, lines, message):
    async def conversation(talk):
        return await talk.ask(*lines), await talk.ask("position startpos", "query result")

    said, later = talking(conversation)
    assert said.startswith(f"info string error: {message}")
    assert later == "response none"


def test_a_search_of_a_bad_position_has_no_move(talking):
    async def conversation(talk):
        return await talk.ask("position fen 4x4 moves 9", "go nodes 5"), await talk.hear()

    said, answer = talking(conversation)
    assert said.startswith('info string error: move 1: unknown move "9"')
    assert answer == "bestmove 0000"


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ({"point_of_view": ONE, "win_probability": 10 / 11}, {"centipawns": 400}),
        ({"point_of_view": TWO, "win_probability": 10 / 11}, {"centipawns": -400}),
        ({"point_of_view": ONE, "win_probability": 1.0}, {"centipawns": 4000}),
        ({"point_of_view": TWO, "proven": {"result": search_pb2.RESULT_LOSS, "plies": 4}}, {"mate": 2}),
        ({"point_of_view": ONE, "proven": {"result": search_pb2.RESULT_LOSS, "plies": 0}}, {"centipawns": -4000}),
        ({"point_of_view": ONE, "proven": {"result": search_pb2.RESULT_WIN}}, {"mate": 999}),
        ({"point_of_view": ONE, "proven": {"result": search_pb2.RESULT_DRAW}}, {"centipawns": 0}),
        ({"point_of_view": ONE, "expected_points": 12.5}, {"points": 12.5}),
        ({"point_of_view": ONE}, {}),
    ],
)
def test_scores_are_those_of_the_side_to_move(score, expected):
    report = search_pb2.Report(score=score, depth=3, nodes=9, elapsed_us=5000, lines=[{"moves": ["4", "3"]}])
    assert info_of(report, ONE) == Info(3, 9, 5, pv=("4", "3"), **expected)


def test_centipawns_have_a_limit():
    assert [centipawns_of(p) for p in (0.0, 1e-300, 0.5, 1 - 1e-16, 1.0)] == [-4000, -4000, 0, 4000, 4000]


def test_help_teaches():
    said = CliRunner().invoke(main, ["ugi", "--help"]).stdout
    for word in ("position startpos moves 4 4", "bestmove 4", "plyd ugi connect4", "--connect ADDRESS"):
        assert word in said
    wrong = CliRunner().invoke(main, ["ugi", "connect4", "--connect", ""])
    assert (wrong.exit_code, "an address is HOST:PORT" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("go", ["go nodes 200", "go infinite"])
def test_all_lines_of_a_pipe_are_answered(plyd, connect4, go):
    done = subprocess.run(
        [*plyd, "ugi", "connect4", "--connect", connect4],
        input=f"isready\nposition startpos moves 4 4\nquery p1turn\n{go}\n",
        capture_output=True,
        text=True,
        timeout=LONG,
        check=True,
    )
    answers = [line for line in done.stdout.splitlines() if not line.startswith("info depth")]
    assert answers[:2] == ["readyok", "response true"]
    assert re.fullmatch("bestmove [1-7]", answers[2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--insecure"], "--insecure goes with --listen"),
        (["--listen", "0.0.0.0:0"], "0.0.0.0"),
        (["--listen", "nowhere"], "HOST:PORT"),
    ],
)
def test_listening_at_a_bad_address_is_refused(arguments, message):
    done = CliRunner().invoke(main, ["ugi", "connect4", "--connect", "127.0.0.1:1", *arguments])
    assert done.exit_code != 0
    assert message in done.output
