"""AsyncEngineClient against real daemons: what test_client.py says of its twin."""

import asyncio
import contextlib
import inspect
import itertools
import math
import time

import pytest

from plyd.clients import AsyncEngineClient, AsyncGame, EngineClient, Game
from plyd.clients.library.errors import Cancelled, InvalidRequest, Overloaded, PlydError, TimedOut, Unavailable
from plyd.v1 import position_pb2, search_pb2
from tests.patience import LONG, SOON

OPENING = "b 2 2 0 0 0 0"
AHEAD = {"method": "expectimax"}  # a search that goes on and on
PATIENT = {"retry_seconds": 60.0}


def run(talk, target, *arguments, **settings):
    """What comes of talking to a target with a client of its own."""

    async def main():
        async with AsyncEngineClient(target, *arguments, **settings) as client, asyncio.timeout(LONG):
            return await talk(client)

    return asyncio.run(main())


async def eventually(claim):
    """What the claim returns, once it is true."""
    async with asyncio.timeout(SOON):
        while not (truth := await claim()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return truth


@pytest.mark.parametrize(("one", "other"), [(EngineClient, AsyncEngineClient), (Game, AsyncGame)])
def test_twins_have_the_same_methods(one, other):
    def methods(kind):
        return {
            name: [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]
            for name, method in vars(kind).items()
            if inspect.isfunction(method) and not name.startswith("_")
        }

    assert methods(one) == methods(other)
    assert len(methods(one)) > 5


def test_answer(daemon, answer_case):
    method, arguments, keywords, check = answer_case
    check(run(lambda client: getattr(client, method)(*arguments, **keywords), daemon))


def test_refusal(daemon, refusal_case):
    method, arguments, keywords, check = refusal_case
    with pytest.raises(PlydError) as caught:
        run(lambda client: getattr(client, method)(*arguments, **keywords), daemon)
    check(caught.value)


def test_fault(faulty, fault_case):
    status, check = fault_case
    with pytest.raises(PlydError) as caught:
        run(lambda client: client.describe(), faulty, status, retry_seconds=0)
    check(caught.value, faulty)


# Time-outs and waiting


def test_answer_that_does_not_come_in_time(faulty):
    with pytest.raises(TimedOut, match=faulty):
        run(lambda client: client.describe(), faulty, "SILENCE", timeout=0.1)


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_timeout_of_one_call(faulty, seconds):
    began = time.monotonic()
    with pytest.raises(TimedOut):
        run(lambda client: client.describe(timeout=seconds), faulty, "SILENCE", timeout=LONG)
    assert time.monotonic() - began < SOON


def test_search_may_take_longer_than_the_timeout(faulty):
    waits = run(lambda client: client.search(OPENING, seconds=LONG), faulty, timeout=SOON).elapsed_us / 1e6
    assert LONG < waits < LONG + SOON + 10  # gRPC rounds a time-out up, a long one to seconds


def test_nobody_answers(nowhere):
    async def talk(client):
        with pytest.raises(Unavailable, match=f"{nowhere} is unavailable: "):
            await client.describe()
        with pytest.raises(Unavailable, match=nowhere):
            await anext(client.analyze(OPENING))
        with pytest.raises(Unavailable, match=nowhere):
            await client.evaluate([OPENING])
        with pytest.raises(Unavailable, match=nowhere):
            await client.play(OPENING)

    run(talk, nowhere, retry_seconds=0.2)


@pytest.mark.parametrize(
    "call", [AsyncEngineClient.describe, AsyncEngineClient.play, lambda client: client.evaluate([OPENING])]
)
def test_closing_ends_the_wait_for_a_daemon(nowhere, call):
    async def talk(client):
        asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(client.close()))
        with pytest.raises(Cancelled, match="the client was closed"):
            await call(client)

    run(talk, nowhere, retry_seconds=LONG)


def test_daemon_is_waited_for_as_long_as_was_said(nowhere):
    began = time.monotonic()
    with pytest.raises(Unavailable):
        run(lambda client: client.describe(), nowhere, retry_seconds=1.0)
    assert 0.9 < time.monotonic() - began < SOON


def test_ready_on_a_daemon_that_is(daemon):
    run(lambda client: client.wait_until_ready(timeout=30), daemon)


def test_never_ready_where_nobody_is(nowhere):
    with pytest.raises(Unavailable, match=f"{nowhere} is not ready after 0.3 s"):
        run(lambda client: client.wait_until_ready(timeout=0.3), nowhere)


def test_ready_once_a_daemon_is_warm(own_daemon):
    own_daemon.kill()

    async def talk(client):
        with pytest.raises(Unavailable):
            await client.wait_until_ready(timeout=0.05)
        own_daemon.launch()
        await client.wait_until_ready(timeout=100)
        assert (await client.search(OPENING, timeout=SOON)).move == "right"

    run(talk, own_daemon.address, retry_seconds=0)


# Analyze


def test_last_report_and_only_the_last_is_final(daemon):
    async def talk(client):
        reports = [report async for report in client.analyze(OPENING, depth=4, options=AHEAD)]
        assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
        assert len(reports) > 1
        assert reports[-1].depth == 4
        assert reports[-1].stop_reason == search_pb2.STOP_REASON_DEPTH

    run(talk, daemon)


def test_analysis_of_what_is_solved_is_one_report(daemon):
    async def talk(client):
        [report] = [report async for report in client.analyze(OPENING, lines=2)]
        assert report.final
        assert len(report.lines) == 2

    run(talk, daemon)


def test_analysis_refused(daemon):
    with pytest.raises(InvalidRequest, match="illegal move"):
        run(lambda client: anext(client.analyze(OPENING, ["up"])), daemon)


def test_daemon_answers_before_the_timeout(daemon):
    async def talk(client):
        async def search():
            with contextlib.suppress(TimedOut):  # on a machine with no milliseconds to spare; then try again
                return await client.search(OPENING, timeout=0.4, options=AHEAD)

        async def analyze():
            with contextlib.suppress(TimedOut):
                return [report async for report in client.analyze(OPENING, timeout=0.4, options=AHEAD)][-1]

        for last_of in (search, analyze):
            last = await eventually(last_of)
            assert last.final
            assert last.stop_reason == search_pb2.STOP_REASON_TIME

    run(talk, daemon)


def test_closing_an_analysis_frees_its_slot(narrow_daemon):
    async def talk(client):
        reports = client.analyze(OPENING, options=AHEAD)
        assert not (await anext(reports)).final
        with pytest.raises(Overloaded, match="all 1 slots are taken and 0 requests wait") as caught:
            await client.search(OPENING, options=AHEAD)
        assert caught.value.retry_seconds > 0
        await reports.aclose()
        assert await eventually(lambda: search_if_free(client, options=AHEAD, depth=3)) in ("right", "down")

    run(talk, narrow_daemon)


def test_cancelling_a_task_frees_its_slot_and_stays_a_cancellation(narrow_daemon):
    async def talk(client):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await eventually(lambda: search_if_free(client, options=AHEAD))
        assert await eventually(lambda: search_if_free(client, options=AHEAD, depth=3)) in ("right", "down")

    run(talk, narrow_daemon)


async def search_if_free(client, **wish):
    """The best move, or None if the daemon has no slot."""
    with contextlib.suppress(Overloaded):
        return (await client.search(OPENING, **wish)).move


def test_closing_the_client_ends_what_is_under_way(daemon):
    async def talk(client):
        async def analyze():
            return [report async for report in client.analyze(OPENING, options=AHEAD)]

        async def evaluate():
            return [answer async for answer in client.evaluate_batches(itertools.repeat(b"b 2 2 0 0 0 0"))]

        game = await client.play(OPENING, method="expectimax")
        calls = [analyze(), evaluate(), game.best(), client.search(OPENING, options=AHEAD, timeout=60)]
        tasks = list(map(asyncio.ensure_future, calls))
        await asyncio.sleep(0.3)
        await client.close()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert list(map(type, ends)) == [Cancelled] * 4

    run(talk, daemon)


# Play


def test_game_from_move_to_move(daemon):
    async def talk(client):
        async with await client.play("b 2 1 0 0 0 0") as game:
            assert game.state.text == "b 2 1 0 0 0 0"
            assert (await game.best()).move in {move.move for move in game.state.legal_moves}
            assert (await game.moves("left")).to_move == position_pb2.SIDE_ENVIRONMENT
            assert (await game.moves("1@5")).text == "b 3 0 0 0 0 1"
            assert game.state.points == 3
            assert (await game.best(lines=2)).score.exact
            assert (await game.take_back(2)).text == "b 2 1 0 0 0 0"
            assert game.state.points == 0

    run(talk, daemon)


def test_game_from_a_position_with_moves(daemon):
    async def talk(client):
        async with await client.play("b 2 1 0 0 0 0", ["left", "1@5"]) as game:
            assert game.state.text == "b 3 0 0 0 0 1"
            assert (await game.take_back()).text == "a 3 0 0 0 0 0"

    run(talk, daemon)


def test_refused_command_changes_nothing(daemon):
    async def talk(client):
        async with await client.play(OPENING) as game:
            with pytest.raises(InvalidRequest, match='move 2: illegal move "up"'):
                await game.moves("right", "up")
            with pytest.raises(InvalidRequest, match="cannot take back 3 plies; 0 were played"):
                await game.take_back(3)
            with pytest.raises(InvalidRequest, match=r"limits\.depth is 0"):
                await game.best(depth=0)
            with pytest.raises(TypeError, match=r"unknown argument .options.; known are depth, "):
                await game.best(options=AHEAD)
            assert game.state.text == OPENING
            assert (await game.moves("right")).text == "a 0 2 2 0 0 0"

    run(talk, daemon)


async def begin_if_free(client, start=OPENING):
    """A game, or None if the daemon has too many."""
    with contextlib.suppress(Overloaded):
        return await client.play(start)


def test_game_refused_leaves_nothing_behind(narrow_daemon):
    async def talk(client):
        kept = []  # the errors, and with them all that their tracebacks hold
        for _ in range(3):
            with pytest.raises(InvalidRequest, match="unknown letter") as caught:
                await eventually(lambda: begin_if_free(client, "c"))
            kept.append(caught.value)
        (await eventually(lambda: begin_if_free(client))).close()

    run(talk, narrow_daemon)


def test_game_too_many(narrow_daemon):
    async def talk(client):
        async with await eventually(lambda: begin_if_free(client)):
            with pytest.raises(Overloaded, match="1 games are open") as caught:
                await client.play(OPENING)
            assert caught.value.retry_seconds > 0
        (await eventually(lambda: begin_if_free(client))).close()

    run(talk, narrow_daemon)


def test_options_of_a_game(daemon):
    async def talk(client):
        async with await client.play(OPENING, method="expectimax") as game:
            reports = [report async for report in game.go(depth=3)]
            assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
            assert len(reports) > 1
            assert reports[-1].stop_reason == search_pb2.STOP_REASON_DEPTH
        with pytest.raises(InvalidRequest, match='unknown option "hash"'):
            await client.play(OPENING, hash="1")

    run(talk, daemon)


def test_stop_from_another_task(daemon):
    async def talk(client):
        async with await client.play(OPENING, method="expectimax") as game:
            best = asyncio.ensure_future(game.best())
            await asyncio.sleep(0.1)
            assert not best.done()
            await game.stop()
            assert (await best).stop_reason == search_pb2.STOP_REASON_STOPPED
            assert (await game.best(depth=2)).depth == 2

    run(talk, daemon)


def test_stop_with_nothing_to_stop(daemon):
    async def talk(client):
        async with await client.play(OPENING) as game:
            await game.stop()
            await game.stop()
            assert (await game.best()).move == "right"

    run(talk, daemon)


def test_next_command_stops_a_search(daemon):
    async def talk(client):
        async with await client.play(OPENING, method="expectimax") as game:
            reports = game.go(ponder=True)
            assert not (await anext(reports)).final
            assert (await game.moves("right")).text == "a 0 2 2 0 0 0"
            with pytest.raises(PlydError, match="superseded"):
                await anext(reports)
            assert (await game.take_back()).text == OPENING

    run(talk, daemon)


def test_game_ends_with_its_daemon(own_daemon):
    async def talk(client):
        async with await client.play(OPENING) as game:
            own_daemon.kill()
            for _ in range(2):
                with pytest.raises(Unavailable, match=own_daemon.address):
                    await game.moves("right")

    run(talk, own_daemon.address)


def test_game_closed_is_cancelled(daemon):
    async def talk(client):
        game = await client.play(OPENING, method="expectimax")
        best = asyncio.ensure_future(game.best())
        await asyncio.sleep(0.1)
        game.close()
        with pytest.raises(Cancelled):
            await best
        with pytest.raises(Cancelled):
            await game.moves("right")

    run(talk, daemon)


# Evaluate


def numbered(boards, size=100):
    """The boards as batches of lines."""
    return ["\n".join(boards[i : i + size]).encode() for i in range(0, len(boards), size)]


@pytest.fixture(scope="module")
def values(daemon, boards):
    """The text of each board's value."""
    found = run(lambda client: client.evaluate(boards), daemon).values
    return [b"= -1\n" if math.isnan(value) else b"= %.10g\n" % value for value in found]


@pytest.mark.parametrize("is_async", [False, True])
def test_batches_come_back_in_order(daemon, boards, values, is_async):
    batches = numbered(boards)

    async def ask():
        for batch in batches:
            await asyncio.sleep(0)
            yield batch

    async def talk(client):
        source = ask() if is_async else batches
        answers = [answer async for answer in client.evaluate_batches(source, as_text=True)]
        assert [batch for batch, _ in answers] == batches
        assert b"".join(response.text for _, response in answers) == b"".join(values)

    run(talk, daemon)


def test_batches_with_moves(daemon):
    async def talk(client):
        answers = client.evaluate_batches([b"b 2 2 0 0 0 0\na 0 0 0 0 4 2\n"], as_text=True, with_moves=True)
        [(_, response)] = [answer async for answer in answers]
        assert response.text == b"= 1422.339261 right\n= 1412.893618\n"

    run(talk, daemon)


def test_no_batches(daemon):
    async def talk(client):
        assert [answer async for answer in client.evaluate_batches([])] == []

    run(talk, daemon)


def test_batch_is_answered_before_the_next_one_is_known(daemon):
    async def talk(client):
        answers, heard = [], asyncio.Event()

        async def ask():
            for _ in range(5):
                heard.clear()
                yield b"b 2 2 0 0 0 0\n"
                await heard.wait()

        async for _, response in client.evaluate_batches(ask()):
            answers.append(list(response.values))
            heard.set()
        assert answers == [[pytest.approx(1422.339261)]] * 5

    run(talk, daemon)


@pytest.mark.parametrize("is_async", [False, True])
def test_source_that_fails_is_heard_of(daemon, is_async):
    def ask():
        yield b"b 2 2 0 0 0 0\n"
        raise ZeroDivisionError("no more")

    async def ask_later():
        for batch in ask():
            yield batch

    async def talk(client):
        answers = client.evaluate_batches(ask_later() if is_async else ask())
        assert len((await anext(answers))[1].values) == 1
        with pytest.raises(ZeroDivisionError, match="no more"):
            await anext(answers)

    run(talk, daemon)


def test_source_is_not_read_far_ahead(daemon):
    async def talk(client):
        read = itertools.count()
        answers = client.evaluate_batches(b"b 2 2 0 0 0 %d\n" % (next(read) % 3) for _ in range(1000))
        await anext(answers)
        await asyncio.sleep(0.1)
        assert next(read) < 50
        await answers.aclose()

    run(talk, daemon)


def test_closing_early_closes_the_source(daemon):
    closed = []

    async def ask():
        try:
            while True:
                yield b"b 2 2 0 0 0 0\n"
        finally:
            closed.append(True)

    async def talk(client):
        answers = client.evaluate_batches(ask())
        for _ in range(20):
            assert len((await anext(answers))[1].values) == 1
        await answers.aclose()

        async def is_closed():
            return closed

        await eventually(is_closed)
        assert len(asyncio.all_tasks()) == 1

    run(talk, daemon)


def test_batch_refused_comes_after_those_before_it(daemon):
    async def talk(client):
        answers = client.evaluate_batches([b"b 2 2 0 0 0 0\n", b"b" * (2 << 20), b"b 2 2 0 0 0 0\n"])
        assert len((await anext(answers))[1].values) == 1
        with pytest.raises(InvalidRequest, match="a batch of 2097152 bytes; at most 524288 are allowed"):
            await anext(answers)

    run(talk, daemon)


def test_batch_refused_leaves_nothing_behind(daemon):
    async def talk(client):
        with pytest.raises(InvalidRequest):
            async for _ in client.evaluate_batches(itertools.chain([b"b" * (2 << 20)], itertools.repeat(b"b\n"))):
                pass

        async def is_alone():
            return len(asyncio.all_tasks()) == 1

        await eventually(is_alone)

    run(talk, daemon)


# A daemon that dies and comes back


def test_batches_survive_a_daemon_that_is_killed(own_daemon, boards, values):
    batches, texts = numbered(boards, 500), []

    async def talk(client):
        async for batch, response in client.evaluate_batches(batches, as_text=True):
            assert batch == batches[len(texts)]
            texts.append(response.text)
            if len(texts) == 5:
                own_daemon.kill()
                own_daemon.launch()

    run(talk, own_daemon.address, **PATIENT)
    assert b"".join(texts) == b"".join(values)


def test_calls_survive_a_daemon_that_is_killed(own_daemon):
    async def talk(client):
        async def play():
            async with await client.play(OPENING) as game:
                return await game.best()

        assert (await client.search(OPENING)).move == "right"
        own_daemon.kill()
        own_daemon.launch()
        calls = [client.search(OPENING), anext(client.analyze(OPENING)), play(), client.inspect(OPENING)]
        *reports, state = await asyncio.gather(*calls)
        assert [report.move for report in reports] == ["right"] * 3
        assert state.text == OPENING

    run(talk, own_daemon.address, **PATIENT)


def test_analysis_begun_is_not_begun_anew(own_daemon):
    async def talk(client):
        reports = client.analyze(OPENING, options=AHEAD)
        await anext(reports)
        own_daemon.kill()
        with pytest.raises(Unavailable, match=own_daemon.address):
            [report async for report in reports]

    run(talk, own_daemon.address)


def test_batches_fail_when_the_daemon_stays_away(own_daemon):
    async def talk(client):
        answers = client.evaluate_batches(itertools.repeat(b"b 2 2 0 0 0 0\n"))
        await anext(answers)
        own_daemon.kill()
        with pytest.raises(Unavailable, match=f"{own_daemon.address} is unavailable: "):
            [answer async for answer in answers]

    run(talk, own_daemon.address, retry_seconds=0.3)


def test_a_daemon_is_watched_until_it_is_lost(own_daemon):
    async def talk(client):
        watching = client.watch()
        assert await anext(watching)
        own_daemon.kill()
        with pytest.raises(Unavailable):
            await anext(watching)

    run(talk, own_daemon.address)
