"""Exports a trained network to a file for play, as ONNX with the batch norms folded into the convolutions.

The ONNX graph is written node by node: there are only twelve kinds of nodes, so no tracer is needed. The exported
network is compared with the trained one before it is written.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from plyd.engines.gomoku.mcts.inference import KIND, Evaluator
from plyd.engines.gomoku.mcts.planes import PLANES, VERSION
from plyd.engines.gomoku.train.network import PolicyValueNetwork, ResidualBlock
from plyd.models.errors import BadWeights
from plyd.models.files import write_file

OPSET, IR = 17, 9
TOLERANCE = 1e-3  # maximum difference of logits and values between torch and ONNX Runtime


def export(network: PolicyValueNetwork, path: Path, name: str, manifest: dict[str, Any]) -> str:
    """Writes the network for play, if its outputs equal those of the trained one; returns the file's SHA-256."""
    model = onnx_bytes(network)
    difference = largest_difference(network, model)
    if not difference <= TOLERANCE:
        raise BadWeights(f"the exported network differs from the trained one by {difference:.2g}")
    header = {
        "kind": KIND,
        "game": "gomoku",
        "variant": "freestyle",
        "name": name,
        "planes": VERSION,
        "blocks": network.blocks,
        "channels": network.channels,
        "difference": difference,
        "manifest": manifest,
    }
    return write_file(path, header, {"onnx": np.frombuffer(model, np.uint8)})


def largest_difference(network: PolicyValueNetwork, model: bytes) -> float:
    """The largest difference between the outputs of the trained and the exported network, on random boards."""
    rng = np.random.default_rng(1)
    evaluator = Evaluator(model)
    was_training = network.training
    network.eval()
    worst = 0.0
    with torch.no_grad():
        for size in (5, 15, 20):
            planes = rng.integers(0, 2, (3, PLANES, size, size)).astype(np.uint8)
            logits, values = evaluator(planes)
            wanted_logits, wanted_values = network(torch.from_numpy(planes))
            worst = max(worst, float(np.abs(logits - wanted_logits.numpy()).max()))
            worst = max(worst, float(np.abs(values - wanted_values.numpy()).max()))
    network.train(was_training)
    return worst


def onnx_bytes(network: PolicyValueNetwork) -> bytes:
    """The network as an ONNX model: planes uint8 [n, PLANES, size, size] to policy [n, points] and value [n]."""
    graph = _Graph()
    x = graph.add("Cast", ["planes"], to=TensorProto.FLOAT)
    x = graph.relu(graph.conv(x, network.stem, network.stem_norm))
    for block in network.tower:
        assert isinstance(block, ResidualBlock)
        y = graph.relu(graph.conv(x, block.first, block.first_norm))
        y = graph.conv(y, block.second, block.second_norm)
        x = graph.relu(graph.add("Add", [x, y]))
    logits = graph.conv(graph.relu(graph.conv(x, network.policy)), network.policy_out)
    graph.add("Reshape", [logits, graph.constant(np.array([0, -1]))], "policy")
    seen = graph.relu(graph.conv(x, network.value))
    pools = [graph.add("GlobalAveragePool", [seen]), graph.add("GlobalMaxPool", [seen])]
    pooled = graph.add("Flatten", [graph.add("Concat", pools, axis=1)])
    dense = graph.relu(graph.dense(pooled, network.value_dense))
    value = graph.add("Tanh", [graph.dense(dense, network.value_out)])
    graph.add("Reshape", [value, graph.constant(np.array([-1]))], "value")
    return graph.bytes()


class _Graph:
    """An ONNX graph under construction."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        output = output or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def relu(self, x: str) -> str:
        return self.add("Relu", [x])

    def conv(self, x: str, layer: nn.Conv2d, norm: Any = None) -> str:
        """A convolution, with its batch norm folded into the weights."""
        weight = layer.weight.detach().numpy().astype(np.float64)
        bias = np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().numpy().astype(np.float64)
        if norm is not None:
            mean, variance = norm.running_mean.numpy().astype(np.float64), norm.running_var.numpy().astype(np.float64)
            scale = norm.weight.detach().numpy() / np.sqrt(variance + norm.eps)
            weight, bias = weight * scale[:, None, None, None], (bias - mean) * scale + norm.bias.detach().numpy()
        side = weight.shape[-1]
        inputs = [x, self.constant(weight.astype(np.float32)), self.constant(bias.astype(np.float32))]
        return self.add("Conv", inputs, kernel_shape=[side, side], pads=[side // 2] * 4)

    def dense(self, x: str, layer: nn.Linear) -> str:
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        return self.add("Gemm", [x, self.constant(weight), self.constant(bias)], transB=1)

    def bytes(self) -> bytes:
        planes = helper.make_tensor_value_info("planes", TensorProto.UINT8, ["n", PLANES, "size", "size"])
        policy = helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["n", "points"])
        value = helper.make_tensor_value_info("value", TensorProto.FLOAT, ["n"])
        graph = helper.make_graph(self._nodes, "gomoku", [planes], [policy, value], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="plyd")
        model.ir_version = IR
        onnx.checker.check_model(model)
        data: bytes = model.SerializeToString()
        return data
