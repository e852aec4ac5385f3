"""Games of a tile game on a cluster, without the cluster: how they are divided, and what a file of them holds."""

import json

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.play import cluster
from plyd.clients.play.cluster import FIRST_CHUNK, Chunks, PlayedChunk, chunks_of, identity_of, parse_chunk

GAME = {"points": 4, "moves": 1, "largest": 2, "start_ms": 1, "end_ms": 2}


def chunk(first, count):
    return PlayedChunk(first, [GAME] * count)


def numbers(jobs):
    return [number for _, (first, count) in jobs for number in range(first, first + count)]


def test_every_game_is_in_one_chunk():
    assert numbers(Chunks(50, []).jobs()) == list(range(50))


def test_resumed_chunks_are_those_that_are_missing():
    chunks = Chunks(30, [chunk(0, 4), chunk(9, 6), chunk(28, 5)])
    assert numbers(chunks.jobs()) == [*range(4, 9), *range(15, 28)]


def test_a_resumed_run_of_fewer_games_has_no_more_than_those():
    done = chunks_of(30, [chunk(0, 4), chunk(20, 16), chunk(40, 9)])
    assert [(one.game, len(one.results)) for one in done] == [(0, 4), (20, 10)]
    assert numbers(Chunks(30, done).jobs()) == list(range(4, 20))


def test_a_run_is_not_resumed_with_another_model_of_the_same_name():
    one, other = ({"seed": 1, "model": data, "model_name": "mine.plyd"} for data in (b"one", b"other"))
    assert identity_of(one) != identity_of(other)
    assert identity_of(one) == json.loads(json.dumps(identity_of(dict(one))))
    assert identity_of({"seed": 1, "model": None}) == {"seed": 1}


def test_chunks_grow_while_they_are_quick_and_shrink_when_they_are_not(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(cluster.time, "monotonic", lambda: now[0])
    chunks = Chunks(10_000, [])
    jobs = chunks.jobs()
    sizes = []
    for seconds in (0.01, 0.01, 0.01, 2.0, 40.0):
        first, (_, count) = next(jobs)
        sizes.append(count)
        now[0] += seconds
        chunks.ended(first)
    assert sizes == [FIRST_CHUNK, 2 * FIRST_CHUNK, 4 * FIRST_CHUNK, 8 * FIRST_CHUNK, 8 * FIRST_CHUNK]
    assert next(jobs)[1][1] == round(8 * FIRST_CHUNK * 2.0 / 40.0)


def test_a_chunk_survives_its_line():
    assert parse_chunk(json.dumps(chunk(7, 2).as_json())) == chunk(7, 2)


@pytest.mark.parametrize(
    "line", ["", "[]", "{}", '{"game": -1, "results": []}', '{"game": 1, "results": [{"points": 1}]}']
)
def test_a_line_that_is_no_chunk_is_refused(line):
    with pytest.raises(ValueError, match=r"chunk|Expecting"):
        parse_chunk(line)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "x"], "--resume needs --cluster and --seed"),
        (["--resume", "x", "--cluster", "a:1"], "--resume needs --cluster and --seed"),
        (["--cluster", "a:1", "--connect", "b:1"], "--cluster and --connect exclude each other"),
        (["--cluster", "a:1", "--threads", "2"], "--cluster and --threads exclude each other"),
        (["--workers", "2"], "--workers and --worker-cores need --cluster"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, message):
    done = CliRunner().invoke(main, ["play", "2048", *words])
    assert done.exit_code == 2
    assert message in done.output
