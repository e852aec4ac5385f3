"""Fair shares: the client that has had the least slot time lately comes first.

Slot time decays, so that each client gets the same share of the slots while several want them, what was used while
nobody else wanted it is soon forgotten, and a newcomer is ahead of the others for a moment only.
"""

import math
from collections.abc import Iterable

from plyd.servers.search.slots.job import Job, Priority

Account = tuple[Priority, str]
SLICE_SECONDS = 0.05  # a job keeps its slot for at least this long
MEMORY_SECONDS = 1.0  # slot time of that long ago counts 1/e
FORGOTTEN_SECONDS = 0.001
LEVEL_SECONDS = SLICE_SECONDS / 2  # clients whose slot time differs by less are equals: the most urgent goes first


class FairShares:
    """The slot time that clients have had lately."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._had: dict[Account, float] = {}

    def advance(self, now: float, running: Iterable[Job]) -> None:
        """Charge the time since the last call to the jobs that ran all along."""
        passed, self._now = now - self._now, now
        kept = math.exp(-passed / MEMORY_SECONDS)
        self._had = {account: rest for account, had in self._had.items() if (rest := had * kept) > FORGOTTEN_SECONDS}
        for job in running:
            self._had[job.account] = self.had(job.account) + MEMORY_SECONDS * (1 - kept)  # decays as it comes

    def had(self, account: Account) -> float:
        """Seconds of slot time that an account has had lately."""
        return self._had.get(account, 0.0)

    def rank(self, job: Job) -> tuple[int, int, float, int]:
        """Its place among those that wait: the smallest goes first."""
        return (job.priority, level(self.had(job.account)), job.budget.urgency, job.number)

    def is_ahead(self, job: Job, other: Job, more_seconds: float = 0.0) -> bool:
        """Whether a job's client has had more than the other's, `more_seconds` from now."""
        had = self.had(job.account) + (more_seconds if job.account != other.account else 0.0)
        return level(had) > level(self.had(other.account))


def level(seconds: float) -> int:
    """Slot time in steps that are large enough to count."""
    return int(seconds / LEVEL_SECONDS)
