"""The program `plyd`: a group of commands, each imported only when it is used."""

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar

import click

PROGRAM = [
    sys.executable,
    "-P",
    "-m",
    "plyd.clients",
]  # as a child process; -P: not the working folder's code
INSTALL = "pip install plyd"  # what a command says that plyd-client alone cannot run
CONNECT = "Use the daemon at HOST:PORT, unix:PATH or tls:HOST:PORT. Default: start a private one."  # help of --connect
COMMANDS = {
    "up": "plyd.servers.cli.serve:up",
    "serve": "plyd.servers.cli.serve:serve",
    "web": "plyd.clients.web.cli:web",
    "http": "plyd.clients.http.cli:http",
    "solve": "plyd.clients.commands.solve:solve",
    "play": "plyd.clients.play.cli:play",
    "analyze": "plyd.clients.analyze.cli:analyze",
    "match": "plyd.clients.match.cli:match",
    "tournament": "plyd.clients.tournament.cli:tournament",
    "gomocup": "plyd.clients.gomocup.cli:gomocup",
    "ugi": "plyd.clients.ugi.cli:ugi",
    "arena": "plyd.clients.hosts.arena2584:arena",
    "train": "plyd.engines.train:train",
    "book": "plyd.engines.book:book",
    "openings": "plyd.engines.openings:openings",
    "warm": "plyd.engines.warm:warm",
    "config": "plyd.servers.cli.config:config",
    "token": "plyd.servers.cli.config:token",
    "store": "plyd.servers.cli.store:store",
    "models": "plyd.models.cli:models",
    "bridges": "plyd.clients.commands.bridges:bridges",
    "bench": "plyd.clients.commands.bench:bench",
    "stress": "plyd.clients.stress.cli:stress",
    "doctor": "plyd.servers.cli.doctor:doctor",
    "health": "plyd.clients.commands.health:health",
    "top": "plyd.clients.commands.top:top",
}


class LazyGroup(click.Group):
    """A group that imports a command when it is used, so that `plyd solve` does not import what `plyd serve` needs."""

    places: ClassVar[Mapping[str, str]] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Every installed command, in the order in which a new user needs them."""
        return [name for name, place in self.places.items() if is_installed(place)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name."""
        if cmd_name not in self.places:
            return None
        module, _, name = self.places[cmd_name].partition(":")
        if not is_installed(module):
            raise click.ClickException(f"{cmd_name} is a command of the package plyd: {INSTALL}")
        command: click.Command = getattr(import_module(module), name)
        return command

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program; an error in one line if the disk that its output goes to is full."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            click.echo(f"Error: {error}", err=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would fail again, for what is unwritten
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error for one that needs a package which plyd-client does without."""
        try:
            result = super().invoke(ctx)
            if sys.stdout:  # None if the caller closed it
                sys.stdout.flush()  # now, while an error can be told
            return result
        except ModuleNotFoundError as error:
            if error.name is None or is_installed("plyd.servers"):
                raise
            raise click.ClickException(f"{ctx.invoked_subcommand} needs {error.name}: {INSTALL}") from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; an error with similar names for an unknown one."""
        if args[0] not in self.places and (near := get_close_matches(args[0], self.places)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)


def is_installed(place: str) -> bool:
    """Whether the room of a module is installed: plyd-client has only `plyd.clients`."""
    return find_spec(".".join(place.split(".")[:2])) is not None


def parse_options(pairs: Sequence[str]) -> dict[str, str]:
    """Engine options by name, from the NAME=VALUE texts of --option."""
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{pair!r}; expected NAME=VALUE", param_hint="--option")
        options[name] = value
    return options


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("plyd-client"), prog_name="plyd")
def main() -> None:
    """Game engines as daemons: ask over gRPC what to play, get an answer within a time limit.

    \b
    plyd up                                  run every engine
    echo "b 2 2 0 0 0 0" | plyd solve        value of a 2x3 position
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our own errors replace what the core of gRPC prints


if __name__ == "__main__":
    main()
