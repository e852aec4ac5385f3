"""`plyd models`: what ships, and networks packed, imported and exported; what goes wrong, in one line."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.models import shipped
from plyd.models.files import CHECKPOINT, kind_of, read_file, write_file
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.lab import read_lab
from plyd.models.ntuple.packing import unpack, unpacked


def invoke(*words):
    return CliRunner().invoke(main, ["models", *map(str, words)])


def assert_one_line(result, *parts):
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("Error: ")
    for part in parts:
        assert str(part) in line


@pytest.fixture
def run(tmp_path):
    """A training run's folder."""
    folder = tmp_path / "run"
    rng = np.random.default_rng(1)
    places, weights = np.arange(100, dtype=np.uint32), rng.normal(0, 100, 100).astype(np.float32)
    sums = np.stack([np.ones(100), np.arange(100) + 1], axis=1).astype(np.float32)
    write_checkpoint(folder / CHECKPOINT, Checkpoint("2048", "classic", "01 15", 16, 0.0, places, weights, sums))
    return folder


# --- What ships -------------------------------------------------------------------------------------------------------


def test_every_network_that_ships_is_listed_as_sound():
    result = invoke()
    assert result.exit_code == 0, result.output
    for name in (
        "2048-classic",
        "2584-classic",
        "2584-hard",
        "gomoku-freestyle",
        "gomoku-network-freestyle",
        "gomoku-network-renju",
        "gomoku-network-standard",
        "gomoku-patterns",
    ):
        (line,) = (line for line in result.stdout.splitlines() if name in line)
        assert "sound" in line
        assert re.search(r"\b[0-9a-f]{12}\b", line)
        assert re.search(r"[1-9]\d*\.\d [kM]B", line)


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    """A folder of networks that ship: one, packed just now."""
    folder = tmp_path / "models"
    folder.mkdir()
    assert invoke("pack", run, folder / "small.plyd").exit_code == 0
    monkeypatch.setattr(shipped, "WEIGHTS", folder)
    return folder


def test_a_network_that_was_packed_is_listed(shelf):
    result = invoke()
    assert result.exit_code == 0, result.output
    assert "small" in result.stdout
    assert "sound" in result.stdout


def test_a_network_that_was_harmed_is_listed_as_such(shelf):
    data = bytearray((shelf / "small.plyd").read_bytes())
    data[-40] ^= 1
    (shelf / "small.plyd").write_bytes(data)
    result = invoke()
    assert result.exit_code == 1
    assert "corrupt" in result.stdout


def test_a_network_with_the_manifest_of_another_is_listed_as_such(shelf):
    manifest = json.loads((shelf / "small.json").read_text())
    (shelf / "small.json").write_text(json.dumps(manifest | {"sha256": "0" * 64}))
    result = invoke()
    assert result.exit_code == 1
    assert "not the one of" in result.stdout


# --- Packing ----------------------------------------------------------------------------------------------------------


def test_a_run_is_packed_with_its_manifest_beside_it(tmp_path, run):
    (run / "manifest.json").write_text(json.dumps({"games": 7, "seconds": 60, "network": "01 15", "commands": []}))
    result = invoke("pack", run, tmp_path / "mine.plyd", "--step", 0.5)
    assert result.exit_code == 0, result.output
    packed, manifest = unpack(tmp_path / "mine.plyd"), json.loads((tmp_path / "mine.json").read_text())
    assert packed.sha256 == manifest["sha256"]
    assert packed.sha256 in result.stderr
    assert manifest["packed"] == {"step": 0.5, "keep": 1.0}
    assert manifest["trained"]["games"] == packed.manifest["trained"]["games"] == 7
    assert np.abs(packed.counts * packed.step - read_checkpoint(run).whole()).max() <= 0.2501


def test_a_run_without_a_manifest_is_packed_too(tmp_path, run):
    assert invoke("pack", run, tmp_path / "mine.plyd", "--keep", 0.5).exit_code == 0
    manifest = json.loads((tmp_path / "mine.json").read_text())
    assert manifest["trained"] == {"network": "01 15", "games": 0, "seconds": 0}
    assert (unpack(tmp_path / "mine.plyd").counts[:45] == 0).all()


@pytest.mark.parametrize("words", [["--step", 0], ["--step", -1], ["--keep", 0], ["--keep", 1.5], ["--step", "x"]])
def test_a_step_or_a_share_out_of_range_is_a_wrong_use(tmp_path, run, words):
    assert invoke("pack", run, tmp_path / "mine.plyd", *words).exit_code == 2


def test_what_is_no_run_is_not_packed(tmp_path):
    assert_one_line(invoke("pack", tmp_path / "none", tmp_path / "mine.plyd"), "cannot read", tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    assert_one_line(invoke("pack", tmp_path / "text", tmp_path / "mine.plyd"), "not a file of weights")
    assert not (tmp_path / "mine.plyd").exists()


def test_a_packed_network_is_not_packed_again(tmp_path, run):
    invoke("pack", run, tmp_path / "mine.plyd")
    assert_one_line(invoke("pack", tmp_path / "mine.plyd", tmp_path / "again.plyd"), "is a network, not a checkpoint")


def test_a_run_whose_manifest_was_harmed_is_told_in_one_line(tmp_path, run):
    (run / "manifest.json").write_text('{"games": 7, "se')
    assert_one_line(invoke("pack", run, tmp_path / "mine.plyd"), run / "manifest.json")


def test_a_file_named_as_a_manifest_is_not_lost(tmp_path, run):
    result = invoke("pack", run, tmp_path / "mine.json")
    assert result.exit_code != 0 or unpack(tmp_path / "mine.json")


# --- To the lab and back ----------------------------------------------------------------------------------------------


def test_a_run_goes_to_the_lab_and_back(tmp_path, run):
    result = invoke("export", run, tmp_path / "weights.bin")
    assert result.exit_code == 0, result.output
    assert (read_lab(tmp_path / "weights.bin").whole() == read_checkpoint(run).whole()).all()
    result = invoke("import", tmp_path / "weights.bin", tmp_path / "student")
    assert result.exit_code == 0, result.output
    assert "patterns 01 15" in result.stderr
    assert (read_checkpoint(tmp_path / "student").whole() == read_checkpoint(run).whole()).all()


def test_what_was_imported_can_be_packed(tmp_path, run):
    invoke("export", run, tmp_path / "weights.bin")
    invoke("import", tmp_path / "weights.bin", tmp_path / "student")
    assert invoke("pack", tmp_path / "student", tmp_path / "mine.plyd").exit_code == 0
    assert unpack(tmp_path / "mine.plyd").game == "2048"


def test_a_run_is_not_imported_over_another(tmp_path, run):
    invoke("export", run, tmp_path / "weights.bin")
    before = (run / CHECKPOINT).read_bytes()
    assert_one_line(invoke("import", tmp_path / "weights.bin", run), "has a network already")
    assert (run / CHECKPOINT).read_bytes() == before


def test_what_is_no_lab_file_is_not_imported(tmp_path):
    assert_one_line(invoke("import", tmp_path / "none", tmp_path / "student"), "cannot read", "No such file")
    (tmp_path / "text").write_text("hello, lab, how are you?")
    assert_one_line(invoke("import", tmp_path / "text", tmp_path / "student"), "patterns; 1 to 64 are allowed")
    assert not (tmp_path / "student").exists()


def test_an_export_to_a_folder_that_is_not_there_is_told_in_one_line(tmp_path, run):
    assert_one_line(invoke("export", run, tmp_path / "none" / "weights.bin"), "No such file or directory")


def test_a_packed_network_becomes_a_run_again(tmp_path, run):
    invoke("pack", run, tmp_path / "mine.plyd", "--step", "0.5")
    result = invoke("import", tmp_path / "mine.plyd", tmp_path / "more")
    assert result.exit_code == 0, result.output
    again, before = read_checkpoint(tmp_path / "more").whole(), read_checkpoint(run).whole()
    assert abs(again - before).max() <= 0.25


def test_patterns_are_added_without_a_change_of_value(tmp_path, run):
    invoke("pack", run, tmp_path / "mine.plyd")
    result = invoke("import", tmp_path / "mine.plyd", tmp_path / "more", "--add", "cdef 59")
    assert result.exit_code == 0, result.output
    assert "--network '01 15 cdef 59'" in result.stderr
    more, before = read_checkpoint(tmp_path / "more"), unpacked(unpack(tmp_path / "mine.plyd"))
    assert more.network == "01 15 cdef 59"
    assert (more.whole()[: before.size] == before.whole()).all()
    assert more.whole().size == before.size + 16**4 + 16**2
    assert not more.whole()[before.size :].any()


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ("45 15", "has the pattern '15' already"),
        ("45 45", "has the pattern '45' already"),
        ("", "at least one pattern"),
        ("xy", 'unknown network "xy"'),
        ("0123456", "one to six different cells"),
        (
            " ".join(f"{a:x}{b:x}{c:x}" for a in range(3, 8) for b in range(8, 12) for c in range(12, 16))[:252],
            "at most 64",
        ),
    ],
)
def test_patterns_that_cannot_be_added_are_refused(tmp_path, run, patterns, message):
    invoke("pack", run, tmp_path / "mine.plyd")
    assert_one_line(invoke("import", tmp_path / "mine.plyd", tmp_path / "more", "--add", patterns), message)
    assert not (tmp_path / "more").exists()


def test_patterns_are_not_added_to_a_network_whose_new_weights_count(tmp_path, run):
    checkpoint = read_checkpoint(run)
    checkpoint.fresh_weight = 100.0
    write_checkpoint(run / CHECKPOINT, checkpoint)
    invoke("pack", run, tmp_path / "mine.plyd")
    assert_one_line(
        invoke("import", tmp_path / "mine.plyd", tmp_path / "more", "--add", "cdef"), "whose new weights are 0"
    )


def test_a_packed_network_goes_to_the_lab_too(tmp_path, run):
    invoke("pack", run, tmp_path / "mine.plyd", "--step", "0.5")
    assert invoke("export", tmp_path / "mine.plyd", tmp_path / "weights.bin").exit_code == 0
    assert abs(read_lab(tmp_path / "weights.bin").whole() - read_checkpoint(run).whole()).max() <= 0.25


def test_an_import_prints_the_command_that_trains_it_further(tmp_path, run):
    invoke("pack", run, tmp_path / "mine.plyd")
    result = invoke("import", tmp_path / "mine.plyd", tmp_path / "more")
    command = f"plyd train 2048 --variant classic --network '01 15' --rate 0.1 --out {tmp_path / 'more'}"
    assert result.stderr.splitlines()[-1] == command


# --- Gomoku's networks ------------------------------------------------------------------------------------------------


def write_net(path, steps=0):
    header = {"kind": "policy-value", "game": "gomoku", "variant": "freestyle", "name": "x", "planes": 1}
    header |= {"blocks": 3, "channels": 32, "manifest": {"network": "3x32", "steps": steps, "games": 5, "seconds": 60}}
    return write_file(path, header, {"onnx": np.frombuffer(f"model {steps}".encode(), np.uint8)})


@pytest.fixture
def gomoku_run(tmp_path):
    """The folder of a Gomoku run after two generations."""
    folder = tmp_path / "gomoku"
    write_file(folder / CHECKPOINT, {"kind": "gomoku checkpoint", "game": "gomoku"}, {})
    (folder / "manifest.json").write_text(json.dumps({"commands": [{"command": "plyd train gomoku"}]}))
    for steps in (100, 1000):
        write_net(folder / "nets" / f"{steps:06d}.plyd", steps)
    return folder


def test_of_a_gomoku_run_the_newest_network_is_packed_with_its_manifest(tmp_path, gomoku_run):
    result = invoke("pack", gomoku_run, tmp_path / "mine.plyd")
    assert result.exit_code == 0, result.output
    header, arrays, sha256 = read_file(tmp_path / "mine.plyd")
    assert (header["kind"], header["name"], header["blocks"]) == ("policy-value", "mine", 3)
    assert arrays["onnx"].tobytes() == b"model 1000"
    manifest = json.loads((tmp_path / "mine.json").read_text())
    assert manifest["sha256"] == sha256
    assert manifest["trained"]["steps"] == 1000
    assert manifest["trained"]["commands"] == [{"command": "plyd train gomoku"}]
    assert " kB, SHA-256 " + sha256 in result.stderr


def test_options_of_n_tuple_networks_do_not_apply_to_a_gomoku_run(tmp_path, gomoku_run):
    result = invoke("pack", gomoku_run, tmp_path / "mine.plyd", "--step", "1")
    assert result.exit_code == 2
    assert "n-tuple networks" in result.stderr
    assert not (tmp_path / "mine.plyd").exists()


def test_a_gomoku_run_without_a_network_is_not_packed(tmp_path):
    write_file(tmp_path / "run" / CHECKPOINT, {"kind": "gomoku checkpoint"}, {})
    assert_one_line(invoke("pack", tmp_path / "run", tmp_path / "mine.plyd"), "has no network yet")


def test_a_gomoku_run_and_a_packed_network_are_exported_as_onnx(tmp_path, gomoku_run):
    assert invoke("export", gomoku_run, tmp_path / "run.onnx").exit_code == 0
    assert (tmp_path / "run.onnx").read_bytes() == b"model 1000"
    net = gomoku_run / "nets" / "000100.plyd"
    assert invoke("export", net, tmp_path / "net.onnx").exit_code == 0
    assert (tmp_path / "net.onnx").read_bytes() == b"model 100"


def test_a_gomoku_network_becomes_a_run_that_starts_with_it(tmp_path):
    write_net(tmp_path / "mine.plyd", 7)
    result = invoke("import", tmp_path / "mine.plyd", tmp_path / "more")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "more" / "start.plyd").read_bytes() == (tmp_path / "mine.plyd").read_bytes()
    assert f"plyd train gomoku --blocks 3 --channels 32 --out {tmp_path / 'more'}" in result.stderr
    assert_one_line(invoke("import", tmp_path / "mine.plyd", tmp_path / "more"), "has a network already")
    assert invoke("export", tmp_path / "more", tmp_path / "start.onnx").exit_code == 0
    assert (tmp_path / "start.onnx").read_bytes() == b"model 7"


def test_what_has_no_such_format_is_refused(tmp_path, gomoku_run):
    patterns = tmp_path / "patterns.plyd"
    write_file(patterns, {"kind": "patterns", "game": "gomoku"}, {})
    assert_one_line(invoke("export", patterns, tmp_path / "x"), "is a patterns; only networks of 2048 and Gomoku")
    assert_one_line(invoke("import", patterns, tmp_path / "x"), "only packed networks")
    assert_one_line(invoke("pack", patterns, tmp_path / "x"), "is a patterns, not a checkpoint")
    assert_one_line(invoke("import", gomoku_run / CHECKPOINT, tmp_path / "x"), "is a gomoku checkpoint; only packed")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "data", [b"PLYDNET1", b"PLYDNET1\xff\xff\xff\xff{", b"PLYDNET1\x02\0\0\0[]", b"PLYDNET1\1\0\0\0\xff"]
)
def test_a_damaged_file_has_no_kind_and_is_refused(tmp_path, data):
    (tmp_path / "bad.plyd").write_bytes(data)
    assert kind_of(tmp_path / "bad.plyd") == "damaged file"
    for words in (("pack", "bad.plyd", "x.plyd"), ("export", "bad.plyd", "x"), ("import", "bad.plyd", "x")):
        assert_one_line(invoke(words[0], *(tmp_path / word for word in words[1:])), tmp_path / "bad.plyd")
