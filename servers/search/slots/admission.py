"""Admission: a search may wait for a slot only if one is likely to come free in time.

A search with a time limit and a slot ends when its time is over. So the running and waiting searches tell when slots
come free:

    slot 1   [running, due at 40 ms][first in the queue, due at 90 ms][second ...
    slot 2   [running, due at 60 ms][newcomer?
                                    ^ starts at 60 ms; if that leaves it too little time, it is refused now

Many searches end long before their limit, and the picture above would be far too pessimistic for them. A search is
therefore expected to take no longer than is usual or, once it has taken longer, twice as long as it has taken so far.
A slot also comes free when its search has to give it up to a client that has had less.
"""

import heapq
from collections.abc import Iterable

from plyd.servers.search.slots.fair_share import Account, FairShares, level
from plyd.servers.search.slots.job import Job, WaitBudget


def expected_end(budget: WaitBudget, began: float, usual_seconds: float, now: float) -> float:
    """When a running search is likely to end."""
    return min(max(now, budget.due), began + max(usual_seconds, 2 * (now - began)))


def expected_starts(
    ends: Iterable[float], queue: Iterable[Job], shares: FairShares, usual_seconds: float
) -> dict[Job, float]:
    """When each job in the queue gets a slot, if clients take turns; `ends` has the expected end of each slot's job."""
    slots = list(ends)
    heapq.heapify(slots)
    jobs: dict[Account, list[Job]] = {}
    for job in sorted(queue, key=lambda job: (job.budget.urgency, job.number), reverse=True):
        jobs.setdefault(job.account, []).append(job)  # the most urgent one last
    had = {account: shares.had(account) for account in jobs}
    turns = [_turn(had[account], waiting[-1]) for account, waiting in jobs.items()]
    heapq.heapify(turns)
    starts = {}
    while turns:
        account = turns[0][-1]
        job, start = jobs[account].pop(), slots[0]
        end = max(start, min(job.budget.due, start + usual_seconds))
        starts[job] = start
        heapq.heapreplace(slots, end)
        had[account] += end - start
        if jobs[account]:
            heapq.heapreplace(turns, _turn(had[account], jobs[account][-1]))
        else:
            heapq.heappop(turns)
    return starts


def _turn(had: float, job: Job) -> tuple[int, int, float, int, Account]:
    return (job.priority, level(had), job.budget.urgency, job.number, job.account)
