"""`plyd models`: what ships, and how networks come and go: pack for play, import from the lab, export to it."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path)


@click.group(short_help="List, pack, import and export networks.", invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the networks that ship, each checked against the SHA-256 of its manifest; or work on files.

    \b
    plyd models                                             what ships
    plyd models pack runs/2048-classic-8x6 mine.plyd        a training run, packed for play
    plyd models import weights.bin runs/student             the 2048 lab's weight file, to train on or to pack
    plyd models import mine.plyd runs/more                  the same with a packed network
    plyd models export runs/student weights.bin             and back
    """
    if context.invoked_subcommand is None:
        show()


def show() -> None:
    """Print a table of what ships."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from plyd.models.errors import BadWeights
    from plyd.models.files import read_file

    table = Table("name", "network", "games", "trained", "size", "SHA-256", "file", box=box.SIMPLE)
    is_sound = True
    for path in sorted((Path(__file__).parent / "weights").glob("*.plyd")):
        try:
            manifest = json.loads(path.with_suffix(".json").read_text())
            right = read_file(path)[2] == manifest["sha256"]
            verdict = "sound" if right else "not the one of its manifest"
        except (BadWeights, OSError, ValueError) as error:
            manifest, right, verdict = {"sha256": "?", "trained": {}}, False, str(error)
        is_sound &= right
        trained = {"network": "?", "games": "?", "seconds": 0} | manifest["trained"]
        table.add_row(
            path.stem,
            trained["network"],
            str(trained["games"]),
            f"{trained['seconds'] / 60:.0f} min",
            f"{path.stat().st_size / 1e6:.1f} MB",
            manifest["sha256"][:12],
            verdict,
        )
    Console(width=max(120, Console().width)).print(table)
    if not is_sound:
        sys.exit(1)


@models.command(short_help="Pack a training run for play.")
@click.argument("run", type=FILE)
@click.argument("file", type=FILE)
@click.option("--step", type=click.FloatRange(0, min_open=True), default=4.0, show_default=True, help="Points.")
@click.option("--keep", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True, help="Share.")
def pack(run: Path, file: Path, step: float, keep: float) -> None:
    """Pack the checkpoint of RUN, a training run's folder, into FILE, and write its manifest beside it.

    Weights are rounded to whole steps: fewer points a step, a larger file. Of weights learned with temporal coherence,
    --keep 0.6 keeps the 60% that saw most. What that costs in strength, plyd play tells.
    """
    from plyd.models.ntuple import packing
    from plyd.models.ntuple.checkpoint import read_checkpoint

    if file.suffix == ".json":
        raise click.BadParameter(f"{file} is what the manifest would be called", param_hint="FILE")
    with told():
        trained = manifest_of(run)
        checkpoint = read_checkpoint(run)
        trained = {"network": checkpoint.network, "games": 0, "seconds": 0} | trained
        sha256 = packing.pack(file, checkpoint, step, keep, {"trained": trained})
        manifest = {"sha256": sha256, "packed": {"step": step, "keep": keep}, "trained": trained, "scores": []}
        file.with_suffix(".json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, SHA-256 {sha256}", file=sys.stderr)


@models.command("import", short_help="Make a training run of a network.")
@click.argument("file", type=FILE)
@click.argument("run", type=FILE)
def take(file: Path, run: Path) -> None:
    """Make a training run's folder RUN from FILE: a packed network, or a weight file of the 2048 lab's framework.

    What temporal coherence knew of the weights is in neither, so go on gently: plyd train ... --rate 0.1 --out RUN.
    """
    from plyd.models.files import MAGIC
    from plyd.models.ntuple.checkpoint import NAME, write_checkpoint
    from plyd.models.ntuple.lab import read_lab
    from plyd.models.ntuple.packing import unpack, unpacked

    with told():
        if (run / NAME).exists():
            raise click.ClickException(f"{run} has a checkpoint already; choose another folder")
        with file.open("rb") as opened:
            is_ours = opened.read(len(MAGIC)) == MAGIC
        checkpoint = unpacked(unpack(file)) if is_ours else read_lab(file)
        write_checkpoint(run / NAME, checkpoint)
    print(f"{run}: patterns {checkpoint.network}, {len(checkpoint.places)} weights", file=sys.stderr)


@models.command(short_help="Write a weight file of the 2048 lab.")
@click.argument("run", type=FILE)
@click.argument("file", type=FILE)
def export(run: Path, file: Path) -> None:
    """Write the checkpoint of RUN, a training run's folder, to FILE as the 2048 lab's framework reads it."""
    from plyd.models.ntuple.checkpoint import read_checkpoint
    from plyd.models.ntuple.lab import write_lab

    with told():
        write_lab(file, read_checkpoint(run))
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", file=sys.stderr)


def manifest_of(run: Path) -> dict[str, Any]:
    """What a training run says of itself; nothing if it has no manifest."""
    path = run / "manifest.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    except ValueError as error:
        raise click.ClickException(f"{path} is not JSON: {error}") from None
    return found


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Whatever is wrong with a file becomes one line for people."""
    from plyd.models.errors import BadWeights

    try:
        yield
    except BadWeights as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename}") from None
