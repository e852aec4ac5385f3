"""The examples in docs/protocol.md, run as they stand there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PRELUDE = next(line for line in BLOCKS[0].splitlines() if "call()" in line).removeprefix("$ ")


def split(block):
    """What is typed in a block, and what is printed."""
    first = re.search(r"^[^$ ]", block, re.MULTILINE).start()  # a line of output; commands go on after spaces
    return re.sub(r"^\$ ", "", block[:first], flags=re.MULTILINE), block[first:]


def documents(text):
    """The JSON documents in a text, one after another."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while text[at:].strip():
        document, end = decoder.raw_decode(text[at:].lstrip())
        at += end + len(text[at:]) - len(text[at:].lstrip())
        found.append(document)
    return found


def is_part(shown, whole):
    """Whether everything that is shown is in the whole, which may have more fields."""
    if isinstance(shown, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(shown[key], whole[key]) for key in shown)
    if isinstance(shown, list):
        return len(shown) == len(whole) and all(map(is_part, shown, whole))
    return shown == (pytest.approx(whole, rel=1e-12) if isinstance(whole, float) else whole)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: re.findall(r"\w+$|$", split(block)[0].strip())[0])
def test_example(block, daemon, socket_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if not shutil.which("buf", path=path):
        pytest.fail("buf is not installed; it is in the extra `dev`")
    typed, printed = split(block)
    script = typed.replace("127.0.0.1:25840", daemon).replace("/tmp/plyd.sock", str(socket_path))
    done = subprocess.run(
        ["bash", "-c", f"{PRELUDE}\n{script}"],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    if "{" not in printed:
        assert done.stdout == printed
        return
    shown, found = documents(printed.removeprefix("...\n")), documents(done.stdout)
    if printed.startswith("..."):
        found = found[-len(shown) :]
    assert is_part(shown, found), done.stdout


def test_part_of_an_answer_is_told_from_what_is_not():
    whole = {"id": "1", "moves": ["left", "up"], "state": {"points": 3}}
    assert is_part({"moves": ["left", "up"], "state": {}}, whole)
    assert not is_part({"moves": ["left"]}, whole)
    assert not is_part({"state": {"points": 2}}, whole)
    assert not is_part({"report": {}}, whole)
