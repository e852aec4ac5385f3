"""Policy-value networks (today Gomoku's): a file for play holds one ONNX model.

A training run's folder has its networks for play in `nets/`, named by their steps. A folder that `plyd models import`
made has only `start.plyd`: the network that the training starts with. What is in the model is the engine's business.
"""

import shutil
from pathlib import Path
from typing import Any

from plyd.models.errors import BadWeights
from plyd.models.files import Arrays, manifest_of, read_file, write_file, write_manifest

KIND, CHECKPOINT_KIND = "policy-value", "gomoku checkpoint"
NETS, START = "nets", "start.plyd"


def read_network(path: Path) -> tuple[dict[str, Any], Arrays, str]:
    """The header, the arrays and the SHA-256 of a network for play."""
    header, arrays, sha256 = read_file(path)
    if header.get("kind") != KIND or "onnx" not in arrays:
        raise BadWeights(f"{path} is a {header.get('kind')}, not a {KIND} network")
    return header, arrays, sha256


def newest_network(run: Path) -> Path:
    """The latest network for play of a training run's folder."""
    found = sorted(path for path in (run / NETS).glob("*.plyd") if path.stem.isdecimal())
    if not found and (run / START).exists():
        return run / START
    if not found:
        raise BadWeights(f"{run / NETS} has no network yet: train until the end of the first generation")
    return found[-1]


def pack(run: Path, file: Path) -> str:
    """Writes the latest network of a run to a file, and its manifest beside it; the file's SHA-256."""
    header, arrays, _ = read_network(newest_network(run))
    trained = {"games": 0, "seconds": 0, **header.get("manifest", {})}
    trained |= {name: value for name, value in manifest_of(run).items() if name == "commands"}
    sha256 = write_file(file, header | {"name": file.stem, "manifest": trained}, arrays)
    write_manifest(file, {"sha256": sha256, "trained": trained, "scores": []})
    return sha256


def start_run(file: Path, run: Path) -> str:
    """Makes a folder from which training starts with the network of a file; the network's shape as options."""
    header, _, _ = read_network(file)
    run.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, run / START)
    return f"--blocks {header.get('blocks')} --channels {header.get('channels')}"


def export_onnx(path: Path, file: Path) -> None:
    """Writes the ONNX model of a network for play, or of a run's latest one."""
    _, arrays, _ = read_network(newest_network(path) if path.is_dir() else path)
    file.write_bytes(arrays["onnx"].tobytes())
