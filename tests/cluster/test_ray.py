"""Real Ray: nodes are killed, hang, join; jobs are lost, late, poisoned; every answer is counted once."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.cluster import Fleet, JobFailed, WorkerSpec
from plyd.cluster import fleet as fleet_module
from tests.cluster.nodes import add_node, kill_node, ray_nodes
from tests.patience import LONG, until

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")]
DOER = "tests.cluster.workers:Doer"


@pytest.fixture(scope="module")
def cluster():
    with ray_nodes() as cluster:
        from plyd.cluster.actors import connect  # which imports ray

        connect(cluster.address)
        yield cluster


def fleet_on(cluster, worker=DOER, **settings):
    from plyd.cluster.actors import Actors

    return Fleet(Actors(WorkerSpec(worker)), **settings)


def until_answered(fleet, count, found=None):
    found = [] if found is None else found
    until(lambda: found.extend(fleet.answers()) or len(found) >= count, LONG)
    return found


def test_jobs_run_on_every_node_and_are_answered_once(cluster):
    with fleet_on(cluster) as fleet:
        until(lambda: fleet.answers() or fleet.workers == 2, LONG)
        data = fleet.share(b"weights")
        for number in range(20):
            fleet.give(number, {"number": number}, [data])
        found = until_answered(fleet, 20)
    assert sorted(key for key, _ in found) == list(range(20))
    assert all(answer["number"] == key and answer["shared"] == [b"weights"] for key, answer in found)
    assert len({answer["pid"] for _, answer in found}) == 2


def test_a_job_that_raises_and_one_that_kills_its_worker_end_the_run(cluster):
    for job, message in (({"do": "raise", "number": 7}, "job 7 is bad"), ({"do": "die"}, "failed 3 times")):
        with fleet_on(cluster) as fleet:
            fleet.give("bad", job)
            with pytest.raises(JobFailed, match=message):
                until(lambda fleet=fleet: fleet.answers() and None, LONG)


def test_a_worker_that_cannot_be_set_up_says_why(cluster):
    from plyd.cluster.actors import Actors

    for worker, why in (
        (DOER, "RuntimeError: no such thing as a worker"),
        ("tests.no:W", "No module named 'tests.no'"),
    ):
        notes = []
        with Fleet(Actors(WorkerSpec(worker, {"broken": True})), note=notes.append) as fleet:
            until(lambda fleet=fleet, notes=notes: fleet.answers() or notes, LONG)
        assert why in notes[0]


def test_ray_leaves_sigterm_to_the_command():
    from plyd.cluster.actors import own_sigterm

    def stop(*_):
        pass

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with own_sigterm():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))  # as ray.init does
        assert signal.getsignal(signal.SIGTERM) is stop
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with own_sigterm():
            pass
        with pytest.raises(SystemExit) as end:
            os.kill(os.getpid(), signal.SIGTERM)
        assert end.value.code == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_hung_worker_that_comes_back_is_counted_once(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(fleet_module, "HUNG_FACTOR", 1e6)  # it is not replaced, however long this takes
    log, go = tmp_path / "log", tmp_path / "go"
    with fleet_on(cluster, late_seconds=1.0) as fleet:
        fleet.give("first", {})
        until_answered(fleet, 1)
        fleet.give("job", {"do": "wait", "file": str(go), "log": str(log), "number": 1})
        until(lambda: fleet.answers(0.01) or (log.exists() and log.read_text()), LONG)
        hung = int(log.read_text().split()[0])
        os.kill(hung, signal.SIGSTOP)
        go.touch()
        found = until_answered(fleet, 1)  # from another worker
        assert [key for key, _ in found] == ["job"]
        assert found[0][1]["pid"] != hung
        os.kill(hung, signal.SIGCONT)
        for number in range(10):
            fleet.give(number, {"number": number})
        found = until_answered(fleet, 10)
    assert sorted(key for key, _ in found) == list(range(10))


def test_a_killed_node_loses_nothing_and_a_new_one_takes_part(cluster, tmp_path, capsys):
    notes = []
    with fleet_on(cluster, note=notes.append) as fleet:
        until(lambda: fleet.answers() or fleet.workers == 2, LONG)
        waits = [{"do": "wait", "file": str(tmp_path / "go"), "number": number} for number in range(4)]
        for number, job in enumerate(waits):
            fleet.give(number, job)
        kill_node(cluster, next(iter(cluster.worker_nodes)))
        until(lambda: fleet.answers() or any("left" in note for note in notes), LONG)
        assert {job.failures for job in fleet._jobs.values()} == {0}  # none is to blame
        (tmp_path / "go").touch()
        found = until_answered(fleet, 4)
        add_node(cluster)
        until(lambda: fleet.answers() or fleet.workers == 2, LONG)
        for number in range(4, 24):
            fleet.give(number, {"number": number})
        until_answered(fleet, 24, found)
    assert sorted(key for key, _ in found) == list(range(24))
    assert len({answer["pid"] for key, answer in found if key >= 4}) == 2
    assert capsys.readouterr().out == ""  # which is for data, whatever Ray has to say


# --- Commands ---------------------------------------------------------------------------------------------------------


def plyd(*words):
    done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def games_of(path):
    """The games of a match file by number, without the times of their moves."""
    games = [json.loads(line) for line in path.read_text().splitlines(keepends=True)[1:] if line.endswith("\n")]
    for game in games:
        game["first"]["ms"], game["second"]["ms"] = [], []
    return {game["game"]: game for game in games}


def test_cluster_games_are_local_games(cluster, tmp_path):
    words = ["match", "connect4", "--start", "5x4", "--nodes", 40, "--games", 6, "--seed", 3]
    words += ["--first", "threads=1 seed=1", "--second", "threads=1 seed=2"]
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    plyd(*words, "--save", here)
    plyd(*words, "--save", there, "--cluster", cluster.address, "--worker-cores", 1)
    assert len(games_of(here)) == 6
    assert games_of(there) == games_of(here)


def test_a_match_goes_on_after_its_driver_was_killed(cluster, tmp_path):
    file = tmp_path / "match.jsonl"
    words = ["match", "connect4", "--start", "5x4", "--nodes", 40, "--seed", 3, "--cluster", cluster.address]
    words += ["--first", "threads=1 seed=1", "--second", "threads=1 seed=2", "--save", file]
    command = [sys.executable, "-P", "-m", "plyd.clients", *map(str, words), "--games", "10000"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: file.exists() and file.read_text().count("\n") > 3, LONG)
    driver.kill()
    driver.wait()
    before = games_of(file)
    more = 2 * (max(before) // 2 + 6)
    found = json.loads(plyd(*words, "--games", more, "--resume", "--json").stdout)
    assert found["games"] == more
    after = [json.loads(line)["game"] for line in file.read_text().splitlines()[1:]]
    assert sorted(after) == list(range(more))  # none twice
    assert {number: games_of(file)[number] for number in before} == before


def test_a_sequential_test_between_two_environments_stops_the_rest(cluster, tmp_path):
    program = tmp_path / "other" / "bin" / "plyd"  # stands for another version, installed elsewhere
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/started\nexec {sys.executable} -P -m plyd.clients "$@"\n')
    program.chmod(0o755)
    words = ["match", "connect4", "--start", "6x5", "--games", 20_000, "--sprt", 0, 200, "--json"]
    words += ["--first", f"threads=1 nodes=400 env={tmp_path}/other", "--second", "threads=1 nodes=1"]
    found = json.loads(plyd(*words, "--cluster", cluster.address).stdout)
    assert set((tmp_path / "started").read_text().split()) == {"serve"}  # a daemon on a node, or on each
    assert found["sprt"]["accepted"] == "H1"
    assert found["games"] < 2000


def test_statistics_are_of_the_same_games_on_a_cluster_and_resumed(cluster, tmp_path):
    words = ["play", "2048", "--games", 40, "--seed", 5, "--until", 64]
    file = tmp_path / "games.jsonl"
    local = plyd(*words).stdout
    there = plyd(*words, "--resume", file, "--cluster", cluster.address).stdout
    assert without_speed(there) == without_speed(local)
    lines = file.read_text().splitlines(keepends=True)
    assert sum(len(json.loads(line)["results"]) for line in lines[1:]) == 40
    file.write_text("".join([*lines[:2], *lines[3:5]]))
    assert without_speed(plyd(*words, "--resume", file, "--cluster", cluster.address).stdout) == without_speed(local)


def without_speed(text):
    return [line.rpartition(",")[0] if "moves/s" in line else line for line in text.splitlines()]


def test_queries_are_answered_on_a_cluster_and_resumed(cluster, tmp_path):
    queries = [{"id": f"q{n}", "game": "connect4", "start": "5x4", "moves": ["1", "2"][:n]} for n in range(3)]
    queries += [{"id": "all", "game": "connect4", "start": "5x4", "moves": ["3", "3", "4"], "analyzeTurns": "all"}]
    stdin = "".join(json.dumps(query) + "\n" for query in queries)
    words = ["analyze", "--nodes", 50, "--option", "threads=1"]
    local = answers_of(run_analyze(words, stdin))
    file = tmp_path / "answers.jsonl"
    run_analyze([*words, "--resume", file, "--cluster", cluster.address], stdin)
    assert answers_of(file.read_text()) == local
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))
    run_analyze([*words, "--resume", file, "--cluster", cluster.address], stdin)
    assert answers_of(file.read_text()) == local
    assert len(file.read_text().splitlines()) == len(lines) == 7


def answers_of(text):
    answers = [json.loads(line) for line in text.splitlines()]
    return {(answer["id"], answer["turn"]): (answer["move"], answer["score"], answer["nodes"]) for answer in answers}


def run_analyze(words, stdin):
    """Its output; in a process of its own, because it reads file descriptor 0."""
    command = [sys.executable, "-P", "-m", "plyd.clients", *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- Training ---------------------------------------------------------------------------------------------------------


def test_training_goes_on_through_a_killed_node_and_beats_its_start(cluster, tmp_path):
    from plyd.cluster.options import ClusterSettings
    from plyd.engines.gomoku.mcts.inference import load_network
    from plyd.engines.gomoku.train.self_play import SelfPlayParams, match
    from plyd.engines.gomoku.train.trainer import GomokuPlan, GomokuTrainer

    style = SelfPlayParams(24, 8, full_share=0.5, hot_plies=4, opening_plies=3, sizes=(9,))
    plan = GomokuPlan(1, 8, 64, 0.05, memory=5000, reuse=16.0, generation=25, rate_every=1000, style=style)
    trainer = GomokuTrainer(plan, tmp_path, 1, cluster=ClusterSettings(cluster.address))
    lines = 0
    for line in trainer.train(NeverStop(), 125):
        lines += line is not None
        if line and lines == 1:
            kill_node(cluster, next(iter(cluster.worker_nodes)))
            add_node(cluster)
    networks = [load_network(tmp_path / "nets" / f"{steps:06d}.plyd")[0] for steps in (125, 0)]
    results = [result for seed in range(10) for result in match((networks[0], networks[1]), 9, 8, seed)]
    assert sum(results) >= 4, results
    assert lines == 5


def test_gradients_are_computed_on_cores_that_players_hold(cluster):
    import numpy as np

    from plyd.cluster.actors import Actors
    from plyd.engines.gomoku.train.gradients import GradientFleet, GradientWorker, gradient_spec, parts_of
    from plyd.engines.gomoku.train.network import PolicyValueNetwork
    from plyd.engines.gomoku.train.replay import ReplayBuffer
    from plyd.engines.gomoku.train.self_play import SelfPlayParams, self_play, warm_network

    memory = ReplayBuffer(1000)
    memory.add([self_play(warm_network, SelfPlayParams(2, 2, sizes=(5,)), seed=1)[0]])
    batch, network = memory.sample(8, np.random.default_rng(1)), PolicyValueNetwork(1, 4)
    state = {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}
    with fleet_on(cluster) as players, Fleet(Actors(gradient_spec(1, 4)), max_workers=2) as learners:
        until(lambda: players.answers() or players.workers == 2, LONG)
        until(lambda: learners.answers() or learners.workers == 2, LONG)
        losses = GradientFleet(learners, None).accumulate(network, batch)
    worker, whole = GradientWorker({"blocks": 1, "channels": 4}, 1), (float(batch.weight.sum()), len(batch.result))
    parts = [worker.work({"columns": part, "whole": whole}, state)["losses"] for part in parts_of(batch, 2)]
    assert losses == pytest.approx(tuple(map(sum, zip(*parts, strict=True))))


def test_nodes_play_tiles_and_the_learner_learns(cluster, tmp_path):
    words = ["train", "2048", "--network", "0123 0145", "--games", 1000, "--out", tmp_path]
    done = plyd(*words, "--cluster", cluster.address)
    assert "saved after" in done.stderr
    [line] = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert line["average"] > 2500  # random play: about 1100


class NeverStop:
    def is_set(self):
        return False
