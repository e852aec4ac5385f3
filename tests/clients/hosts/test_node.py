"""An engine from Node: the schema works for other languages, with stock packages and the .proto files alone."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from plyd.v1 import engine_pb2
from tests.lacking import give_up
from tests.patience import LONG, SOON

FOLDER = Path(__file__).parents[3] / "clients" / "hosts" / "node"


@pytest.fixture(scope="module")
def node():
    """Run the example, installed if it is not."""
    if not shutil.which("node") or not shutil.which("npm"):
        give_up("node and npm are not installed")
    wanted = json.loads((FOLDER / "package.json").read_text())["dependencies"]
    paths = {name: FOLDER / "node_modules" / name / "package.json" for name in wanted}
    if {name: json.loads(path.read_text())["version"] for name, path in paths.items() if path.exists()} != wanted:
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=LONG)
        if done.returncode != 0:
            give_up(f"npm cannot install the gRPC packages: {done.stderr.strip()[-500:]}")

    def run(*arguments):
        command = ["node", "solve.mjs", *arguments]
        return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=SOON)

    return run


NUMBERS = """
import { loadSync } from "@grpc/proto-loader";
const schema = loadSync("plyd/v1/engine.proto", { includeDirs: ["../../../proto"] });
const { requestSerialize } = schema["plyd.v1.EngineService"].Search;
const options = { threads: 1, c: 0.5, solver: false, method: "uct" };
process.stdout.write(requestSerialize({ options }).toString("hex"));
"""


def test_options_from_node_are_texts_numbers_and_booleans(node):
    done = subprocess.run(
        ["node", "--input-type=module", "-e", NUMBERS], cwd=FOLDER, capture_output=True, text=True, timeout=SOON
    )
    request = engine_pb2.SearchRequest.FromString(bytes.fromhex(done.stdout))
    assert dict(request.options) == {"threads": "1", "c": "0.5", "solver": "false", "method": "uct"}


def test_versions_are_pinned():
    package = json.loads((FOLDER / "package.json").read_text())
    assert package["private"] is True
    for version in package["dependencies"].values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)


def test_node_gets_the_same_answers(node, daemon):
    done = node(daemon, "b 2 2 0 0 0 0", "a 5 1 6 0 12 0", "b 1 1 1 1 1 1")
    assert done.stderr == ""
    assert done.returncode == 0
    title, *lines = done.stdout.splitlines()
    assert re.fullmatch(r"2584 on 2x3 by plyd [\d.]+: Every position that can occur is solved exactly, .*", title)

    assert [line for line in lines if line.startswith("search ")] == [
        "search b 2 2 0 0 0 0: right, 1422.339261",
        "search a 5 1 6 0 12 0: no move, 316.0030443",
        "search b 1 1 1 1 1 1: no move, unreachable",
    ]
    assert lines[-3:] == [
        "evaluate b 2 2 0 0 0 0: right, 1422.339261",
        "evaluate a 5 1 6 0 12 0: no move, 316.0030443",
        "evaluate b 1 1 1 1 1 1: no move, NaN",
    ]
    analysis = [line for line in lines if line.startswith("analyze b 2 2 0 0 0 0: ")]
    assert analysis[-1] == "analyze b 2 2 0 0 0 0: right, 9.1873125 at depth 4, final"
    assert not any(line.endswith("final") for line in analysis[:-1])


def test_node_hears_what_is_wrong(node, daemon, nowhere):
    refused = node(daemon, "c 2 2 0 0 0 0")
    assert refused.stderr.startswith('INVALID_ARGUMENT: unknown letter "c" in "c 2 2 0 0 0 0"; expected b or a')
    assert refused.returncode == 1
    alone = node(nowhere, "b 2 2 0 0 0 0")
    assert alone.stderr.startswith("UNAVAILABLE: ")
    assert alone.returncode == 1
