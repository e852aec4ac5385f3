"""Network inference: ONNX Runtime on one core, a batch of planes in, logits and values out. No torch here.

Positions per second on one core of an EPYC with AVX2, 15x15 boards, at batches of 1 / 4 / 16: 3 blocks of 32 channels
2,660 / 2,960 / 3,120; 4 of 32 2,070 / 2,390 / 2,360; 4 of 48 980 / 940 / 1,010. Larger batches gain little, so batches
are small, and the threads of a search share one session and call it concurrently.
"""

from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.engine import Model
from plyd.engines.core.errors import BadModel
from plyd.engines.gomoku.mcts.planes import PLANES, VERSION
from plyd.models.errors import BadWeights
from plyd.models.files import read_file
from plyd.models.onnx import check_model

KIND = "policy-value"


def shipped_network() -> Path:
    """The file of the network that ships; used for every rule set."""
    return Path(str(resources.files("plyd.models"))) / "weights" / "gomoku-freestyle.plyd"


class Evaluates(Protocol):
    """A network, or a stand-in for one."""

    def __call__(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Planes [B, PLANES, S, S] to logits [B, S * S] and values [B], -1 (loss) to 1 (win) for the side to move."""


class Evaluator:
    """A network's ONNX Runtime session. Several threads may call it at once."""

    def __init__(self, model: bytes) -> None:
        import onnxruntime  # slow to import, and needed only to play with a network

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            (taken,) = self._session.get_inputs()
            given = {output.name for output in self._session.get_outputs()}
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            raise BadModel(f"ONNX Runtime cannot use the network: {str(error).partition(chr(10))[0]}") from None
        if taken.name != "planes" or list(taken.shape)[1:2] != [PLANES] or not {"policy", "value"} <= given:
            raise BadModel(f"the network takes {taken.name} {taken.shape}; expected planes [n, {PLANES}, size, size]")

    def __call__(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Planes [B, PLANES, S, S] to logits [B, S * S] and values [B]."""
        logits, values = self._session.run(("policy", "value"), {"planes": planes})
        return logits, values


def load_network(path: Path) -> tuple[Evaluator, Model]:
    """The network of a file, and its entry for the card."""
    try:
        header, arrays, sha256 = read_file(path)
    except BadWeights as error:
        raise BadModel(str(error)) from None
    if header.get("kind") != KIND or header.get("game") != "gomoku" or "onnx" not in arrays:
        raise BadModel(f"{path} is a {header.get('kind')} for {header.get('game')}, not a {KIND} network for gomoku")
    if header.get("planes") != VERSION:
        raise BadModel(f"{path} has planes of version {header.get('planes')}; this engine makes version {VERSION}")
    model = arrays["onnx"].tobytes()
    try:
        check_model(model)
        evaluator = Evaluator(model)
    except (BadModel, BadWeights) as error:
        raise BadModel(f"{path}: {error}") from None
    return evaluator, Model(str(header.get("name")), sha256)
