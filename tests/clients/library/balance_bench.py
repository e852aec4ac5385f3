"""How long searches wait for a slot, by the way in which clients choose between four daemons at 80% load.

    python -m tests.clients.library.balance_bench [--clients 16] [--seconds 60] [POLICY ...]

Daemons of the fake game with one slot each, in this process. Searches begin at random moments; four of five take 50 ms,
one takes a second. Every policy gets the same searches at the same moments. Printed: the mean and the 90th percentile
of the time from the call to the answer, less the search's own.
"""

import argparse
import asyncio
import contextlib
import random
import statistics
import time

from plyd.clients import AsyncEngineClient
from plyd.clients.library.connect.balance import Balancer
from tests.servers.daemons import House, OpenDaemon
from tests.servers.fakes import FakeEngine

DAEMONS, LOAD = 4, 0.8
SECONDS, SHARES = (0.05, 1.0), (0.8, 0.2)
RATE = DAEMONS * LOAD / sum(seconds * share for seconds, share in zip(SECONDS, SHARES, strict=True))


def in_turn(daemons):
    return min(daemons, key=lambda daemon: daemon.turn)


def least_of_two(daemons):
    return min(random.sample(daemons, 2), key=lambda daemon: (daemon.load, daemon.turn))


def least_own(daemons):
    return min(daemons, key=lambda daemon: (daemon.calls, daemon.turn))


POLICIES = {"round-robin": in_turn, "least of two": least_of_two, "own calls only": least_own, "least loaded": None}


@contextlib.contextmanager
def policy(choose):
    """Lets balancers choose by a function; None for their own way."""
    original = Balancer._choose

    def chosen(self):
        daemon = choose(self.daemons)
        daemon.turn = next(self._turns)
        return daemon

    Balancer._choose = chosen if choose else original
    try:
        yield
    finally:
        Balancer._choose = original


async def measure(address, clients, seconds, seed=1):
    """How long each search waited, in ms."""
    dice, waits, tasks = random.Random(seed), [], []
    async with contextlib.AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(AsyncEngineClient(address)) for _ in range(clients)]
        await asyncio.gather(*(caller.describe() for caller in callers))
        await asyncio.sleep(0.5)

        async def search(caller, takes):
            began = time.monotonic()
            await caller.search(options={"reports": "1", "seconds_per_report": str(takes)})
            waits.append(1000 * (time.monotonic() - began - takes))

        begin, due = time.monotonic(), 0.0
        while (due := due + dice.expovariate(RATE)) < seconds:
            await asyncio.sleep(max(0.0, begin + due - time.monotonic()))
            tasks.append(asyncio.ensure_future(search(dice.choice(callers), dice.choices(SECONDS, SHARES)[0])))
        await asyncio.gather(*tasks)
    return waits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", metavar="POLICY", help=f"default: {', '.join(POLICIES)}")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    house = House()
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(OpenDaemon(house, FakeEngine(), queue_size=500)) for _ in range(DAEMONS)]
        address = ",".join(daemon.target for daemon in daemons)
        for name in args.policies or POLICIES:
            with policy(POLICIES[name]):
                waits = asyncio.run(measure(address, args.clients, args.seconds))
            tenth = statistics.quantiles(waits, n=10)[-1]
            print(
                f"{name:15} {statistics.mean(waits):6.0f} ms mean {tenth:6.0f} ms p90 {len(waits):5} searches",
                flush=True,
            )
    house.close()


if __name__ == "__main__":
    main()
