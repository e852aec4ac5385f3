"""The network being trained: one step of gradient descent per batch, and an average of its weights, used for play.

The average is over about the last thousand steps. It is more stable than the weights of a single step, and makes a
decreasing step size unnecessary.
"""

import copy
from pathlib import Path
from typing import Any, Protocol

import torch
from numpy.typing import NDArray

from plyd.engines.gomoku.train.import_network import import_network
from plyd.engines.gomoku.train.network import PolicyValueNetwork, losses
from plyd.engines.gomoku.train.replay import Batch

MOST_GRADIENT = 5.0  # the norm at which a gradient is clipped
YOUNG = 10  # for this many steps the average follows the network closely


class Gradients(Protocol):
    """Whoever computes gradients."""

    def accumulate(self, network: PolicyValueNetwork, batch: Batch) -> tuple[float, float]:
        """Sets the gradients of a network to those of a batch; returns the losses of policy and value."""


class LocalGradients:
    """Computes gradients in this process."""

    def accumulate(self, network: PolicyValueNetwork, batch: Batch) -> tuple[float, float]:
        """Sets the gradients of a network to those of a batch; returns the losses of policy and value."""
        network.zero_grad()
        return backward(network, batch)


class DeviceGradients:
    """Computes gradients on another device, such as a GPU: a copy of the network is there, the optimiser stays here."""

    def __init__(self, blocks: int, channels: int, device: str) -> None:
        copied = PolicyValueNetwork(blocks, channels).to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._copy: PolicyValueNetwork = copied

    def accumulate(self, network: PolicyValueNetwork, batch: Batch) -> tuple[float, float]:
        """Sets the gradients of a network to those of a batch; returns the losses of policy and value."""
        self._copy.load_state_dict(network.state_dict())
        self._copy.zero_grad()
        found = backward(self._copy, batch)
        with torch.no_grad():
            for weight, copied in zip(network.parameters(), self._copy.parameters(), strict=True):
                weight.grad = None if copied.grad is None else copied.grad.to(weight.device, copy=True)
            for buffer, after in zip(network.buffers(), self._copy.buffers(), strict=True):
                buffer.copy_(after)
        return found


class Learner:
    """A network, its average and its optimiser."""

    def __init__(self, blocks: int, channels: int, rate: float, momentum: float, decay: float, keep: float) -> None:
        self.network = PolicyValueNetwork(blocks, channels).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = copy.deepcopy(self.network)
        self.gradients: Gradients = LocalGradients()
        self._keep = keep  # the share of the average that a step keeps
        self._optimiser = torch.optim.SGD(self.network.parameters(), rate, momentum, weight_decay=decay, nesterov=True)

    def import_network(self, path: Path) -> str:
        """Starts with the network of a file; returns the file's SHA-256."""
        sha256 = import_network(self.network, path)
        self.average.load_state_dict(self.network.state_dict())
        return sha256

    def learn(self, batch: Batch, steps: int | None) -> tuple[float, float]:
        """One step on a batch; returns the losses of policy and value. `steps` is the number of this step, or None if
        the network was trained before the run, so that its average is valid from the first step on.
        """
        policy, value = self.gradients.accumulate(self.network, batch)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), MOST_GRADIENT)
        self._optimiser.step()
        self._follow(self._keep if steps is None else min(self._keep, steps / (steps + YOUNG)))
        return policy, value

    def _follow(self, keep: float) -> None:
        """Moves the average towards the network."""
        with torch.no_grad():
            for slow, fast in zip(_tensors(self.average), _tensors(self.network), strict=True):
                if slow.is_floating_point():
                    slow.lerp_(fast, 1 - keep)
                else:
                    slow.copy_(fast)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a checkpoint."""
        arrays: dict[str, NDArray[Any]] = {}
        for prefix, network in (("weights", self.network), ("average", self.average)):
            arrays |= {f"{prefix}/{name}": tensor.numpy() for name, tensor in network.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            momentum = self._optimiser.state[parameter].get("momentum_buffer")
            if momentum is not None:
                arrays[f"momentum/{name}"] = momentum.numpy()
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores the state that `arrays` returned."""
        for prefix, network in (("weights", self.network), ("average", self.average)):
            network.load_state_dict(_under(arrays, prefix))
        for name, parameter in self.network.named_parameters():
            if f"momentum/{name}" in arrays:
                momentum = torch.from_numpy(arrays[f"momentum/{name}"].copy())
                self._optimiser.state[parameter]["momentum_buffer"] = momentum.reshape(parameter.shape)


def backward(network: PolicyValueNetwork, batch: Batch, whole: tuple[float, int] | None = None) -> tuple[float, float]:
    """Adds the gradients of a batch, or of a part of a `whole` one (see `losses`); returns the losses."""
    device = next(network.parameters()).device
    planes = torch.from_numpy(batch.planes).to(device).float().contiguous(memory_format=torch.channels_last)
    columns = (batch.policy, batch.weight, batch.result)
    policies, weights, results = (torch.from_numpy(column).to(device) for column in columns)
    network.train()
    policy, value = losses(network, planes, policies, weights, results, whole)
    (policy + value).backward()  # type: ignore[no-untyped-call]
    return policy.item(), value.item()


def _tensors(network: PolicyValueNetwork) -> list[torch.Tensor]:
    return [*network.parameters(), *network.buffers()]


def _under(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, torch.Tensor]:
    start = prefix + "/"
    return {
        name.removeprefix(start): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith(start)
    }
