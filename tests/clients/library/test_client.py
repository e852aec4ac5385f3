"""EngineClient and AsyncEngineClient against real daemons: every claim of both. test_aio.py has what asyncio adds."""

import contextlib
import inspect
import itertools
import math
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from plyd.clients import AsyncEngineClient, AsyncGame, EngineClient, Game
from plyd.clients.library.errors import Cancelled, InvalidRequest, Overloaded, PlydError, TimedOut, Unavailable
from plyd.v1 import position_pb2, search_pb2
from tests.clients.library.blocking import threaded_source
from tests.clients.library.relay import Relay
from tests.patience import LONG, SOON, until

OPENING = "b 2 2 0 0 0 0"
AHEAD = {"method": "expectimax"}  # a search that ends only at a limit
PATIENT = {"retry_seconds": SOON}


@pytest.fixture
def source(connect, request):
    """Makes a source of batches that blocks one that either client can read."""
    return threaded_source if request.node.callspec.params["connect"] == "asyncio" else iter


@pytest.fixture
def client(connect, daemon):
    return connect(daemon)


@pytest.fixture
def narrow(connect, narrow_daemon):
    return connect(narrow_daemon)


@pytest.fixture
def relay(daemon):
    """A relay to a daemon: what a client loses when a daemon dies, it loses when the relay is cut."""
    with Relay(daemon) as relay:
        yield relay


@pytest.mark.parametrize(("one", "other"), [(EngineClient, AsyncEngineClient), (Game, AsyncGame)])
def test_both_clients_have_the_same_methods(one, other):
    def methods(kind):
        return {
            name: [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]
            for name, method in vars(kind).items()
            if inspect.isfunction(method) and not name.startswith("_")
        }

    assert methods(one) == methods(other)
    assert len(methods(one)) > 5


def test_answer(client, answer_case):
    method, arguments, keywords, check = answer_case
    check(getattr(client, method)(*arguments, **keywords))


def test_refusal(client, refusal_case):
    method, arguments, keywords, check = refusal_case
    with pytest.raises(PlydError) as caught:
        getattr(client, method)(*arguments, **keywords)
    check(caught.value)


def test_fault(connect, faulty, fault_case):
    status, check = fault_case
    with pytest.raises(PlydError) as caught:
        connect(faulty, status, retry_seconds=0).describe()
    check(caught.value, faulty)


def test_unix_socket(connect, socket_path):
    assert connect(f"unix:{socket_path}").search(OPENING).move == "right"


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"moves": "right"}, TypeError, "moves is the text 'right'; give a list of moves"),
        ({"moves": [["right"]]}, TypeError, "move ['right'] is not a text"),
        ({"secs": 1}, TypeError, "unknown argument 'secs'; known are depth, "),
        ({"increment_seconds": 1.0}, TypeError, "belong to a clock; give remaining_seconds too"),
        ({"moves_to_go": 5}, TypeError, "belong to a clock; give remaining_seconds too"),
        ({"seconds": -1}, InvalidRequest, "seconds is -1; allowed is 0 to 4000000"),
        ({"seconds": float("nan")}, InvalidRequest, "seconds is nan; allowed is 0 to 4000000"),
        ({"remaining_seconds": 1e9}, InvalidRequest, "remaining_seconds is 1000000000.0; allowed is"),
    ],
)
def test_invalid_arguments_are_named(client, asked, error, message):
    with pytest.raises(error, match=re.escape(message)):
        client.search(OPENING, **asked)


@pytest.mark.parametrize("moves", [[], ["right"]])
def test_a_list_where_moves_are_separate_arguments_is_named(client, moves):
    message = re.escape(
        f"move {moves!r} is not a text; moves are texts such as 'left' or legal_moves[0].move, passed one by one"
    )
    with pytest.raises(TypeError, match=message):
        client.apply(OPENING, moves)
    with client.play(OPENING) as game, pytest.raises(TypeError, match=message):
        game.moves(moves)


# Timeouts and waiting


def test_answer_that_does_not_come_in_time(connect, faulty):
    with pytest.raises(TimedOut, match=faulty):
        connect(faulty, "SILENCE", timeout=0.1).describe()


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_timeout_of_one_call(connect, faulty, seconds):
    with pytest.raises(TimedOut):
        connect(faulty, "SILENCE", timeout=LONG).describe(timeout=seconds)


def test_search_may_take_longer_than_the_timeout(connect, faulty):
    waits = connect(faulty, timeout=SOON).search(OPENING, seconds=LONG).elapsed_us / 1e6
    assert LONG < waits < LONG + SOON + 10  # gRPC rounds a timeout up, a long one to seconds


def test_nobody_answers(connect, nowhere):
    client = connect(nowhere, retry_seconds=0.05)
    with pytest.raises(Unavailable, match=f"{nowhere} is unavailable: "):
        client.describe()
    with pytest.raises(Unavailable, match=nowhere):
        next(client.analyze(OPENING))
    with pytest.raises(Unavailable, match=nowhere):
        list(client.evaluate_batches([b"b 2 2 0 0 0 0"]))
    with pytest.raises(Unavailable, match=nowhere):
        client.play(OPENING)


@pytest.mark.parametrize(
    "call", [lambda client: client.describe(), lambda client: client.play(), lambda client: client.evaluate([OPENING])]
)
def test_closing_ends_the_wait_for_a_daemon(connect, nowhere, call):
    client = connect(nowhere, retry_seconds=LONG)
    threading.Timer(0.2, client.close).start()
    with pytest.raises(Cancelled, match="the client was closed"):
        call(client)


def test_an_unreachable_daemon_is_waited_for_as_long_as_asked(connect, nowhere):
    began = time.monotonic()
    with pytest.raises(Unavailable):
        connect(nowhere, retry_seconds=0.5).describe()
    assert time.monotonic() - began > 0.45


def test_ready_on_a_daemon_that_is(client):
    client.wait_until_ready(timeout=SOON)


def test_never_ready_where_nobody_is(connect, nowhere):
    with pytest.raises(Unavailable, match=f"{nowhere} is not ready after 0.1 s"):
        connect(nowhere).wait_until_ready(timeout=0.1)


def test_line_to_a_distant_daemon_is_given_time(connect, daemon):
    with Relay(daemon, delay_seconds=0.1) as relay:
        assert connect(relay.address).search(OPENING).move == "right"
        assert relay.connections == 1


# Analyze


def test_last_report_and_only_the_last_is_final(client):
    reports = list(client.analyze(OPENING, depth=4, options=AHEAD))
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    assert len(reports) > 1
    assert reports[-1].depth == 4
    assert reports[-1].stop_reason == search_pb2.STOP_REASON_DEPTH


def test_analysis_of_what_is_solved_is_one_report(client):
    [report] = client.analyze(OPENING, lines=2)
    assert report.final
    assert len(report.lines) == 2


def test_analysis_refused(client):
    with pytest.raises(InvalidRequest, match="illegal move"):
        list(client.analyze(OPENING, ["up"]))


def test_daemon_answers_before_the_timeout(client):
    def last_of(reports):
        with contextlib.suppress(TimedOut):  # on a machine with no milliseconds to spare; then try again
            return list(reports())[-1]

    for reports in (
        lambda: [client.search(OPENING, timeout=0.4, options=AHEAD)],
        lambda: client.analyze(OPENING, timeout=0.4, options=AHEAD),
    ):
        last = until(lambda reports=reports: last_of(reports))
        assert last.final
        assert last.stop_reason == search_pb2.STOP_REASON_TIME


def test_a_clock_reaches_the_daemon(client):
    report = client.search(OPENING, remaining_seconds=1.0, increment_seconds=0.0, moves_to_go=10, options=AHEAD)
    assert report.stop_reason == search_pb2.STOP_REASON_TIME
    assert report.elapsed_us > 10_000


def test_closing_an_analysis_frees_its_slot(narrow):
    reports = until(lambda: analyze_if_free(narrow))
    with pytest.raises(Overloaded, match="all 1 slots are taken and 0 requests wait") as caught:
        narrow.search(OPENING, options=AHEAD)
    assert caught.value.retry_seconds > 0
    reports.close()
    assert until(lambda: search_if_free(narrow)) in ("right", "down")


def analyze_if_free(client):
    """An analysis that has begun, or None if the daemon has no slot."""
    reports = client.analyze(OPENING, options=AHEAD)
    with contextlib.suppress(Overloaded):
        assert not next(reports).final
        return reports


def search_if_free(client):
    """The best move, or None if the daemon has no slot."""
    with contextlib.suppress(Overloaded):
        return client.search(OPENING, options=AHEAD, depth=3).move


def test_closing_the_client_ends_what_is_in_progress(client):
    reports = client.analyze(OPENING, options=AHEAD)
    next(reports)
    client.close()
    with pytest.raises(Cancelled):
        list(reports)


# Play


def test_game_from_move_to_move(client):
    with client.play("b 2 1 0 0 0 0") as game:
        assert game.state.text == "b 2 1 0 0 0 0"
        assert game.best().move in {move.move for move in game.state.legal_moves}
        assert game.moves("left").to_move == position_pb2.SIDE_ENVIRONMENT
        assert game.moves("1@5").text == "b 3 0 0 0 0 1"
        assert game.state.points == 3
        assert game.best(lines=2).score.exact
        assert game.take_back(2).text == "b 2 1 0 0 0 0"
        assert game.state.points == 0


def test_game_from_a_position_with_moves(client):
    with client.play("b 2 1 0 0 0 0", ["left", "1@5"]) as game:
        assert game.state.text == "b 3 0 0 0 0 1"
        assert game.take_back().text == "a 3 0 0 0 0 0"


def test_refused_command_changes_nothing(client):
    with client.play(OPENING) as game:
        with pytest.raises(InvalidRequest, match='move 2: illegal move "up"'):
            game.moves("right", "up")
        with pytest.raises(InvalidRequest, match="cannot take back 3 plies; 0 were played"):
            game.take_back(3)
        with pytest.raises(InvalidRequest, match=r"limits\.depth is 0"):
            game.best(depth=0)
        with pytest.raises(TypeError, match=r"unknown argument .options.; known are depth, "):
            game.best(options=AHEAD)
        assert game.state.text == OPENING
        assert game.moves("right").text == "a 0 2 2 0 0 0"


def begin_if_free(client, start=OPENING):
    """A game, or None if the daemon has too many."""
    with contextlib.suppress(Overloaded):
        return client.play(start)


def test_game_refused_leaves_nothing_behind(narrow):
    kept = []  # the errors, and with them all that their tracebacks hold
    for _ in range(3):
        with pytest.raises(InvalidRequest, match="unknown letter") as caught:
            until(lambda: begin_if_free(narrow, "c"))
        kept.append(caught.value)
    until(lambda: begin_if_free(narrow)).close()


def test_game_too_many(narrow):
    with until(lambda: begin_if_free(narrow)):
        with pytest.raises(Overloaded, match="1 games are open") as caught:
            narrow.play(OPENING)
        assert caught.value.retry_seconds > 0
    until(lambda: begin_if_free(narrow)).close()


def test_options_of_a_game(client):
    with client.play(OPENING, method="expectimax") as game:
        reports = list(game.go(depth=3))
        assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
        assert len(reports) > 1
        assert reports[-1].stop_reason == search_pb2.STOP_REASON_DEPTH
    with pytest.raises(InvalidRequest, match='unknown option "hash"'):
        client.play(OPENING, hash="1")


def test_stop_from_another_thread(client):
    with client.play(OPENING, method="expectimax") as game:
        reports = game.go()
        assert not next(reports).final
        thread = threading.Thread(target=game.stop)
        thread.start()
        *_, last = reports
        thread.join()
        assert last.stop_reason == search_pb2.STOP_REASON_STOPPED
        assert game.best(depth=2).depth == 2


def test_stop_with_nothing_to_stop(client):
    with client.play(OPENING) as game:
        game.stop()
        game.stop()
        assert game.best().move == "right"


def test_next_command_stops_a_search(client):
    with client.play(OPENING, method="expectimax") as game:
        reports = game.go(ponder=True)
        assert not next(reports).final
        assert game.moves("right").text == "a 0 2 2 0 0 0"
        with pytest.raises(PlydError, match="superseded"):
            list(reports)
        assert game.take_back().text == OPENING


def test_numbers_of_commands_stay_apart_whatever_thread_sends(client):
    with client.play(OPENING) as game:
        stopping = [threading.Thread(target=lambda: [game.stop() for _ in range(20)]) for _ in range(4)]
        for thread in stopping:
            thread.start()
        for _ in range(20):
            assert game.best().move == "right"
        for thread in stopping:
            thread.join()


def test_game_ends_with_its_daemon(connect, relay):
    with connect(relay.address).play(OPENING) as game:
        relay.cut()
        for _ in range(2):
            with pytest.raises(Unavailable, match=relay.address):
                game.moves("right")


def test_game_closed_is_cancelled(client):
    game = client.play(OPENING)
    game.close()
    with pytest.raises(Cancelled):
        game.moves("right")


# Evaluate


def numbered(boards, size=100):
    """The boards as batches of lines."""
    return ["\n".join(boards[i : i + size]).encode() for i in range(0, len(boards), size)]


@pytest.fixture(scope="module")
def values(daemon, boards):
    """The text of each board's value."""
    with EngineClient(daemon) as client:
        return [b"= -1\n" if math.isnan(value) else b"= %.10g\n" % value for value in client.evaluate(boards).values]


def test_batches_come_back_in_order(client, boards, values):
    batches = numbered(boards)
    answers = list(client.evaluate_batches(batches, as_text=True))
    assert [batch for batch, _ in answers] == batches
    assert b"".join(response.text for _, response in answers) == b"".join(values)


def test_batches_with_moves(client):
    [(_, response)] = client.evaluate_batches([b"b 2 2 0 0 0 0\na 0 0 0 0 4 2\n"], as_text=True, with_moves=True)
    assert response.text == b"= 1422.339261 right\n= 1412.893618\n"


def test_no_batches(client):
    assert list(client.evaluate_batches([])) == []


def test_batch_is_answered_before_the_next_one_is_known(client, source):
    answers = []

    def ask():
        for number in range(5):
            until(lambda number=number: len(answers) == number)
            yield b"b 2 2 0 0 0 0\n"

    for _, response in client.evaluate_batches(source(ask())):
        answers.append(list(response.values))
    assert answers == [[pytest.approx(1422.339261)]] * 5


@pytest.mark.parametrize("is_threaded", [False, True])
def test_error_of_a_source_is_raised(client, source, is_threaded):
    def ask():
        yield b"b 2 2 0 0 0 0\n"
        raise ZeroDivisionError("no more")

    answers = client.evaluate_batches(source(ask()) if is_threaded else ask())
    assert len(next(answers)[1].values) == 1
    with pytest.raises(ZeroDivisionError, match="no more"):
        next(answers)


def test_source_is_not_read_far_ahead(client):
    read = itertools.count()
    answers = client.evaluate_batches(b"b 2 2 0 0 0 %d\n" % (next(read) % 3) for _ in range(1000))
    next(answers)
    time.sleep(0.1)
    assert next(read) < 50
    answers.close()


def test_closing_early_ends_the_reading(client):
    read = itertools.count()
    answers = client.evaluate_batches(b"b 2 2 0 0 0 %d\n" % (next(read) % 3) for _ in itertools.count())
    for _ in range(20):
        assert len(next(answers)[1].values) == 1
    answers.close()
    count = next(read)
    time.sleep(0.1)
    assert next(read) <= count + 2  # the one that was being read


def test_batch_refused_comes_after_those_before_it(client):
    answers = client.evaluate_batches([b"b 2 2 0 0 0 0\n", b"b" * 600_000, b"b 2 2 0 0 0 0\n"])
    assert len(next(answers)[1].values) == 1
    with pytest.raises(InvalidRequest, match="a batch of 600000 bytes; at most 524288 are allowed"):
        next(answers)


# A daemon that is lost, and one that comes back


def test_everything_survives_a_daemon_that_is_killed(connect, own_daemon, boards, values):
    batches, texts = numbered(boards, 500), []
    client = connect(own_daemon.address, **PATIENT)
    for batch, response in client.evaluate_batches(batches, as_text=True):
        assert batch == batches[len(texts)]
        texts.append(response.text)
        if len(texts) == 5:
            own_daemon.kill()
            own_daemon.launch()
            with ThreadPoolExecutor() as pool:
                moves = [
                    pool.submit(lambda: client.search(OPENING).move),
                    pool.submit(lambda: next(client.analyze(OPENING)).move),
                    pool.submit(lambda: client.play(OPENING).best().move),
                    pool.submit(lambda: client.inspect(OPENING).legal_moves[0].move),
                    pool.submit(lambda: client.wait_until_ready(SOON)),
                ]
                assert [move.result() for move in moves] == ["right"] * 4 + [None]
    assert b"".join(texts) == b"".join(values)


def test_analysis_begun_is_not_begun_anew(connect, relay):
    reports = connect(relay.address).analyze(OPENING, options=AHEAD)
    next(reports)
    relay.cut()
    with pytest.raises(Unavailable, match=relay.address):
        list(reports)


def test_batches_fail_when_the_daemon_stays_away(connect, relay):
    answers = connect(relay.address, retry_seconds=0.1).evaluate_batches(itertools.repeat(b"b 2 2 0 0 0 0\n"))
    next(answers)
    relay.cut()
    with pytest.raises(Unavailable, match=f"{relay.address} is unavailable: "):
        list(answers)


def test_ready_once_a_daemon_is_there(connect, relay):
    relay.cut()
    client = connect(relay.address, retry_seconds=0)
    with pytest.raises(Unavailable):
        client.wait_until_ready(timeout=0.05)
    relay.restore()
    client.wait_until_ready(timeout=SOON)
    assert client.search(OPENING, timeout=SOON).move == "right"


def test_a_daemon_is_watched_until_it_is_lost(connect, relay):
    watching = connect(relay.address).watch()
    assert next(watching)
    relay.cut()
    with pytest.raises(Unavailable):
        next(watching)


# Threads and imports


def test_blocking_client_leaves_no_threads(narrow_daemon):
    threads = threading.active_count()
    with EngineClient(narrow_daemon) as client:
        for _ in range(3):
            with pytest.raises(InvalidRequest, match="unknown letter"):
                until(lambda: begin_if_free(client, "c"))
        answers = client.evaluate_batches(itertools.repeat(b"b 2 2 0 0 0 0\n"))
        next(answers)
        answers.close()
        until(lambda: threading.active_count() <= threads + 1)  # the channel has a thread of its own


def test_blocking_game_numbers_commands_under_a_lock(daemon):
    class SlowQueue:
        def put(self, request):
            commands.put(request)
            time.sleep(0.001)  # time for another thread to send something too

    with EngineClient(daemon) as client, client.play(OPENING) as game:
        commands, game._commands = game._commands, SlowQueue()
        stopping = [threading.Thread(target=lambda: [game.stop() for _ in range(20)]) for _ in range(4)]
        for thread in stopping:
            thread.start()
        for _ in range(20):
            assert game.best().move == "right"
        for thread in stopping:
            thread.join()
        game._commands = commands


def test_client_is_thin():
    names = ("library.client", "library.aio", "library.connect.locate", "commands.solve", "commands.health", "cli")
    modules = {f"plyd.clients.{name}" for name in names}
    script = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert modules <= loaded
    assert not {"numba", "numpy", "plyd.engines", "plyd.servers"} & loaded
