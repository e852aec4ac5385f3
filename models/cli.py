"""`plyd models`: lists and checks the networks that ship; packs, imports and exports networks of every kind."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path)


@click.group(short_help="List, pack, import and export networks.", invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the networks that ship, and check each against the SHA-256 of its manifest.

    The commands below turn training runs into files for play, and files into training runs. They work on the n-tuple
    networks of 2048 and 2584 and on the policy-value network of Gomoku.

    \b
    plyd models                                             what ships
    plyd models pack runs/2048-classic-8x6 mine.plyd        a training run, packed for play
    plyd models pack runs/gomoku-3x32 mine.plyd
    plyd models import mine.plyd runs/more                  a packed network, to train it further
    plyd models import weights.bin runs/student             the same with a weight file of the 2048 lab
    plyd models import 4x6patt.w runs/theirs                ... or of TDL2048
    plyd models export runs/student weights.bin             a weight file of the 2048 lab
    plyd models export mine.plyd mine.w                     ... of TDL2048
    plyd models export runs/gomoku-3x32 gomoku.onnx         Gomoku's network as ONNX
    """
    if context.invoked_subcommand is None:
        show()


def show() -> None:
    """Print a table of the networks that ship."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from plyd.models.shipped import shipped

    table = Table("name", "network", "games", "trained", "size", "SHA-256", "file", box=box.SIMPLE)
    are_sound = True
    for network in shipped():
        are_sound &= network.is_sound
        trained: dict[str, Any] = {"network": "?", "games": "?", "seconds": 0} | network.trained
        table.add_row(
            network.path.stem,
            trained["network"] + "".join(f", from {stage}" for stage in trained.get("stages", ())),
            str(trained["games"]),
            f"{trained['seconds'] / 60:.0f} min",
            size_of(network.path),
            network.sha256[:12],
            network.verdict,
        )
    Console(width=max(120, Console().width)).print(table)
    if not are_sound:
        sys.exit(1)


@models.command(short_help="Pack a training run for play.")
@click.argument("run", type=FILE)
@click.argument("file", type=FILE)
@click.option(
    "--step",
    type=click.FloatRange(0, min_open=True),
    help="n-tuple networks only: weights are rounded to multiples of this many points.  [default: 4]",
)
@click.option(
    "--keep",
    type=click.FloatRange(0, 1, min_open=True),
    help="n-tuple networks only: share of the weights that is kept, those that were updated most.  [default: 1]",
)
def pack(run: Path, file: Path, step: float | None, keep: float | None) -> None:
    """Pack RUN, the folder of a training run, into FILE for play, and write a manifest beside FILE.

    A smaller --step makes a larger file. --keep below 1 makes a smaller one; it works on weights that were learned
    with temporal coherence (the default method). Measure the effect on strength with plyd play.

    Of a Gomoku run, the newest network in nets/ is packed, as it is.
    """
    from plyd.models import policy_value
    from plyd.models.files import kind_of, manifest_of, write_manifest
    from plyd.models.ntuple import packing
    from plyd.models.ntuple.checkpoint import read_checkpoint

    if file.suffix == ".json":
        raise click.BadParameter(f"{file} would be the name of the manifest", param_hint="FILE")
    with one_line_errors():
        if kind_of(network_in(run)) == policy_value.CHECKPOINT_KIND:
            if step is not None or keep is not None:
                raise click.UsageError("--step and --keep are for n-tuple networks; Gomoku's is packed as it is")
            sha256 = policy_value.pack(run, file)
        else:
            trained, checkpoint = manifest_of(run), read_checkpoint(run)
            trained = {"network": checkpoint.network, "games": 0, "seconds": 0} | trained
            packed = {"step": step or 4.0, "keep": keep or 1.0}
            sha256 = packing.pack(file, checkpoint, **packed, manifest={"trained": trained})
            write_manifest(file, {"sha256": sha256, "packed": packed, "trained": trained, "scores": []})
    print(f"{file}: {size_of(file)}, SHA-256 {sha256}", file=sys.stderr)


@models.command("import", short_help="Make a training run of a network.")
@click.argument("file", type=FILE)
@click.argument("run", type=FILE)
@click.option(
    "--add",
    metavar="PATTERNS",
    help="n-tuple networks only: further patterns, such as 'cdef 89ab'; the network plays as before until it learns.",
)
def import_file(file: Path, run: Path, add: str | None) -> None:
    """Make RUN, the folder of a training run, from FILE: a packed network, or a weight file of the 2048 lab or of
    TDL2048.

    Prints the command that trains it further. For n-tuple networks use a low rate: only files of TDL2048 may have the
    sums of temporal coherence.
    """
    from plyd.models import policy_value
    from plyd.models.errors import BadWeights
    from plyd.models.files import CHECKPOINT, kind_of
    from plyd.models.ntuple import packing
    from plyd.models.ntuple.checkpoint import with_patterns, write_checkpoint
    from plyd.models.ntuple.lab import read_lab
    from plyd.models.ntuple.tdl2048 import is_tdl2048, read_tdl2048

    with one_line_errors():
        for name in (CHECKPOINT, policy_value.START):
            if (run / name).exists():
                raise BadWeights(f"{run} has a network already ({name}); choose another folder")
        kind = kind_of(file)
        if kind == policy_value.KIND:
            if add is not None:
                raise click.UsageError("--add is for n-tuple networks; Gomoku's has no patterns")
            options = policy_value.start_run(file, run)
            print(f"{run}: train it with: plyd train gomoku {options} --out {run}", file=sys.stderr)
            return
        if kind not in ("", packing.KIND):
            raise BadWeights(
                f"{file} is a {kind}; only packed networks and weight files of the lab or TDL2048 can be imported"
            )
        if kind:
            checkpoint = packing.unpacked(packing.unpack(file))
        else:
            checkpoint = read_tdl2048(file) if is_tdl2048(file) else read_lab(file)
        if add is not None:
            checkpoint = with_patterns(checkpoint, add)
        write_checkpoint(run / CHECKPOINT, checkpoint)
    print(f"{run}: patterns {checkpoint.network}, {len(checkpoint.places)} weights; train it with:", file=sys.stderr)
    command = f"plyd train {checkpoint.game} --variant {checkpoint.variant} --network '{checkpoint.network}'"
    command += f" --cap {checkpoint.base - 1}" if checkpoint.game == "2584" else ""
    command += "".join(f" --stage {stage_name(checkpoint.game, indices)}" for indices in checkpoint.stages)
    command += " --downgrade" if checkpoint.are_downgraded else ""
    rate = "" if checkpoint.sums.size else " --rate 0.1"
    print(f"{command}{rate} --out {run}", file=sys.stderr)


@models.command(short_help="Write a network for other programs.")
@click.argument("source", type=FILE)
@click.argument("file", type=FILE)
def export(source: Path, file: Path) -> None:
    """Write the network of SOURCE, a training run's folder or a packed network, to FILE for other programs.

    A network of 2048 becomes a weight file of TDL2048 if FILE ends with .w, else one of the 2048 lab's framework. One
    of Gomoku becomes an ONNX model (input: planes; outputs: policy and value). There is no such format for 2584.
    """
    from plyd.models import policy_value
    from plyd.models.errors import BadWeights
    from plyd.models.files import kind_of
    from plyd.models.ntuple import checkpoint, packing
    from plyd.models.ntuple.lab import write_lab
    from plyd.models.ntuple.tdl2048 import write_tdl2048

    write = write_tdl2048 if file.suffix == ".w" else write_lab
    with one_line_errors():
        kind = kind_of(network_in(source))
        if kind in (policy_value.KIND, policy_value.CHECKPOINT_KIND):
            policy_value.export_onnx(source, file)
        elif kind == packing.KIND:
            write(file, packing.unpacked(packing.unpack(source)))
        elif kind in ("", checkpoint.KIND):
            write(file, checkpoint.read_checkpoint(source))
        else:
            raise BadWeights(f"{source} is a {kind}; only networks of 2048 and Gomoku can be exported")
    print(f"{file}: {size_of(file)}", file=sys.stderr)


def stage_name(game: str, indices: list[int]) -> str:
    """The tiles with which a stage begins, as `plyd train --stage` takes them."""
    tiles = [1, 2]
    while len(tiles) < max(indices):
        tiles.append(2 * tiles[-1] if game == "2048" else tiles[-1] + tiles[-2])
    first = 2 if game == "2048" else 1  # the tile of index 1
    return "+".join(str(first * tiles[index - 1]) for index in indices)


def network_in(path: Path) -> Path:
    """The file that says what a path is: a run's checkpoint, or the network it starts with, or the path itself."""
    from plyd.models.files import CHECKPOINT
    from plyd.models.policy_value import START

    if not path.is_dir():
        return path
    return path / START if (path / START).exists() and not (path / CHECKPOINT).exists() else path / CHECKPOINT


def size_of(path: Path) -> str:
    """The size of a file in kB or MB."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """What is wrong with a file becomes one line for the user."""
    from plyd.models.errors import BadWeights

    try:
        yield
    except BadWeights as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename}") from None
