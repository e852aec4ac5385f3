"""The group `plyd play`, with one command per game: those of plyd, and every plug-in game for two."""

from collections.abc import Mapping
from typing import ClassVar

import click

from plyd.clients.cli import LazyGroup
from plyd.clients.library.connect.up_addresses import plugin_games


class PlayGroup(LazyGroup):
    """A group with one command per game. The game may also follow the options."""

    places: ClassVar[Mapping[str, str]] = {
        "2048": "plyd.clients.play.tiles:play_2048",
        "2584": "plyd.clients.play.tiles:play_2584",
        "connect4": "plyd.clients.play.terminal:connect4",
        "gomoku": "plyd.clients.play.terminal:gomoku",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The games of plyd, then those of plug-ins."""
        return [*super().list_commands(ctx), *plugin_games()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a game."""
        if cmd_name in self.places or cmd_name not in plugin_games():
            return super().get_command(ctx, cmd_name)
        from plyd.clients.play.terminal import command_of

        return command_of(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the game to the front if options come first."""
        if args and args[0].startswith("-"):
            games = self.list_commands(ctx)
            index = next((i for i, word in enumerate(args) if word in games and not self._is_value(ctx, args, i)), 0)
            args = [args[index], *args[:index], *args[index + 1 :]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of a game; raises UsageError for an unknown game."""
        games = self.list_commands(ctx)
        if args[0] not in games:
            raise click.UsageError(f"{args[0]!r} is not one of {', '.join(map(repr, games))}.", ctx)
        return args[0], self.get_command(ctx, args[0]), args[1:]

    def _is_value(self, ctx: click.Context, args: list[str], index: int) -> bool:
        """Whether a word that could be a game is the value of the option before it, as in --until 2048."""
        command = self.get_command(ctx, args[index])
        assert command is not None
        options = [option for option in command.params if isinstance(option, click.Option) and not option.is_flag]
        return index > 0 and any(args[index - 1] in option.opts for option in options)


@click.group(cls=PlayGroup, short_help="Play a game, or many.", subcommand_metavar="GAME [ARGS]...")
def play() -> None:
    """Play a game for two against the engine, or many games of 2048 or 2584 with statistics.

    Games of other packages are here as soon as they are installed.

    \b
    Options of every game: --move-time MS, the time per move,
    and --connect ADDRESS, the daemon to use.
    Run `plyd play GAME --help` for the others.

    \b
    plyd play connect4 --size 9x9 --first engine
    plyd play gomoku --size 15 --first engine
    plyd play 2048 --games 1000
    plyd play 2584 --variant hard --depth 2 --save games.rec
    plyd play 2584 --read games.rec
    plyd play 2584 --evil --move-time 10 --connect 127.0.0.1:25841 --games 5
    """
