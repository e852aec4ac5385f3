"""Measures what a cluster is made of: `python deploy/cluster_sizing.py [PART]...` prints figures for docs/cluster.md.

Starts a Ray cluster of two nodes with one core each on this machine, and compares it with the same work without Ray on
two cores. Both take turns, so that a busy machine is busy for both.
"""

import argparse
import contextlib
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
os.environ |= {"RAY_worker_niceness": "0"}  # Ray gives its workers 15; here both sides have the same

from plyd.cluster import Fleet, WorkerSpec
from plyd.cluster.options import ClusterSettings
from plyd.cluster.processes import Processes

HOST = "127.0.0.2"  # Ray replaces 127.0.0.1 by another address
CORES = 2
SETTLE_SECONDS = 25.0


@contextlib.contextmanager
def two_nodes() -> Iterator[tuple[ClusterSettings, Callable[[], Any]]]:
    """A cluster of two nodes with one core each, and a function that adds one more."""
    from ray.cluster_utils import Cluster

    from plyd.cluster.actors import connect

    memory = {"node_ip_address": HOST, "object_store_memory": 1 << 30}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})

    def add() -> Any:
        return cluster.add_node(num_cpus=1, wait=False, **memory)

    for _ in range(CORES):
        add()
    connect(cluster.address)
    try:
        yield ClusterSettings(cluster.address), add
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()


def rates(
    results: contextlib.AbstractContextManager[Iterator[float]], seconds: float, *, on_ray: bool
) -> tuple[float, float, float]:
    """Units per second, units per CPU second of what does the work, and cores that the rest of Ray takes.

    All are measured from SETTLE_SECONDS after the first result on, when the last worker has been set up, too.
    """
    with results as found:
        begin = next(found) and time.monotonic() + SETTLE_SECONDS
        total, since, before = 0.0, 0.0, (0.0, 0.0)
        for units in found:
            now = time.monotonic()
            if since:
                total += units
            elif now >= begin:
                since, before = now, cpu_seconds(on_ray=on_ray)
            if since and now > max(since, begin + seconds):
                work, rest = (after - one for after, one in zip(cpu_seconds(on_ray=on_ray), before, strict=True))
                return total / (now - since), total / work, rest / (now - since)
    raise RuntimeError("too little work for this time")


def cpu_seconds(*, on_ray: bool) -> tuple[float, float]:
    """CPU time of what does the work, and of the rest: the driver, and Ray's own processes.

    The work is done by Ray's actors and the daemons that they start, or without Ray by this process and its children.
    """
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(folder.name))
                ticks[int(folder.name)] = int(fields[11]) + int(fields[12])
                names[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")

    def below(pid: int, *, stop: str = "nothing") -> set[int]:
        found = {pid}
        for child in children.get(pid, ()):
            found |= below(child, stop=stop) if stop not in names.get(child, "") else set()
        return found

    everything = below(os.getpid())
    actors = {pid for actor in everything if "ray::ActorHost" in names.get(actor, "") for pid in below(actor)}
    work = actors if on_ray else below(os.getpid(), stop="/ray/")
    tick = os.sysconf("SC_CLK_TCK")
    return sum(ticks.get(pid, 0) for pid in work) / tick, sum(ticks.get(pid, 0) for pid in everything - work) / tick


@contextlib.contextmanager
def match_games(cluster: ClusterSettings | None) -> Iterator[Iterator[float]]:
    """Games of Connect Four, 9x9, with 1,000 nodes a move."""
    from plyd.clients.match.cluster import ClusterRunner, connect_cluster
    from plyd.clients.match.connect import connect_sides
    from plyd.clients.match.openings import openings_of, schedule
    from plyd.clients.match.runner import MakeRunner, MatchRunner
    from plyd.clients.match.side import SideLimits, parse_side

    sides = [parse_side(f"nodes=1000 threads=1 seed={seed}", str(seed), SideLimits()) for seed in (1, 2)]
    with contextlib.ExitStack() as stack:
        make: MakeRunner
        if cluster:
            connected, fleet = stack.enter_context(connect_cluster("connect4", "", sides, ["9x9"], cluster, None))
            make = lambda games: ClusterRunner(fleet, connected.sides, games)  # noqa: E731
        else:
            connected = stack.enter_context(connect_sides("connect4", "", sides, ["9x9"]))
            make = lambda games: MatchRunner(connected, games, CORES)  # noqa: E731
        book = openings_of(connected.referee, None, ["9x9"], 4, 1)
        with make(schedule(book.openings, 1_000_000, {}, connected.sides)) as runner:
            yield (1.0 for _ in runner.results())


@contextlib.contextmanager
def statistics_games(cluster: ClusterSettings | None) -> Iterator[Iterator[float]]:
    """Games of 2048, one ply; without Ray in two processes of one thread, because two nodes have two networks."""
    from plyd.clients.play.cluster import on_cluster
    from plyd.clients.play.tile_games import TileSettings, in_bulk

    each = [TileSettings("2048", "classic", 1_000_000, 1, None, False, "chance", seed, 1) for seed in range(CORES)]
    if cluster:
        with contextlib.closing(on_cluster(cluster, each[0], None, with_actions=False)) as games:
            yield (float(game.moves) for game in games)
        return
    found: queue.SimpleQueue[float] = queue.SimpleQueue()
    over = threading.Event()

    def play(settings: TileSettings) -> None:
        with contextlib.closing(in_bulk(settings, with_actions=False)) as games:
            for game in games:
                found.put(float(game.moves))
                if over.is_set():
                    return

    threads = [threading.Thread(target=play, args=(settings,)) for settings in each]
    for thread in threads:
        thread.start()
    try:
        yield iter(found.get, None)
    finally:
        over.set()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def self_play_positions(cluster: ClusterSettings | None) -> Iterator[Iterator[float]]:
    """Positions of Gomoku, shipped network, quick games."""
    from plyd.engines.gomoku.mcts.inference import shipped_network
    from plyd.engines.gomoku.train.players import open_players
    from plyd.engines.gomoku.train.replay import games_of_arrays
    from plyd.engines.gomoku.train.self_play import SelfPlayParams, self_play_job

    def positions() -> Iterator[float]:
        seed = 0
        while True:
            for _ in range(players.room()):
                seed += 1
                players.give(seed, self_play_job("shipped", style, seed), [shipped_network()])
            time.sleep(0.005)
            for answer in players.answers():
                yield float(sum(len(game.plies()) for game in games_of_arrays(answer["games"])))

    style = SelfPlayParams(24, 8, sizes=(11,))
    with open_players(CORES, cluster) as players:
        yield positions()


class Nothing:
    """A worker that does nothing."""

    def __init__(self, settings: Any, cores: int) -> None:
        """Nothing."""

    def work(self, job: Any) -> Any:
        """The job."""
        return job


@contextlib.contextmanager
def empty_jobs(cluster: ClusterSettings | None) -> Iterator[Iterator[float]]:
    """Jobs that do nothing: what a driver can give out and take."""
    from plyd.cluster.options import open_fleet

    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    spec = WorkerSpec("cluster_sizing:Nothing", at_once=1, ahead=50)
    with open_fleet(cluster, spec) if cluster else Fleet(Processes(spec, CORES)) as fleet:
        yield (1.0 for _ in fleet.results((number, number) for number in range(10_000_000)))


PARTS: dict[str, tuple[Callable[[ClusterSettings | None], contextlib.AbstractContextManager[Iterator[float]]], str]] = {
    "match": (match_games, "games of Connect Four, 9x9, 1,000 nodes a move"),
    "statistics": (statistics_games, "moves of 2048, one ply"),
    "self-play": (self_play_positions, "positions of Gomoku self-play, 11x11, 24/8 simulations"),
    "empty": (empty_jobs, "jobs that do nothing"),
}


def compare(parts: list[str], rounds: int, seconds: float) -> None:
    """Print the rates of each part with and without Ray, in turns.

    On a busy machine the clock says little: Linux shares cores among sessions, and Ray has more of them.
    """
    print("| what | per CPU second, no Ray | Ray | ratio of each round | ratio | by the clock | Ray's own cores |")
    print("|---|---|---|---|---|---|---|")
    with two_nodes() as (cluster, _):
        for part in parts:
            results, what = PARTS[part]
            rows = [
                (*rates(results(None), seconds, on_ray=False), *rates(results(cluster), seconds, on_ray=True))
                for _ in range(rounds)
            ]
            clock, here, _, ray_clock, there, own = (sum(column) / rounds for column in zip(*rows, strict=True))
            each = " ".join(f"{row[4] / row[1]:.2f}" for row in rows)
            ratios = f"{each} | {there / here:.2f} | {ray_clock / clock:.2f} | {own:.2f}"
            print(f"| {what} | {here:,.2f} | {there:,.2f} | {ratios} |", flush=True)


def join() -> None:
    """Print how long it takes from the start of a node to its first result."""
    from plyd.clients.match.cluster import ClusterRunner, connect_cluster
    from plyd.clients.match.openings import openings_of, schedule
    from plyd.clients.match.side import SideLimits, parse_side

    sides = [parse_side(f"nodes=200 threads=1 seed={seed}", str(seed), SideLimits()) for seed in (1, 2)]
    with two_nodes() as (settings, add):
        with connect_cluster("connect4", "", sides, ["9x9"], settings, None) as (connected, fleet):
            book = openings_of(connected.referee, None, ["9x9"], 4, 1)
            games = ClusterRunner(fleet, connected.sides, schedule(book.openings, 1_000_000, {}, connected.sides))
            results = games.results()
            while fleet.workers < CORES:
                next(results)
            began = time.monotonic()
            add()
            added = time.monotonic() - began
            while fleet.workers <= CORES:  # then it has its daemons, and gets a game
                next(results)
            newest = max(fleet._workers)
            given = set(fleet._workers[newest].tickets)
            while given and given <= set(fleet._workers[newest].tickets):
                next(results)
            first = time.monotonic() - began
        print(f"a node joins: {added:.1f} s until Ray has started it, {first:.1f} s until its first game of a match")


def learners() -> None:
    """Print what one learner takes: Gomoku's positions, and moves of 2048."""
    import numpy as np
    import torch

    from plyd.engines.gomoku.train.replay import ReplayBuffer
    from plyd.engines.gomoku.train.self_play import SelfPlayParams, self_play, warm_network
    from plyd.engines.gomoku.train.trainer import GomokuPlan, GomokuTrainer
    from plyd.engines.tiles.games import tile_game
    from plyd.engines.tiles.train.cluster import ClusterTileTrainer
    from plyd.engines.tiles.train.trainer import TilePlan

    with TemporaryDirectory() as folder:
        trainer = GomokuTrainer(GomokuPlan(), Path(folder), 1, 1)
        buffer: ReplayBuffer = trainer.memory
        buffer.add(self_play(warm_network, SelfPlayParams(16, 8, sizes=(15,)), seed)[0] for seed in range(20))
        trainer._step(buffer)
        began, cpu = time.monotonic(), time.process_time()
        for _ in range(20):
            trainer._step(buffer)
        wall, cpu = (time.monotonic() - began) / 20, (time.process_time() - cpu) / 20
    reuse, batch = trainer.plan.reuse, trainer.plan.batch
    print(f"Gomoku 3x32, batch {batch}: {cpu * 1000:.0f} ms CPU a step ({wall * 1000:.0f} ms), so one core learns from")
    print(f"{batch / cpu:,.0f} positions/s, which is {batch / cpu / reuse:,.0f} new positions/s at --reuse {reuse:g};")
    print(f"torch has {torch.get_num_threads()} thread")
    plan = TilePlan("2048", "classic", "4x6", 15)
    learner = ClusterTileTrainer(tile_game("2048", "classic"), plan, ClusterSettings(""), 1)
    cells = np.random.default_rng(1).integers(0, 12, (200_000, 16)).astype(np.uint64)  # weights far apart, as late ones
    path = (cells << np.arange(0, 64, 4, dtype=np.uint64)).sum(axis=1, dtype=np.uint64).reshape(-1, 1)
    result = np.array([[0, len(path), 11, 0]], np.int64)
    answer = {"path": path, "points": np.ones(len(path), np.float32), "results": result, "is_whole": np.array([True])}
    learner._take(answer, 1.0)
    began = time.process_time()
    learner._take(answer, 1.0)
    print(f"2048 4x6 tc: {len(path) / (time.process_time() - began):,.0f} moves per CPU second learned, random boards")


def main() -> None:
    """Measure the parts asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}, join, learners; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each side in each round")
    asked = parser.parse_args()
    parts = asked.parts or [*PARTS, "join", "learners"]
    if ray_parts := [part for part in parts if part in PARTS]:
        compare(ray_parts, asked.rounds, asked.seconds)
    if "join" in parts:
        join()
    if "learners" in parts:
        learners()


if __name__ == "__main__":
    main()
