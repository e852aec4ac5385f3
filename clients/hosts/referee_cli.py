"""`plyd arena --referee`: its options, its files and its report."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.cli import PROGRAM
from plyd.clients.formats.rec2584 import pack_records
from plyd.clients.formats.tile_replay import FACES, FinishedGame
from plyd.clients.hosts.program import clean_environment
from plyd.clients.hosts.referee2584 import BY_RULES, RANDOM, ROLES, Agent, MatchRules, RefereedMatch, contest, summary
from plyd.clients.match.live import live_table, plain_text
from plyd.clients.match.results import GameFile
from plyd.clients.match.side import BadMatch, split_words

if TYPE_CHECKING:
    from rich.console import RenderableType

OURS = "plyd"  # the name that stands for our own program
PROGRESS_LINES = 20


def referee(variant: str, odds: dict[int, float], ours: Sequence[str], as_json: bool, options: dict[str, Any]) -> None:
    """Play the contest and print its result; `ours` are the arguments of `plyd arena` for our own program."""
    players, evils = (tuple(agents_of(options[role], role, ours)) for role in ROLES)
    folder, games, seed = options["out"], options["games"], options["seed"]
    settings = {"variant": variant, "games": games, "seed": seed, "own_tiles": options["own_tiles"]}
    settings |= {"play": [agent.name for agent in players], "evil": [agent.name for agent in evils]}
    total = games * len(players) * len(evils)
    matches: dict[int, RefereedMatch] = {}

    def table() -> "RenderableType":
        return report_table(summary(list(matches.values()), options["min_speed"]), total)

    status = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with GameFile(folder / "matches.jsonl", settings, parse_match) as file:
            matches |= {match.game: match for match in file.begin()}
            with live_table(table, progress_printer(matches, total)) as update:

                def told(match: RefereedMatch) -> None:
                    file.add(match)
                    matches[match.game] = match
                    update(f"match {match.game}: {match.verdict}" if match.verdict != BY_RULES else "")

                rules = MatchRules(odds, options["ready_limit"], options["answer_limit"], options["own_tiles"])
                contest(players, evils, games, seed, rules, matches, told)
    except (BadMatch, OSError) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    finally:
        if matches:
            write_records(folder, list(matches.values()))
            found = summary(list(matches.values()), options["min_speed"])
            click.echo(json.dumps(found) if as_json else plain_text(table()))
    sys.exit(status)


def agents_of(texts: Sequence[str], role: str, ours: Sequence[str]) -> Iterator[Agent]:
    """The agents of a role, from NAME=COMMAND, "plyd" for ours, and "random" for random drops."""
    seen: set[str] = set()
    for text in texts:
        name, equals, command = text.partition("=")
        if not re.fullmatch(r"[^\s:=]+", name) or name in seen:
            raise click.BadParameter(
                f"{text!r}; expected NAME=COMMAND with a name of its own, without spaces and colons",
                param_hint=f"--{role}",
            )
        seen.add(name)
        if equals:
            try:
                words = split_words(command)
            except BadMatch as error:
                raise click.BadParameter(str(error), param_hint=f"--{role}") from None
            if not words:
                raise click.BadParameter(f"{text!r} has no command", param_hint=f"--{role}")
            yield Agent(name, tuple(words), tuple(clean_environment().items()))
        elif name == OURS:
            yield Agent(name, (*PROGRAM, "arena", "--name", name, *ours), tuple(os.environ.items()))
        elif name == RANDOM and role == "evil":
            yield Agent(name)
        else:
            allowed = f"NAME=COMMAND, {OURS}" + (f" or {RANDOM}" if role == "evil" else "")
            raise click.BadParameter(f"{text!r}; expected {allowed}", param_hint=f"--{role}")


def parse_match(line: str) -> RefereedMatch:
    """The match in a line of the file; raises ValueError for any other line."""
    try:
        match = RefereedMatch(**json.loads(line))
        numbers = (match.game, match.points, match.largest, match.start_ms, match.end_ms, *match.actions)
        texts = (match.play, match.evil, match.verdict)
        seconds = [float(match.seconds[role]) for role in ROLES]
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no match: {error!r:.60}") from None
    if not all(type(value) is int and 0 <= value < 1 << 48 for value in numbers) or match.winner not in ROLES:
        raise ValueError(f"no match: {line[:60]!r}")
    if not all(isinstance(text, str) for text in texts) or not all(0 <= value < 1e9 for value in seconds):
        raise ValueError(f"no match: {line[:60]!r}")
    if not 0 <= match.largest < len(FACES["2584"]):
        raise ValueError(f"no match: {line[:60]!r}")
    return match


def write_records(folder: Path, matches: Sequence[RefereedMatch]) -> None:
    """The matches of each pairing that were played to their end, as a record file of the course."""
    for play, evil in dict.fromkeys((match.play, match.evil) for match in matches):
        games = [
            FinishedGame(match.points, 0, match.largest, match.start_ms, match.end_ms, match.actions)
            for match in sorted(matches, key=lambda match: match.game)
            if (match.play, match.evil, match.verdict) == (play, evil, BY_RULES)
        ]
        name = re.sub(r"[^\w.+-]", "_", f"{play}-{evil}")
        (folder / f"{name}.rec").write_bytes(pack_records(games))


def progress_printer(matches: dict[int, RefereedMatch], total: int) -> Callable[[str], None]:
    """Prints verdicts, and now and then the number of matches, where stderr is not a terminal."""

    def print_progress(note: str) -> None:
        if note:
            click.echo(note, err=True)
        if len(matches) % max(1, total // PROGRESS_LINES) == 0:
            click.echo(f"{len(matches)}/{total} matches", err=True)

    return print_progress


def report_table(found: dict[str, Any], total: int) -> "RenderableType":
    """The contest as two tables: the pairings, and the agents with the course's points."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    pairings = Table(box=None, pad_edge=False, header_style="")
    agents = Table(box=None, pad_edge=False, header_style="")
    left = ("player", "evil", "agent", "role")
    for table, headers in (
        (pairings, ("player", "evil", "matches", "won", "mean points", "largest")),
        (agents, ("agent", "role", "matches", "won", "faults", "actions/s", "course points", "with time penalty")),
    ):
        for header in headers:
            table.add_column(header, justify="left" if header in left else "right", no_wrap=True)
    for row in found["pairings"]:
        share, tile = row["play_wins"] / row["matches"], str(FACES["2584"][row["largest"]])
        texts = (row["play"], row["evil"], str(row["matches"]), f"{share:.1%}", f"{row['mean_points']:.1f}", tile)
        pairings.add_row(*map(Text, texts))
    for row in found["agents"]:
        speed = f"{row['actions_per_second']:,.0f}" if row["actions_per_second"] else "-"
        counts = (str(row[key]) for key in ("matches", "wins", "faults"))
        points = (f"{row['course_points']:g}", f"{row['course_points_after_penalty']:g}")
        agents.add_row(*map(Text, (row["name"], row["role"], *counts, speed, *points)))
    return Group(Text(f"2584 arena: {found['matches']} of {total} matches"), "", pairings, "", agents)
