"""A data-parallel learner: workers of a fleet compute the gradients of parts of a batch, the learner sums them.

The learner alone has the optimiser, so a worker may be lost at any time: its part is given to another one. While there
is no worker, the learner computes alone. Batch norm uses the statistics of each part, as in torch's
DistributedDataParallel; the running statistics are averaged.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from plyd.cluster import Fleet, WorkerSpec
from plyd.engines.gomoku.train.learner import Gradients, backward
from plyd.engines.gomoku.train.network import PolicyValueNetwork
from plyd.engines.gomoku.train.replay import Batch

WORKER = "plyd.engines.gomoku.train.gradients:GradientWorker"
POLL_SECONDS = 0.05
Arrays = dict[str, NDArray[Any]]


def gradient_spec(blocks: int, channels: int) -> WorkerSpec:
    """The workers for networks of a shape."""
    return WorkerSpec(WORKER, {"blocks": blocks, "channels": channels}, ahead=0, shares_cores=True)


class GradientWorker:
    """Computes gradients of parts of batches."""

    def __init__(self, settings: Mapping[str, int], cores: int) -> None:
        torch.set_num_threads(cores)
        network = PolicyValueNetwork(settings["blocks"], settings["channels"])
        self._network: PolicyValueNetwork = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def work(self, part: Mapping[str, Any], state: Arrays) -> dict[str, Any]:
        """The gradients of a part of a batch, its losses, and the running statistics after it."""
        self._network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in state.items()})
        self._network.zero_grad()
        batch = Batch(*(np.array(column) for column in part["columns"]))  # Ray's arrays are read-only
        losses = backward(self._network, batch, part["whole"])
        gradients = {name: np.zeros(0) if w.grad is None else w.grad.numpy() for name, w in self._named_weights()}
        statistics = {name: buffer.numpy() for name, buffer in self._network.named_buffers()}
        return {"gradients": gradients, "statistics": statistics, "losses": losses}

    def _named_weights(self) -> list[tuple[str, Any]]:
        return list(self._network.named_parameters())


class GradientFleet:
    """Has gradients computed by a fleet, or by `alone` while it has no worker."""

    def __init__(self, fleet: Fleet, alone: Gradients) -> None:
        self._fleet, self._alone = fleet, alone
        self._steps = 0

    def accumulate(self, network: PolicyValueNetwork, batch: Batch) -> tuple[float, float]:
        """Sets the gradients of a network to those of a batch, and its running statistics; returns the losses."""
        self._steps += 1
        self._fleet.answers(0)
        answers = self._answers_to(network, batch) if self._fleet.workers else None
        if answers is None:
            return self._alone.accumulate(network, batch)
        with torch.no_grad():
            for name, weight in network.named_parameters():
                weight.grad = torch.from_numpy(sum_of([each["gradients"][name] for each in answers]))
            for name, buffer in network.named_buffers():
                mean = sum_of([each["statistics"][name] for each in answers]) / len(answers)
                buffer.copy_(torch.from_numpy(np.asarray(mean)))
        return sum(each["losses"][0] for each in answers), sum(each["losses"][1] for each in answers)

    def _answers_to(self, network: PolicyValueNetwork, batch: Batch) -> list[dict[str, Any]] | None:
        """What workers say to the parts of a batch, always in the same order; None if all workers are lost."""
        state = self._fleet.share({name: tensor.numpy() for name, tensor in network.state_dict().items()})
        whole = float(batch.weight.sum()), len(batch.result)
        parts = parts_of(batch, self._fleet.workers)
        for number, part in enumerate(parts):
            self._fleet.give((self._steps, number), {"columns": part, "whole": whole}, [state])
        answers: dict[Any, dict[str, Any]] = {}
        while len(answers) < len(parts):
            answers |= dict(self._fleet.answers(POLL_SECONDS))
            if not self._fleet.workers:
                for number in range(len(parts)):
                    self._fleet.drop((self._steps, number))
                return None
        return [answers[self._steps, number] for number in range(len(parts))]


def parts_of(batch: Batch, count: int) -> list[tuple[NDArray[Any], ...]]:
    """The columns of a batch in about equal parts of at least two positions, which batch norm needs."""
    count = max(1, min(count, len(batch.result) // 2))
    columns = (batch.planes, batch.policy, batch.weight, batch.result)
    return list(zip(*(np.array_split(column, count) for column in columns), strict=True))


def sum_of(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The sum of arrays, in an array of its own."""
    total = np.array(arrays[0])
    for array in arrays[1:]:
        total = total + array
    return total
