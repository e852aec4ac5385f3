"""Play against a model: whatever is said, in whatever order, each command gets one final reply, and it is right."""

import queue
from dataclasses import dataclass, field

import grpc
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from plyd.engines import registry
from plyd.engines.core.errors import BadCommand, BadInput, BadLimit, EngineError, UnknownGame
from plyd.servers.rpc.messages import SIDES
from plyd.servers.rpc.status import status_code
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import OpenDaemon
from tests.servers.fakes import FakeEngine

ANY_ID = st.integers(0, 2**64 - 1)
FEW = st.none() | st.integers(0, 3)


@dataclass
class Model:
    """A game as the rulebook alone has it."""

    engine: object
    variant: str = ""
    positions: list = field(default_factory=list)
    moves: list = field(default_factory=list)
    points: list = field(default_factory=lambda: [0.0])

    @property
    def rules(self):
        return self.engine.variants[self.variant]

    def new_game(self, game, variant, start, moves):
        if game not in ("", self.engine.card.game):
            raise UnknownGame
        if variant and variant not in self.engine.variants:
            raise BadInput
        rules = self.engine.variants[variant or next(iter(self.engine.variants))]
        begun = Model(self.engine, variant or next(iter(self.engine.variants)))
        begun.positions = [rules.parse(start) if start else rules.start()]
        begun.play(moves)
        self.__dict__.update(begun.__dict__)

    def play(self, moves):
        positions, points = [self.positions[-1]], [self.points[-1]]
        for move in moves:
            position, gained, _ = self.rules.play(positions[-1], move)
            positions.append(position)
            points.append(points[-1] + gained)
        self.positions += positions[1:]
        self.points += points[1:]
        self.moves += moves

    def take_back(self, plies):
        if plies > len(self.moves):
            raise BadCommand
        if plies:
            del self.positions[-plies:], self.points[-plies:], self.moves[-plies:]

    def check(self, state):
        position = self.positions[-1]
        legal, to_move = self.rules.legal_moves(position), self.rules.to_move(position)
        assert state.text == self.rules.text(position)
        assert list(state.position.moves) == self.moves
        assert state.position.start == self.rules.text(self.positions[0])
        assert [move.move for move in state.legal_moves] == [move.text for move in legal]
        assert state.to_move == (SIDES[to_move] if to_move else 0)
        assert state.points == self.points[-1]
        assert list(state.board.cells) == list(self.rules.board(position).cells)


class PlayMachine(RuleBasedStateMachine):
    """Commands on one stream; what is expected is known when a command is sent, and checked when its reply is read."""

    daemon: OpenDaemon
    starts: tuple[str, ...]
    words: tuple[str, ...]

    @initialize()
    def begin(self):
        self.model = Model(self.daemon.engine)
        self.sent = queue.Queue()
        self.expected = []  # id, and what checks the final reply to it
        play = self.daemon.caller.channel.stream_stream(
            "/plyd.v1.EngineService/Play", response_deserializer=engine_pb2.PlayResponse.FromString
        )
        self.call = play(iter(self.sent.get, None), timeout=SOON)

    def say(self, number, expect, **command):
        self.expected.append((number, expect))
        self.sent.put(engine_pb2.PlayRequest(id=number, **command).SerializeToString())

    def change(self, number, change, **command):
        """Say a command whose reply is the game as it then stands, or why not."""
        try:
            if not self.model.positions and "new_game" not in command:
                raise BadCommand
            change()
        except EngineError as error:
            self.say(number, self.refusal(error), **command)
            return
        frozen = Model(self.model.engine, self.model.variant, *map(list, self.lists()))
        self.say(number, lambda reply: frozen.check(reply.state), **command)

    def lists(self):
        return self.model.positions, self.model.moves, self.model.points

    @staticmethod
    def refusal(error):
        code = status_code(error).value[0] if type(error) is not BadInput else grpc.StatusCode.INVALID_ARGUMENT.value[0]

        def check(reply):
            assert reply.WhichOneof("reply") == "error", reply
            assert (reply.error.code, bool(reply.error.message)) == (code, True)

        return check

    @rule(number=ANY_ID, data=st.data(), variant=st.booleans(), wrong=st.sampled_from(["", "", "", "chess"]))
    def new_game(self, number, data, variant, wrong):
        name = data.draw(st.sampled_from([*self.daemon.engine.variants, "cruel"])) if variant else ""
        start = data.draw(st.sampled_from([*self.starts, "", "nonsense"]))
        moves = data.draw(st.lists(st.sampled_from(self.words), max_size=2))
        position = {"game": wrong, "variant": name, "start": start, "moves": moves}
        self.change(number, lambda: self.model.new_game(wrong, name, start, moves), new_game={"position": position})

    @rule(number=ANY_ID, data=st.data())
    def moves(self, number, data):
        legal = []
        if self.model.positions:
            legal = [move.text for move in self.model.rules.legal_moves(self.model.positions[-1])]
        some = st.lists(st.sampled_from([*self.words, "nonsense"]), max_size=3)
        moves = data.draw(st.sampled_from(legal).map(lambda move: [move]) | some if legal else some)

        def change():
            if not moves:
                raise BadCommand
            self.model.play(moves)

        self.change(number, change, moves={"moves": moves})

    @rule(number=ANY_ID, plies=FEW)
    def take_back(self, number, plies):
        self.change(number, lambda: self.model.take_back(1 if plies is None else plies), take_back={"plies": plies})

    @rule(number=ANY_ID)
    def stop(self, number):
        self.change(number, lambda: None, stop={})

    @rule(number=ANY_ID)
    def nothing(self, number):
        self.say(number, self.refusal(BadCommand()))

    @rule(number=ANY_ID, nodes=st.none() | st.integers(0, 60), lines=FEW, ponder=st.booleans())
    def go(self, number, nodes, lines, ponder):
        command = {"go": {"limits": {"nodes": nodes}, "max_lines": lines, "ponder": ponder}}
        if not self.model.positions:
            self.say(number, self.refusal(BadCommand()), **command)
        elif nodes == 0 or lines == 0:
            self.say(number, self.refusal(BadLimit()), **command)
        else:
            legal = [move.text for move in self.model.rules.legal_moves(self.model.positions[-1])]

            def check(reply):
                assert reply.report.final
                assert reply.report.move in legal if reply.report.HasField("move") else True
                assert legal or not reply.report.HasField("move")

            self.say(number, check, **command)

    @rule()
    def listen(self):
        """Read what was asked for; a search without limits may go on, so one that is last is told to stop."""
        self.stop(7)
        while self.expected:
            self.read_one()

    @rule()
    def hang_up(self):
        self.call.cancel()
        self.sent.put(None)
        self.begin()

    @rule(data=st.sampled_from([b"\xff\xff\xff", b"\x12\x05\x0a"]))
    def garbage(self, data):
        """Bytes that are no message end the stream; what was said before is answered, but for a search that runs."""
        self.sent.put(data)
        self.sent.put(None)
        with pytest.raises(grpc.RpcError) as error:
            self.read_all()
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert len(self.expected) <= 1
        self.begin()

    def read_all(self):
        while True:
            self.read_one()

    def read_one(self):
        """Read up to the final reply to the oldest command."""
        reply = next(self.call)
        number, check = self.expected[0]
        while reply.WhichOneof("reply") == "report" and not reply.report.final:
            assert reply.id == number
            reply = next(self.call)
        assert reply.id == number
        self.expected.pop(0)
        check(reply)

    def teardown(self):
        """Say no more: every command is still answered, and the stream ends well."""
        if hasattr(self, "call"):
            self.sent.put(None)
            while self.expected:
                self.read_one()
            assert list(self.call) == []
            assert self.call.code() is grpc.StatusCode.OK
            until(self.daemon.is_idle)


@pytest.mark.parametrize(
    ("game", "starts", "words"),
    [
        ("sticks", ("7 one", "3 two", "0 one"), ("1", "2", "3")),
        ("2584-2x3", ("b 2 2 0 0 0 0", "a 1 0 0 0 0 0", "b 1 3 1 3 1 3"), ("left", "up", "1@4", "2@0")),
        ("connect4", ("4x4", "7x6 #4,1", "..../..../..o./.xx."), ("1", "4", "7")),
    ],
)
def test_each_command_gets_one_final_reply_and_the_game_is_as_the_rules_say(house, game, starts, words):
    engine = FakeEngine() if game == "sticks" else registry.load(game)
    with OpenDaemon(house, engine, slots=1) as daemon:
        kind = type("Spoken", (PlayMachine,), {"daemon": daemon, "starts": starts, "words": words})
        run_state_machine_as_test(kind, settings=settings())
