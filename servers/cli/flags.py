"""The settings as command line options."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from plyd.servers.settings import FILE_VARIABLE, BadSetting, Setting, Settings, gather


def settings_options(table: Sequence[Setting]) -> Callable[[Any], Any]:
    """A decorator that adds --config and an option for each setting to a command; `settings_of` reads them."""

    def decorate(command: Any) -> Any:
        for setting in reversed(table):
            command = _option(setting)(command)
        return click.option(
            "--config",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=f"Settings in a TOML file.  [environment: {FILE_VARIABLE}]",
        )(command)

    return decorate


def settings_of(given: dict[str, Any], environment: Any, *tables: Sequence[Setting]) -> Settings:
    """All settings, from a command's options, the environment and the file; an error has a line for each fault."""
    settings = [setting for table in tables for setting in table]
    flags = {s.name: given[s.key] for s in settings if given.get(s.key) not in (None, ())}
    try:
        return gather(flags, environment, given.get("config"))
    except BadSetting as error:
        raise click.ClickException(str(error)) from None


def _option(setting: Setting) -> Callable[[Any], Any]:
    names = [setting.option, setting.key]
    if setting.kind is bool:
        names[0] += f"/--no-{setting.option.removeprefix('--')}"
    shown = setting.default
    if setting.many:
        shown = ", ".join(map(str, setting.default))
    elif isinstance(shown, bool):
        shown = setting.option if shown else ""  # as click writes it
    default = f"  [default: {shown}]" if shown not in (None, "") else ""
    return click.option(
        *names,
        type=_type_of(setting),
        multiple=setting.many,
        default=None,
        metavar=setting.form.split(";")[0] or None,
        help=setting.summary.rstrip(".") + ("; repeatable." if setting.many else ".") + default,
    )


def _type_of(setting: Setting) -> Any:
    if setting.choices:
        return click.Choice(setting.choices)
    if setting.kind is Path:
        return click.Path(path_type=Path)
    if setting.kind is int:
        assert setting.least is not None
        assert setting.most is not None
        return click.IntRange(int(setting.least), int(setting.most))
    if setting.kind is float:
        return click.FloatRange(setting.least, setting.most)
    return setting.kind
