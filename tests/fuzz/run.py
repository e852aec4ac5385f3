"""`make fuzz`: coverage-guided fuzzing of every target, each in a process of its own, for so many inputs in all.

    python -m tests.fuzz.run                          a million inputs, shared out among the targets
    python -m tests.fuzz.run --inputs 10000000
    python -m tests.fuzz.run --only connect4 --inputs 100000

What turned out to reach new code is kept in runs/fuzz/corpus and is where the next run begins; an input that crashes or
hangs is kept in runs/fuzz/found. The last line adds up; the exit status is 1 if anything was found.
"""

import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

from tests.fuzz.targets import TARGETS, seeds_of

KEPT = Path("runs/fuzz")
HANG_SECONDS = 5  # for one input, a thousand times what the slowest takes
MOST_MB = 2048  # of memory: a file of a few bytes that takes more is a bomb
WATCHED = ["plyd.engines", "plyd.clients", "plyd.models", "plyd.servers", "json"]
KERNELS = ["plyd.engines.tiles.batch.lines"]  # which numba could not compile if they were watched
COUNTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
COVERED = re.compile(r"cov: (\d+)")


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one target."""

    inputs: int
    seconds: float
    processor_seconds: float
    edges: int
    fault: str  # "", "crash" or "hang"


@click.command()
@click.option("--inputs", default=1_000_000, show_default=True, type=click.IntRange(1), help="In all.")
@click.option("--only", multiple=True, type=click.Choice(list(TARGETS)), help="Targets; all if none is named.")
@click.option("--seed", default=0, type=click.IntRange(0), help="The same inputs again; 0 for others each time.")
@click.option("--inside", type=click.Choice(list(TARGETS)), hidden=True)
@click.argument("arguments", nargs=-1)
def fuzz(inputs: int, only: tuple[str, ...], seed: int, inside: str | None, arguments: tuple[str, ...]) -> None:
    """Throw inputs at every parser."""
    if inside:
        work(inside, arguments)
        return
    names = only or tuple(TARGETS)
    whole = sum(TARGETS[name].share for name in names)
    ran = []
    for name in names:
        ran.append(run(name, -(-inputs * TARGETS[name].share // whole), seed))
        done = ran[-1]
        rate = done.inputs / max(done.processor_seconds, 1e-9)
        click.echo(f"{name:18}{done.inputs:>10,} inputs{rate:>8,.0f}/s{done.edges:>6} edges  {done.fault or 'sound'}")
    crashes, hangs = (sum(each.fault == fault for each in ran) for fault in ("crash", "hang"))
    total, seconds = sum(each.inputs for each in ran), sum(each.seconds for each in ran)
    busy = sum(each.processor_seconds for each in ran)
    told = f"{total:,} inputs, {len(ran)} targets, {crashes} crashes, {hangs} hangs"
    click.echo(f"{told}; {seconds:,.0f} s, of which {busy:,.0f} s of processor time")
    sys.exit(1 if crashes or hangs else 0)


def run(name: str, inputs: int, seed: int) -> Ran:
    """Throw inputs at one target, in a process of its own: a fuzzer that finds something does not come back."""
    target, place = TARGETS[name], name.replace(" ", "-")
    corpus, found, log = KEPT / "corpus" / place, KEPT / "found" / place, KEPT / f"{place}.log"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, bytes_of in enumerate(seeds_of(name)):
        (corpus / f"seed-{number}").write_bytes(bytes_of)
    words = KEPT / f"{place}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    flags = [f"-runs={inputs}", f"-timeout={HANG_SECONDS}", f"-rss_limit_mb={MOST_MB}", f"-max_len={target.longest}"]
    flags += [f"-seed={seed}", f"-artifact_prefix={found}/", "-print_final_stats=1", "-len_control=0"]
    flags += [*([f"-dict={words}"] if target.words else []), str(corpus)]
    began, busy = time.monotonic(), _busy()
    with log.open("wb") as out:
        status = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.run", "--inside", name, "--", *flags],
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    said = log.read_text(errors="replace")
    counted, edges = COUNTED.search(said), COVERED.findall(said)
    fault = "" if status == 0 else "hang" if "libFuzzer: timeout" in said else "crash"
    if fault:
        click.echo(f"{name}: see {log} and {found}", err=True)
    ran = int(counted[1]) if counted else 0
    return Ran(ran, time.monotonic() - began, _busy() - busy, int(edges[-1]) if edges else 0, fault)


def _busy() -> float:
    """Processor time of the processes that we started and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def work(name: str, flags: tuple[str, ...]) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=WATCHED, exclude=KERNELS):
        check = TARGETS[name].make()
        for bytes_of in seeds_of(name):
            check(bytes_of)  # imports the rest, and compiles

    def once(data: bytes) -> None:
        check(data)

    atheris.Setup([sys.argv[0], *flags], once)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    """A word as libFuzzer's dictionaries write it."""
    return "".join(c if c.isalnum() or c in " @=:." else f"\\x{ord(c):02x}" for c in word)


if __name__ == "__main__":
    fuzz()
