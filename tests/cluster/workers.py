"""Workers for tests: each job says what to do."""

import os
import signal
import time
from pathlib import Path

from plyd.cluster import BrokenWorker


class Doer:
    """Does what a job says, on its way through a file if it is told to."""

    def __init__(self, settings, cores):
        if settings.get("broken"):
            raise RuntimeError("no such thing as a worker")
        self.settings, self.cores = settings, cores

    def work(self, job, *shared):
        if "log" in job:
            with open(job["log"], "a") as file:
                file.write(f"{os.getpid()} {job.get('number')}\n")
        match job.get("do"):
            case "raise":
                raise ValueError(f"job {job['number']} is bad")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "break":
                raise BrokenWorker("out of order")
            case "wait":  # until a file exists
                while not Path(job["file"]).exists():
                    time.sleep(0.01)
        return {"pid": os.getpid(), "number": job.get("number"), "shared": list(shared), **self.settings}
