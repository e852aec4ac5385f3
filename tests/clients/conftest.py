"""Real daemons for the clients to talk to, and the cases that the blocking and the asyncio client share."""

import select
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status

from plyd.clients.library import errors
from plyd.engines import registry
from plyd.v1 import engine_pb2, engine_pb2_grpc, position_pb2, search_pb2
from tests.patience import LONG, SOON
from tests.ports import free_place
from tests.servers.daemons import House, OpenDaemon

GAME = "2584-2x3"
PLYD = [sys.executable, "-m", "plyd.clients"]

EXAMPLES = {  # FACTS.md, "2584 on 2x3"
    "b 2 2 0 0 0 0": "1422.339261",
    "b 0 0 0 0 4 2": "1412.897933",
    "a 0 0 0 0 4 2": "1412.893618",
    "b 7 12 4 10 4 2": "0",
    "a 5 1 6 0 12 0": "316.0030443",
    "a 0 0 0 0 0 0": "-1",
    "b 1 1 1 1 1 1": "-1",
    "a 24 4 18 3 0 0": "-1",
    "a 1 0 0 0 0 0": "-1",
}
START_VALUE = 1425.817561


class Daemon:
    """A daemon process that can be killed, and started again on the same port."""

    def __init__(self, *options, game=GAME):
        self.game = game
        self.options = options
        self.address = free_place()
        self.launch()
        self.wait()

    def launch(self):
        """Begin to start: it listens some time later, and is ready later still."""
        command = [*PLYD, "serve", self.game, "--listen", self.address, "--log-level", "error", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.is_ready = False

    def wait(self):
        """Wait until it says that it serves."""
        if not self.is_ready:
            assert select.select([self.process.stdout], [], [], LONG)[0], "the daemon does not start"
            line = self.process.stdout.readline().decode()
            assert line.startswith(f"serving {self.game} on "), line
            self.address = line.split()[-1]
            self.is_ready = True

    def kill(self):
        """End it as kill -9 does."""
        self.process.kill()
        self.close()

    def close(self):
        """End it in good order, if it still runs."""
        self.process.terminate()
        self.process.wait(SOON)
        self.process.stdout.close()


@pytest.fixture(scope="session")
def house():
    """The event loop of the daemons within this process."""
    house = House()
    yield house
    house.close()


@pytest.fixture(scope="session")
def solver():
    """The engine of 2584 on 2x3."""
    return registry.load(GAME)


@pytest.fixture(scope="session")
def daemon(house, solver):
    """The address of a daemon within this process, for the whole run; leave it as you found it."""
    with OpenDaemon(house, solver, slots=2, queue_size=64) as daemon:
        yield daemon.target


@pytest.fixture(scope="session")
def socket_path(house, solver, tmp_path_factory):
    """The path of a Unix socket where such a daemon listens."""
    path = tmp_path_factory.mktemp("socket") / "plyd.sock"
    with OpenDaemon(house, solver, slots=2, listen=f"unix:{path}"):
        yield path


@pytest.fixture(scope="session")
def connect4():
    """The address of a daemon of Connect Four for the whole run."""
    daemon = Daemon(game="connect4")
    yield daemon.address
    daemon.close()


@pytest.fixture(scope="session")
def gomoku():
    """The address of a daemon of Gomoku for the whole run."""
    daemon = Daemon(game="gomoku")
    yield daemon.address
    daemon.close()


@pytest.fixture(scope="session")
def spare_gomoku():
    """A daemon of Gomoku to be killed, stopped and started again."""
    daemon = Daemon(game="gomoku")
    yield daemon
    daemon.close()


@pytest.fixture(scope="session")
def narrow_daemon(house, solver):
    """The address of a daemon that takes one search and one game at a time, and lets nobody wait."""
    with OpenDaemon(house, solver, slots=1, queue_size=0, max_sessions=1) as daemon:
        yield daemon.target


@pytest.fixture(scope="session")
def spare_daemon():
    """A daemon that tests kill one after another."""
    daemon = Daemon()
    yield daemon
    daemon.close()


@pytest.fixture
def own_daemon(spare_daemon):
    """A daemon to be killed and started again; it comes back to life while other tests run."""
    spare_daemon.wait()
    yield spare_daemon
    if spare_daemon.process.poll() is not None:
        spare_daemon.launch()


@pytest.fixture(scope="session")
def nowhere():
    """An address where nobody answers."""
    return "127.0.0.1:1"


@pytest.fixture(scope="session")
def plyd():
    """The command line of plyd, to which arguments are added."""
    return PLYD


@pytest.fixture(scope="session")
def examples():
    """Known positions and the text of their values."""
    return EXAMPLES


@pytest.fixture(scope="session")
def boards():
    """Twenty thousand queries, no two alike, some of which cannot occur."""
    lines = [
        f"{letter} {a} {b} {c} {d} {e} 0"
        for e in range(10)
        for d in range(10)
        for c in range(10)
        for b in range(5)
        for a in range(2)
        for letter in "ba"
    ]
    assert len(lines) == len(set(lines)) == 20_000
    return lines


def exact(value):
    """A value as the daemon computes it, for one that FACTS.md gives with ten digits."""
    return pytest.approx(value, rel=1e-9)


PLAYER, CHANCE, NOBODY = (
    position_pb2.SIDE_PLAYER_ONE,
    position_pb2.SIDE_ENVIRONMENT,
    position_pb2.SIDE_UNSPECIFIED,
)
LOOK_AHEAD = {"method": "expectimax"}
AFTER_LEFT = position_pb2.Position(game=GAME, start="b 2 1 0 0 0 0", moves=["left"])

ANSWERS = [  # method, arguments, keywords, what the answer holds
    ("search", ["b 2 2 0 0 0 0"], {}, {"move": "right", "score.expected_points": exact(1422.339261)}),
    ("search", ["b 2 2 0 0 0 0"], {}, {"final": True, "score.exact": True, "score.point_of_view": PLAYER}),
    ("search", ["b 2 2 0 0 0 0"], {}, {"stop_reason": search_pb2.STOP_REASON_FINISHED, "nodes": 2}),
    ("search", [], {}, {"move": "", "score.expected_points": exact(START_VALUE)}),
    ("search", ["b 0 0 0 0 4 2", ["left"]], {}, {"move": "", "score.expected_points": exact(1412.897933)}),
    ("search", ["b 1 1 1 1 1 1"], {}, {"move": "", "stop_reason": search_pb2.STOP_REASON_NO_SEARCH}),
    ("search", ["b 7 12 4 10 4 2"], {}, {"score.expected_points": 0, "score.exact": True, "nodes": 0}),
    ("search", ["a 5 1 6 0 12 0"], {"lines": 3}, {"lines.__len__": 3, "score.expected_points": exact(316.0030443)}),
    (
        "search",
        ["b 2 2 0 0 0 0"],
        {"nodes": 1000, "options": LOOK_AHEAD},
        {"nodes": 1000, "stop_reason": search_pb2.STOP_REASON_NODES, "score.exact": False},
    ),
    (
        "search",
        ["b 2 2 0 0 0 0"],
        {"depth": 3, "options": LOOK_AHEAD},
        {"depth": 3, "stop_reason": search_pb2.STOP_REASON_DEPTH},
    ),
    (
        "search",
        ["b 2 2 0 0 0 0"],
        {"seconds": 0.05, "options": LOOK_AHEAD},
        {"final": True, "stop_reason": search_pb2.STOP_REASON_TIME},
    ),
    (
        "search",
        ["b 2 2 0 0 0 0"],
        {"remaining_seconds": 0.5, "increment_seconds": 0.05, "options": LOOK_AHEAD},
        {"final": True, "stop_reason": search_pb2.STOP_REASON_TIME},
    ),
    ("evaluate", [list(EXAMPLES)[:5]], {}, {"values": [exact(float(value)) for value in list(EXAMPLES.values())[:5]]}),
    ("evaluate", [["b 2 2 0 0 0 0", "a 0 0 0 0 4 2"]], {"with_moves": True}, {"moves": ["right", ""]}),
    ("evaluate", [["b 2 2 0 0 0 0"]], {}, {"moves": [], "text": b"", "errors": []}),
    ("evaluate", [[]], {}, {"values": []}),
    ("evaluate", [["a 1 0 0 0 0 0", "c"]], {}, {"values": pytest.approx([float("nan")] * 2, nan_ok=True)}),
    ("new_game", ["b 2 2 0 0 0 0"], {}, {"text": "b 2 2 0 0 0 0", "position.moves": [], "to_move": PLAYER}),
    ("new_game", [], {"seed": 7}, {"position.start": "a 0 0 0 0 0 0", "position.moves.__len__": 2, "to_move": PLAYER}),
    ("inspect", [], {}, {"text": "a 0 0 0 0 0 0", "to_move": CHANCE, "legal_moves.__len__": 12}),
    ("inspect", ["b 2 1 0 0 0 0", ["left", "1@5"]], {}, {"text": "b 3 0 0 0 0 1", "points": 3, "to_move": PLAYER}),
    ("inspect", [AFTER_LEFT, ["2@5"]], {}, {"text": "b 3 0 0 0 0 2", "position.moves": ["left", "2@5"]}),
    ("inspect", ["b 7 12 4 10 4 2"], {}, {"outcome": position_pb2.OUTCOME_ENDED, "to_move": NOBODY}),
    ("inspect", ["a 5 1 6 0 12 0"], {}, {"picture": "  8   1  13\n  . 233   .", "board.columns": 3}),
    ("apply", ["b 2 1 0 0 0 0", "left"], {}, {"text": "a 3 0 0 0 0 0", "points": 3, "to_move": CHANCE}),
    ("apply", ["b 2 1 0 0 0 0", "left", "1@5"], {}, {"text": "b 3 0 0 0 0 1", "position.start": "b 2 1 0 0 0 0"}),
    ("apply", [AFTER_LEFT, "1@5"], {}, {"text": "b 3 0 0 0 0 1", "position.moves": ["left", "1@5"]}),
    ("apply", [AFTER_LEFT], {"with_chance": True, "seed": 7}, {"position.moves.__len__": 2, "to_move": PLAYER}),
    ("describe", [], {}, {"engines.__len__": 1, "daemon.max_batch_bytes": 1 << 19}),
    ("describe", [], {"timeout": 5}, {"daemon.queue_size": 64}),
]

REFUSALS = [  # method, arguments, keywords, error, its field, part of its message
    ("search", ["c 2 2 0 0 0 0"], {}, errors.InvalidRequest, "position.start", 'unknown letter "c"'),
    ("search", ["b 2 2 0 0 0 0", ["up"]], {}, errors.InvalidRequest, "position.moves", 'illegal move "up"'),
    ("search", [], {"nodes": 0}, errors.InvalidRequest, "limits", "limits.nodes is 0; allowed is 1 or more"),
    ("search", [], {"lines": 1001}, errors.InvalidRequest, "", "max_lines is 1001; allowed is 1 to 1000"),
    ("search", [], {"options": {"hash": "1"}}, errors.InvalidRequest, "options", 'unknown option "hash"'),
    ("search", [position_pb2.Position(game="go")], {}, errors.UnknownGame, "position.game", "served here: 2584-2x3"),
    ("inspect", ["b 2 2"], {}, errors.InvalidRequest, "position.start", '2 numbers in "b 2 2"'),
    ("apply", ["b 2 2 0 0 0 0", "right", "right"], {}, errors.InvalidRequest, "", "move 2: illegal move"),
    ("new_game", ["x"], {}, errors.InvalidRequest, "", "expected b or a and 6 numbers from 0 to 33"),
    ("evaluate", [["b" * 600_000]], {}, errors.InvalidRequest, "lines", "at most 524288 are allowed"),
    ("evaluate", [["b" * (5 << 20)]], {}, errors.InvalidRequest, "", "message larger than max"),
]


def check_answer(answer, expected):
    """Assert that the answer holds what is expected of it, by the paths of its fields."""
    for path, value in expected.items():
        found = attrgetter(path)(answer)
        assert (found() if callable(found) else found) == value, f"{path} of {answer}"


@pytest.fixture(params=ANSWERS, ids=lambda case: f"{case[0]}-{ANSWERS.index(case)}")
def answer_case(request):
    """A call that is answered: method, arguments, keywords, and a function that checks the answer."""
    method, arguments, keywords, expected = request.param
    return method, arguments, keywords, lambda answer: check_answer(answer, expected)


@pytest.fixture(params=REFUSALS, ids=lambda case: f"{case[0]}-{REFUSALS.index(case)}")
def refusal_case(request):
    """A call that is refused: method, arguments, keywords, and a function that checks the error."""
    method, arguments, keywords, kind, field, message = request.param

    def check(error):
        assert type(error) is kind
        assert field in error.field
        assert message in str(error)

    return method, arguments, keywords, check


class Faulty(engine_pb2_grpc.EngineServiceServicer):
    """Fails Describe with the status that the request's game names, and never answers to SILENCE.

    Search answers with the time that its caller would wait.
    """

    def Describe(self, request, context):  # noqa: N802
        if request.game == "SILENCE":
            gone = threading.Event()
            context.add_callback(gone.set)
            gone.wait(LONG)
            return engine_pb2.DescribeResponse()
        context.set_trailing_metadata(FAULT_DETAILS.get(request.game, ()))
        return context.abort(grpc.StatusCode[request.game], f"so it is: {request.game}")

    def Search(self, request, context):  # noqa: N802
        report = search_pb2.Report(elapsed_us=round(context.time_remaining() * 1e6), final=True)
        return engine_pb2.SearchResponse(report=report)


def details(*found):
    """Trailing metadata with rich details."""
    status = Status()
    for detail in found:
        status.details.add().Pack(detail)
    return ((errors.DETAILS_KEY, status.SerializeToString()),)


VIOLATION = BadRequest.FieldViolation(field="position.start", description="unreadable")
FAULT_DETAILS = {
    "INVALID_ARGUMENT": details(BadRequest(field_violations=[VIOLATION])),
    "RESOURCE_EXHAUSTED": details(RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000))),
    "INTERNAL": details(Duration(seconds=1)),  # of a kind that means nothing to the client
}


@pytest.fixture(scope="session")
def faulty():
    """The address of a server that fails with the status one asks for."""
    server = grpc.server(ThreadPoolExecutor(4))
    engine_pb2_grpc.add_EngineServiceServicer_to_server(Faulty(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


FAULTS = {  # what a status means to a caller
    "CANCELLED": errors.Cancelled,
    "UNKNOWN": errors.DaemonFault,
    "INVALID_ARGUMENT": errors.InvalidRequest,
    "DEADLINE_EXCEEDED": errors.TimedOut,
    "NOT_FOUND": errors.UnknownGame,
    "ALREADY_EXISTS": errors.DaemonFault,
    "PERMISSION_DENIED": errors.DaemonFault,
    "UNAUTHENTICATED": errors.NotAllowed,
    "RESOURCE_EXHAUSTED": errors.Overloaded,
    "FAILED_PRECONDITION": errors.InvalidRequest,
    "ABORTED": errors.ProgramFailed,
    "UNIMPLEMENTED": errors.NotSupported,
    "INTERNAL": errors.DaemonFault,
    "UNAVAILABLE": errors.Unavailable,
    "DATA_LOSS": errors.DaemonFault,
    "OUT_OF_RANGE": errors.InvalidRequest,
}


@pytest.fixture(scope="session")
def faults():
    """The error that each status means."""
    return FAULTS


@pytest.fixture(params=FAULTS)
def fault_case(request):
    """A status, and a function that checks the error it became."""
    status = request.param

    def check(error, target):
        assert type(error) is FAULTS[status]
        if status == "DEADLINE_EXCEEDED":
            assert str(error) == f"no answer from {target} in time"
        else:
            assert f"so it is: {status}" in str(error)
        if type(error) in (errors.Unavailable, errors.DaemonFault):
            assert target in str(error)
        assert error.field == ("position.start" if status == "INVALID_ARGUMENT" else "")
        assert error.retry_seconds == (1.5 if status == "RESOURCE_EXHAUSTED" else 0)

    return status, check
