"""`plyd models`: what ships, and networks packed, imported and exported; what goes wrong, in one line."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.models import cli
from plyd.models.ntuple.checkpoint import NAME, Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.lab import read_lab
from plyd.models.ntuple.packing import unpack


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
    write_checkpoint(folder / NAME, Checkpoint("2048", "classic", "01 15", 16, 0.0, places, weights, sums))
    return folder


# --- What ships -------------------------------------------------------------------------------------------------------


def test_every_network_that_ships_is_listed_as_sound():
    result = invoke()
    assert result.exit_code == 0, result.output
    for name in ("2048-classic", "2584-classic", "2584-hard"):
        (line,) = (line for line in result.stdout.splitlines() if name in line)
        assert "sound" in line
        assert re.search(r"\b[0-9a-f]{12}\b", line)
        assert re.search(r"\d+\.\d MB", line)


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    """A folder of networks that ship: one, packed just now."""
    folder = tmp_path / "models"
    folder.mkdir()
    assert invoke("pack", run, folder / "small.plyd").exit_code == 0
    monkeypatch.setattr(cli, "__file__", str(folder / "cli.py"))
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
    before = (run / NAME).read_bytes()
    assert_one_line(invoke("import", tmp_path / "weights.bin", run), "has a checkpoint already")
    assert (run / NAME).read_bytes() == before


def test_what_is_no_lab_file_is_not_imported(tmp_path):
    assert_one_line(invoke("import", tmp_path / "none", tmp_path / "student"), "No such file")
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
