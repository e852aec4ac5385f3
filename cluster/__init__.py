"""Work on more than one machine. The only room that imports ray; it imports no other room. In the order of a run:

options    --cluster, --workers and --worker-cores of a command, and the fleet that they ask for
fleet      Fleet: gives out jobs, takes answers; the only place that counts
backend    what a fleet needs of whatever runs its workers
processes  a backend of processes on this machine
actors     a backend of Ray actors, on the nodes of a cluster
host       loads a worker by "module:name" and runs its jobs, in a process or an actor

A worker is a class of another room. It is made as `Worker(settings, cores)` on its node and has one method,
`work(job, *shared)`, which returns the answer. Jobs and answers are plain data: dicts, lists, texts, numbers, bytes,
numpy arrays. A worker with a method `close` is told when it ends.
"""

from plyd.cluster.backend import Backend, WorkerSpec
from plyd.cluster.fleet import Fleet, FleetError, JobFailed
from plyd.cluster.host import BrokenWorker

__all__ = ["Backend", "BrokenWorker", "Fleet", "FleetError", "JobFailed", "WorkerSpec"]
