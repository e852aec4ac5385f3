"""The container file: a linter reads it, and (slow) its own steps are run in a folder of this machine."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.lines import parsed
from tests.patience import SOON

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "container" / "Containerfile"


def steps():
    """The instructions of each stage: (word, rest), lines that go on joined."""
    text = re.sub(r"\\\n\s*", " ", "\n".join(line for line in FILE.read_text().splitlines() if line[:1] != "#"))
    lines = [line.split(" ", 1) for line in text.splitlines() if line]
    starts = [i for i, (word, _) in enumerate(lines) if word == "FROM"]
    return [[(word, rest) for word, rest in lines[i:j]] for i, j in zip(starts, [*starts[1:], None], strict=True)]


BUILD, IMAGE = steps()


def said(stage, word):
    """What a stage says after each instruction of a kind."""
    return [rest for kind, rest in stage if kind == word]


def environment(stage):
    """The variables that a stage sets."""
    words = [part for line in said(stage, "ENV") for part in shlex.split(line)]
    return dict(word.replace("${CPU}", said(stage, "ARG")[0].split("=")[1]).split("=", 1) for word in words)


def test_the_linter_finds_nothing():
    program = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([program, "--no-color", str(FILE)], capture_output=True, text=True, timeout=SOON)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is_stopped_and_asked():
    [user] = said(IMAGE, "USER")
    assert int(user.split(":")[0]) > 0
    assert said(IMAGE, "STOPSIGNAL") == ["SIGTERM"]
    [health] = said(IMAGE, "HEALTHCHECK")
    assert 'plyd health \\"$HEALTH_ADDRESS\\"' in health
    assert environment(IMAGE)["HEALTH_ADDRESS"].startswith("127.0.0.1:")


def test_the_command_is_one_that_plyd_has_and_listens_on_loopback():
    [command] = said(IMAGE, "CMD")
    words = json.loads(command)
    assert "--insecure" not in words
    assert not any(address.startswith("0.0.0.0") for address in parsed(words).params["listen"])


def test_kernels_are_run_by_the_kind_of_processor_that_they_were_compiled_for():
    build, image = environment(BUILD), environment(IMAGE)
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        assert build[name] == image[name]


def test_the_image_is_made_of_what_the_wheel_needs_and_of_nothing_else():
    wanted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in wanted)
    copied = {rest.split()[-2] for rest in said(IMAGE, "COPY") if "--from" not in rest}
    assert copied == {"deploy/container/start"} <= set(wanted)
    assert "torch" not in FILE.read_text()


# --- The steps themselves ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder in which the build stage's own commands ran, with this folder for the image's root."""
    root = tmp_path_factory.mktemp("image")
    source = root / "src"
    for name in [line[1:].strip() for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]:
        place = source / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy2(ROOT / name, place)
    variables = {name: at(root, value) for name, value in environment(BUILD).items()}
    for command in said(BUILD, "RUN"):
        subprocess.run(
            ["sh", "-ec", at(root, command)], cwd=source, env={**clean(), **variables}, check=True, timeout=600
        )
    shutil.copy2(source / "deploy" / "container" / "start", root / "opt" / "plyd" / "bin" / "start")
    return root


def at(root, text):
    """A text with the image's folders in another place."""
    return re.sub(r"(?<![\w.])/(opt|wheel|cache)\b", rf"{root}/\1", text)


def clean():
    """The environment without what this run of the tests adds."""
    ours = ("PYTHON", "NUMBA", "XDG", "PLYD")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.mark.slow
def test_what_the_steps_build_serves_with_no_kernel_left_to_compile(built):
    kernels = {file.name: file.read_bytes() for file in (built / "opt/plyd/cache").rglob("*.nb?")}
    assert len(kernels) > 50
    assert not list((built / "opt/plyd/lib").rglob("torch"))
    start = built / "opt/plyd/bin/start"
    start.write_text(at(built, start.read_text()))
    (built / "cache").mkdir()
    folder = f"{built}/opt/plyd/bin:{os.environ['PATH']}"
    variables = {name: at(built, value) for name, value in environment(IMAGE).items()} | {"PATH": folder}
    listen = ["--listen", "127.0.0.1:0", "--listen", f"unix:{built}/cache/plyd.sock"]
    command = [str(start), "serve", "2584-2x3", "connect4", *listen]
    with subprocess.Popen(command, env={**clean(), **variables}, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith("serving 2584-2x3 connect4 on 127.0.0.1:")
            health = ["plyd", "health", f"unix:{built}/cache/plyd.sock"]
            asked = subprocess.run(health, env={**clean(), **variables}, capture_output=True, text=True, timeout=SOON)
            assert (asked.returncode, asked.stdout) == (0, "SERVING\n")
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 0
    assert {file.name: file.read_bytes() for file in (built / "cache").rglob("*.nb?")} == kernels
