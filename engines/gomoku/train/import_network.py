"""Imports a network for play for further training: the inverse of `export`.

A file for play has its batch norms folded into the convolutions. Here each norm is set to the identity plus the bias,
from the mean and the variance of its inputs on self-play positions. So the network gives the same outputs as the file,
and can be trained further.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

from plyd.engines.gomoku.mcts.inference import load_network
from plyd.engines.gomoku.train.export import TOLERANCE, largest_difference
from plyd.engines.gomoku.train.network import PolicyValueNetwork, ResidualBlock
from plyd.engines.gomoku.train.replay import ReplayBuffer
from plyd.engines.gomoku.train.self_play import SelfPlayParams, self_play
from plyd.models.errors import BadWeights
from plyd.models.files import read_file

GAMES, POSITIONS = 6, 512  # of self-play, for setting the norms
QUICK = SelfPlayParams(simulations=32, quick_simulations=32, full_share=0.0, sizes=(15,))
Layer = tuple[Any, nn.BatchNorm2d | None]


def import_network(network: PolicyValueNetwork, path: Path) -> str:
    """Sets a network's weights so that its outputs equal those of a file for play; returns the file's SHA-256."""
    evaluator, model = load_network(path)
    _, arrays, _ = read_file(path)
    graph = onnx.load_from_string(arrays["onnx"].tobytes()).graph
    folded = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
    nodes = [node for node in graph.node if node.op_type in ("Conv", "Gemm")]
    mine = list(layers(network))
    if [folded[node.input[1]].shape for node in nodes] != [tuple(layer.weight.shape) for layer, _ in mine]:
        raise BadWeights(f"{path} has another shape than a network of {network.blocks}x{network.channels}")
    hooks = []
    with torch.no_grad():
        for node, (layer, norm) in zip(nodes, mine, strict=True):
            weight, bias = (torch.from_numpy(folded[name].copy()) for name in node.input[1:])
            layer.weight.copy_(weight)
            if norm is None:
                layer.bias.copy_(bias)
            else:
                hooks.append(norm.register_forward_pre_hook(_identity_plus(bias)))
        network.eval()
        network(torch.from_numpy(positions_of(evaluator)))
    for hook in hooks:
        hook.remove()
    difference = largest_difference(network, arrays["onnx"].tobytes())
    if not difference <= TOLERANCE:
        raise BadWeights(f"the network imported from {path} differs from the file by {difference:.2g}")
    return model.sha256


def layers(network: PolicyValueNetwork) -> Iterator[Layer]:
    """The layers in the order in which `export` writes them, each with the norm that is folded into it."""
    yield network.stem, network.stem_norm
    for block in network.tower:
        assert isinstance(block, ResidualBlock)
        yield block.first, block.first_norm
        yield block.second, block.second_norm
    for layer in (network.policy, network.policy_out, network.value, network.value_dense, network.value_out):
        yield layer, None


def positions_of(evaluate: Any) -> NDArray[np.uint8]:
    """Planes of positions from a few quick games."""
    memory = ReplayBuffer(1 << 20)
    memory.add(self_play(evaluate, QUICK, seed)[0] for seed in range(GAMES))
    return memory.sample(POSITIONS, np.random.default_rng(1)).planes


def _identity_plus(bias: Tensor) -> Any:
    """A hook that sets a batch norm from its next input, so that it adds the bias and changes nothing else."""

    def set_norm(norm: nn.Module, inputs: tuple[Tensor]) -> None:
        assert isinstance(norm, nn.BatchNorm2d)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        variance, mean = torch.var_mean(inputs[0], (0, 2, 3))
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_(torch.sqrt(variance + norm.eps))
        norm.bias.copy_(bias + mean)

    return set_norm
