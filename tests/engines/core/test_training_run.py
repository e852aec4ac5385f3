"""A training run with a trainer that only counts: saved, resumed, logged, locked and stopped as every trainer's is."""

import errno
import json
import os
import signal
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from plyd.engines.core.training_run import LOG, TrainingError, TrainingRun, readable_errors, run_options
from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, MANIFEST


class Counter:
    """Counts steps; a block is ten of them."""

    unit = "steps"

    def __init__(self, at_step=None):
        self.count, self.saves = 0, []
        self._at_step = at_step or (lambda count: None)

    def train(self, stop, max_count):
        while not stop.is_set() and (max_count is None or self.count < max_count):
            self.count += 1
            self._at_step(self.count)
            yield {"steps": self.count} if self.count % 10 == 0 else None

    def save(self, path):
        self.saves.append(self.count)
        path.write_text(str(self.count))

    def load(self, path):
        if not path.read_text().isdecimal():
            raise BadWeights(f"{path} is damaged")
        self.count = int(path.read_text())

    def plan_facts(self):
        return {"plan": {"seed": 3}}

    def facts(self):
        return {"game": "counting", "steps": self.count}

    def describe(self):
        return "no weights"

    def status(self):
        return f"{self.count} steps"

    def text_of(self, line):
        return f"block {line['steps']}"

    def draw(self, figure, lines):
        figure.subplots(1, 1).plot([line["steps"] for line in lines])


def train(folder, trainer, max_count=None, minutes=None, save_every=10.0):
    with TrainingRun(folder, trainer) as run:
        run.resume()
        run.train(max_count, minutes, save_every)
    return trainer


def logged(folder):
    return [json.loads(line)["steps"] for line in (folder / LOG).read_text().splitlines()]


def test_a_run_prints_logs_and_saves_and_the_next_one_resumes(tmp_path, capsys):
    train(tmp_path, Counter(), 25)
    assert capsys.readouterr().out == "block 10\nblock 20\n"
    assert train(tmp_path, Counter(), 31).saves == [31]
    out, errors = capsys.readouterr()
    assert out == "block 30\n"
    assert errors == f"{tmp_path}: resumes at step 25, no weights\n{tmp_path}: saved after 31 steps (+6)\n"
    assert logged(tmp_path) == [10, 20, 30]
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert (manifest["game"], manifest["steps"], manifest["last_block"]) == ("counting", 31, {"steps": 30})
    assert [entry["from_steps"] for entry in manifest["commands"]] == [0, 25]
    assert manifest["commands"][0]["plan"] == {"seed": 3}


def test_a_run_saves_as_often_as_asked(tmp_path):
    assert train(tmp_path / "often", Counter(), 5, save_every=0.0).saves == [1, 2, 3, 4, 5, 5]
    assert train(tmp_path / "seldom", Counter(), 5).saves == [5]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_stops_the_run_which_saves_and_restores_the_handlers(tmp_path, number):
    before = signal.getsignal(number)
    trainer = train(tmp_path, Counter(lambda count: os.kill(os.getpid(), number) if count == 7 else None))
    assert trainer.saves[-1] == trainer.count == 7
    assert signal.getsignal(number) == before


def test_minutes_stop_the_run_even_if_the_limit_is_beyond_all_timers(tmp_path):
    assert train(tmp_path / "short", Counter(lambda _: time.sleep(0.001)), minutes=0.0001).saves
    assert train(tmp_path / "long", Counter(), 5, minutes=1e300).count == 5


def test_what_is_later_than_the_checkpoint_is_cut_from_the_log(tmp_path):
    train(tmp_path, Counter(), 20)
    with (tmp_path / LOG).open("a") as log:
        log.write('{"steps": 30}\n{"ste')
    train(tmp_path, Counter(), 20)
    assert logged(tmp_path) == [10, 20]


def test_a_full_disk_does_not_cost_the_log(tmp_path, monkeypatch):
    train(tmp_path, Counter(), 20)
    write = Path.write_text

    def write_nothing(path, _):
        write(path, "")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, TrainingRun(tmp_path, Counter()) as run:
        patched.setattr(Path, "write_text", write_nothing)
        with pytest.raises(OSError, match="No space left"):
            run.resume()
    assert logged(tmp_path) == [10, 20]


def test_a_folder_has_one_run_at_a_time(tmp_path):
    with (
        TrainingRun(tmp_path, Counter()),
        pytest.raises(TrainingError, match="another process is training in"),
        TrainingRun(tmp_path, Counter()),
    ):
        pass
    train(tmp_path, Counter(), 1)


def test_a_damaged_checkpoint_or_manifest_is_refused_and_left_alone(tmp_path):
    (tmp_path / CHECKPOINT).write_text("damaged")
    with pytest.raises(BadWeights, match="is damaged"):
        train(tmp_path, Counter(), 5)
    assert (tmp_path / CHECKPOINT).read_text() == "damaged"
    (tmp_path / CHECKPOINT).unlink()
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(BadWeights, match="is not JSON"):
        train(tmp_path, Counter(), 5)
    assert (tmp_path / MANIFEST).read_text() == "{"


def test_a_plot_needs_a_line_of_the_log(tmp_path):
    pytest.importorskip("matplotlib")
    with TrainingRun(tmp_path, Counter()) as run:
        run.train(5, None, 10.0)
        with pytest.raises(TrainingError, match="has no line to draw yet"):
            run.plot()
        run.train(10, None, 10.0)
        run.plot()
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_errors_of_a_command_are_one_line(tmp_path):
    @click.command()
    @run_options("runs/here", save_every=7.0)
    def command(out, **settings):
        assert settings == {"minutes": None, "seed": 1, "save_every": 7.0, "plot": False}
        with readable_errors(out):
            raise {"a": BadWeights("bad"), "b": OSError(28, "No space left on device"), "c": MemoryError()}[out.name]

    for name, line in (("a", "bad"), ("b", "No space left on device: b"), ("c", "not enough memory")):
        result = CliRunner().invoke(command, ["--out", name])
        assert result.exit_code == 1
        assert result.stderr.startswith(f"Error: {line}")
        assert result.stderr.count("\n") == 1
    assert "runs/here" in CliRunner().invoke(command, ["--help"]).output
