"""The games of `plyd play`, each a command in a module of its own."""

import click

from plyd.clients.cli import LazyGroup

COMMANDS = {
    "2048": "plyd.clients.play.tiles:tiles",
    "2584": "plyd.clients.play.tiles:tiles",
    "connect4": "plyd.clients.play.terminal:connect4",
    "gomoku": "plyd.clients.play.terminal:gomoku",
}


class Games(LazyGroup):
    """A group with a command for each game."""

    places = COMMANDS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let the game stand behind its options, too."""
        if args and args[0].startswith("-"):
            index = next(
                (i for i, word in enumerate(args) if word in COMMANDS and not _is_value(ctx, self, args, i)), 0
            )
            args = [args[index], *args[:index], *args[index + 1 :]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; a game that there is not is wrong usage."""
        if args[0] not in COMMANDS:
            raise click.UsageError(f"{args[0]!r} is not one of {', '.join(map(repr, COMMANDS))}.", ctx)
        return super().resolve_command(ctx, args)


def _is_value(ctx: click.Context, games: Games, args: list[str], index: int) -> bool:
    """Whether a word that could be a game belongs to the option before it, as in --until 2048."""
    command = games.get_command(ctx, args[index])
    assert command is not None
    options = [option for option in command.params if isinstance(option, click.Option) and not option.is_flag]
    return index > 0 and any(args[index - 1] in option.opts for option in options)
