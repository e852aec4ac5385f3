"""One training run of any trainer: its folder, lock, log, manifest, checkpoints, progress bar, signals, plot.

A run has a folder:

    checkpoint.plyd   everything that a resumed run needs
    log.jsonl         one line of JSON for each block of training (a number of games, or of steps)
    manifest.json     what was trained, how, for how long, by which commands, at which revision
    lock              locked by the process that trains here, so that no other can
    curve.png         the learning curve, with --plot

A trainer implements the protocol `Trainer` below: it learns, and reads and writes its own checkpoint. Everything else
is here. A command of `plyd train` takes the options of `run_options`, and then:

    with readable_errors(folder), TrainingRun(folder, trainer) as run:
        run.resume()
        run.train(max_count, **settings)
"""

import contextlib
import importlib.util
import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from plyd.engines.core.errors import EngineError
from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, MANIFEST, manifest_of

LOG, LOCK, CURVE = "log.jsonl", "lock", "curve.png"
LogLine = dict[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])


class TrainingError(Exception):
    """Training cannot start or continue: the folder is in use, a worker process died, a package is missing."""


class Trainer(Protocol):
    """What a training run needs of a trainer."""

    unit: str
    """What is counted, in the plural: games or steps. Also the key of the count in a line of the log."""

    @property
    def count(self) -> int:
        """Games or steps trained so far, over all commands of the run."""

    def train(self, stop: threading.Event, max_count: int | None) -> Iterator[LogLine | None]:
        """Trains until `stop` is set or `max_count` is reached.

        Yields a line for the log at the end of each block, and None at any time in between. At each yield the trainer
        may be saved.
        """

    def save(self, path: Path) -> None:
        """Writes a checkpoint."""

    def load(self, path: Path) -> None:
        """Loads a checkpoint; raises BadWeights if it is damaged or of another network."""

    def plan_facts(self) -> dict[str, Any]:
        """The training settings of the current command: an entry of the manifest for each command."""

    def facts(self) -> dict[str, Any]:
        """What was trained, and how far: the rest of the manifest."""

    def describe(self) -> str:
        """A short description of the network, for the first line on the screen."""

    def status(self) -> str:
        """A short progress text for the progress bar. Called from another thread."""

    def text_of(self, line: LogLine) -> str:
        """A line of the log as text for the screen."""

    def draw(self, figure: Any, lines: list[LogLine]) -> None:
        """Draws the learning curve on a matplotlib figure."""


class TrainingRun:
    """A training run in its folder. A context manager: locks the folder while it is active."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder, self.trainer = folder, trainer
        self.stop = threading.Event()
        self.manifest: dict[str, Any] = {}
        self._lock: IO[str] | None = None
        self._resumed = False
        self._began_with = 0

    def __enter__(self) -> "TrainingRun":
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder / LOCK)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock:
            self._lock.close()

    def resume(self) -> bool:
        """Loads the checkpoint, if there is one; returns whether there was.

        Lines of the log that are later than the checkpoint are removed, because that part is trained again.
        """
        path = self.folder / CHECKPOINT
        self._resumed = path.exists()
        if self._resumed:
            self.trainer.load(path)
        log = self.folder / LOG
        if log.exists():
            whole = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
            is_kept = [json.loads(line)[self.trainer.unit] <= self.trainer.count for line in whole]
            log.with_suffix(".new").write_text("".join(line for line, kept in zip(whole, is_kept, strict=True) if kept))
            log.with_suffix(".new").replace(log)  # a full disk or a kill must not cost the log
        return self._resumed

    def begin(self, command: str) -> None:
        """Adds an entry for a command to the manifest."""
        self.manifest = {"commands": []} | manifest_of(self.folder)
        self._began_with = self.trainer.count
        entry = {"command": command, "revision": revision(), **self.trainer.plan_facts()}
        entry |= {f"from_{self.trainer.unit}": self._began_with}
        entry |= {"began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self.manifest["commands"].append(entry)
        self._write_manifest()

    def blocks(self, max_count: int | None = None) -> Iterator[LogLine | None]:
        """Trains; yields each line of the log after it is written, and None in between."""
        for line in self.trainer.train(self.stop, max_count):
            if line:
                with (self.folder / LOG).open("a") as file:
                    file.write(json.dumps(line) + "\n")
            yield line

    def save(self) -> None:
        """Writes the checkpoint, and the manifest if `begin` was called."""
        self.trainer.save(self.folder / CHECKPOINT)
        if self.manifest:
            self._write_manifest()

    def train(self, max_count: int | None, minutes: float | None, save_every: float) -> None:
        """Trains until a limit or a signal, with a progress bar; saves every `save_every` minutes and at the end."""
        self.begin(shlex.join(["plyd", *sys.argv[1:]]))
        unit, began_with = self.trainer.unit, self._began_with
        start = f"resumes at {unit.removesuffix('s')} {began_with}" if self._resumed else "starts"
        print(f"{self.folder}: {start}, {self.trainer.describe()}", file=sys.stderr)
        saved = time.monotonic()
        with stopped_by_signals(self.stop), stopped_after(self.stop, minutes), progress_bar(self.trainer.status):
            for line in self.blocks(max_count):
                if line:
                    print(self.trainer.text_of(line), flush=True)
                if time.monotonic() - saved > 60 * save_every:
                    self.save()
                    saved = time.monotonic()
            self.save()
        count = self.trainer.count
        print(f"{self.folder}: saved after {count} {unit} (+{count - began_with})", file=sys.stderr)

    def plot(self) -> None:
        """Draws the learning curve into the folder."""
        from matplotlib.figure import Figure

        lines = self._log_lines()
        if not lines:
            raise TrainingError(f"{self.folder / LOG} has no line to draw yet")
        figure = Figure(figsize=(9, 8), layout="constrained")
        self.trainer.draw(figure, lines)
        figure.suptitle(f"{self.folder.name}: {self.trainer.count} {self.trainer.unit}")
        figure.savefig(self.folder / CURVE, dpi=110)
        print(f"learning curve: {self.folder / CURVE}", file=sys.stderr)

    def _log_lines(self) -> list[LogLine]:
        log = self.folder / LOG
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def _write_manifest(self) -> None:
        self.manifest |= self.trainer.facts()
        lines = self._log_lines()
        self.manifest["last_block"] = lines[-1] if lines else None
        path = self.folder / MANIFEST
        path.with_suffix(".new").write_text(json.dumps(self.manifest, indent=2) + "\n")
        path.with_suffix(".new").replace(path)


def locked(path: Path) -> IO[str]:
    """An open file with an exclusive lock; the system releases the lock when the process ends."""
    file = path.open("w")
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise TrainingError(
                f"another process is training in {path.parent}; stop it, or choose another folder"
            ) from None
    return file


def revision() -> str:
    """The git revision of these sources, with "+" if they have changes; "unknown" outside of a repository."""
    command = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()


@contextlib.contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set the event."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def stopped_after(stop: threading.Event, minutes: float | None) -> Iterator[None]:
    """Sets the event after this many minutes. None: never."""
    timer = threading.Timer(min(60 * (minutes or 0), threading.TIMEOUT_MAX), stop.set)
    timer.daemon = True
    if minutes is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def progress_bar(status: Callable[[], str]) -> Iterator[None]:
    """On a terminal, a spinner with a status and the elapsed time; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
    from rich.text import Text

    class StatusColumn(ProgressColumn):
        def render(self, task: Task) -> Text:  # noqa: ARG002
            return Text(status())

    console = Console(stderr=True)
    columns = (SpinnerColumn(), StatusColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task("training", total=None)
        yield


def run_options(default_folder: str, save_every: float) -> Callable[[Command], Command]:
    """A click decorator with the options that all training commands share."""
    import click

    def needs_matplotlib(_context: Any, _option: Any, wanted: bool) -> bool:
        if wanted and importlib.util.find_spec("matplotlib") is None:
            raise click.ClickException("--plot needs matplotlib: pip install 'plyd[plot]'")
        return wanted

    positive = click.FloatRange(0, min_open=True)
    options = [
        click.option("--minutes", type=positive, help="Stop after this many minutes.  [default: no limit]"),
        click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Random seed."),
        click.option("--out", type=click.Path(path_type=Path), help=f"Folder of the run.  [default: {default_folder}]"),
        click.option(
            "--save-every",
            type=click.FloatRange(0),
            default=save_every,
            show_default=True,
            help="Minutes between checkpoints.",
        ),
        click.option(
            "--plot",
            is_flag=True,
            callback=needs_matplotlib,
            help="At the end, draw the learning curve to curve.png in the folder of the run.",
        ),
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@contextlib.contextmanager
def readable_errors(folder: Path) -> Iterator[None]:
    """Turns errors of a command into one line for the user."""
    import click

    try:
        yield
    except (EngineError, BadWeights, TrainingError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename or folder}") from None
    except MemoryError:
        raise click.ClickException("not enough memory for this network; choose a smaller one") from None
