"""Games of other packages: entry points of the group `plyd.engines`. Only metadata is read here; nothing is imported.

A package names its games in its pyproject.toml, each with the module and the class of its Engine:

    [project.entry-points."plyd.engines"]
    mygame = "my_package.engine:MyGame"
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distributions

GROUP = "plyd.engines"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The places (module:class) of plug-in games, the package that each comes from, and what is wrong with others."""

    places: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def find_plugins(taken: Collection[str]) -> Plugins:
    """The games of installed packages, by name; `taken` are names that no plug-in may have."""
    places: dict[str, str] = {}
    packages: dict[str, str] = {}
    problems: list[str] = []
    for game, place, package in sorted(_entries(problems)):
        if problem := _problem_of(game, place, taken) or _rival_of(package, packages.get(game)):
            problems.append(f"game {game!r} of {package} is left out: {problem}")
        elif game not in places:
            places[game], packages[game] = place, package
    return Plugins(places, packages, tuple(problems))


def _entries(problems: list[str]) -> Iterator[tuple[str, str, str]]:
    """Game, place and package of each entry point; `problems` gets what cannot be read."""
    for package in distributions():
        try:
            found = package.entry_points.select(group=GROUP)
            name = f"{package.name} {package.version}" if found else ""
        except Exception as error:  # of damaged metadata, anything
            problems.append(f"the entry points of an installed package cannot be read: {error!r}")
            continue
        yield from {(entry.name, entry.value, name) for entry in found}


def _problem_of(game: str, place: str, taken: Collection[str]) -> str:
    """Why a plug-in cannot be used, as far as its metadata tells; "" if nothing is wrong."""
    if not NAME.fullmatch(game):
        return "a game's name has 1 to 32 of a-z, 0-9 and -, and does not begin with -"
    if game in taken:
        return "plyd has a game of that name"
    return "" if PLACE.fullmatch(place) else f"{place!r} is not module:class"


def _rival_of(package: str, first: str | None) -> str:
    """Why a package may not have a game that another package has; "" if no other has it."""
    return f"{first} has a game of that name" if first not in (None, package) else ""
