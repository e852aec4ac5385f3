"""The commands `plyd config` and `plyd token`: show and check settings, make tokens for clients."""

import hashlib
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any

import click

from plyd.servers.cli.flags import settings_of, settings_options
from plyd.servers.settings import BY_NAME, SERVE, UP, BadSetting, gather


@click.group(short_help="Show and check the settings of daemons.")
def config() -> None:
    """Show and check the settings of daemons.

    They come from a file, the environment and command line options; options override the environment, which overrides
    the file.

    \b
    plyd config check plyd.toml
    plyd config show --config plyd.toml
    """


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
def check(file: Path | None) -> None:
    """Check whether a daemon would start with FILE and the environment. Default FILE: the one that PLYD_CONFIG names.

    Checks every key and value, the addresses, certificates, keys, the clients file, the games and their models. Prints
    a line for each fault. The exit status is 0 if there is none, else 1.

    \b
    plyd config check /etc/plyd/plyd.toml
    """
    from plyd.engines import registry
    from plyd.engines.core.errors import EngineError
    from plyd.servers.access import tls
    from plyd.servers.access.addresses import BadAddress
    from plyd.servers.access.auth import read_clients
    from plyd.servers.daemon_config import (
        read_addresses,
        read_metrics_address,
        read_program,
        read_store,
        read_tracing_endpoint,
    )

    try:
        settings = gather({}, os.environ, file)
    except BadSetting as error:
        raise click.ClickException(str(error)) from None
    faults = []
    for check_part in (
        lambda: registry.check(settings["games"]),
        lambda: [registry.files_for(game, settings["model"]) for game in registry.games()],
        lambda: read_program(settings),
        lambda: read_addresses(settings),
        lambda: read_metrics_address(settings),
        lambda: read_tracing_endpoint(settings),
        lambda: read_store(settings),
        lambda: tls.credentials(settings["tls.certificate"], settings["tls.key"], settings["tls.client_ca"]),
        lambda: settings["clients"] and read_clients(settings["clients"]),
    ):
        try:
            check_part()
        except (BadAddress, BadSetting, EngineError) as error:
            faults.append(str(error))
    if faults:
        raise click.ClickException("\n".join(faults))
    changed = sum(settings.origin(name) != "default" for name in BY_NAME)
    click.echo(
        f"{settings.file or 'the environment'} is good: {changed} of {len(BY_NAME)} settings differ from the default"
    )


@config.command()
@settings_options((*SERVE, *UP))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(as_json: bool, **given: Any) -> None:
    """Show the value of every setting and where it came from. Takes the options of `plyd serve` and `plyd up`.

    \b
    plyd config show --config plyd.toml --slots 4
    """
    settings = settings_of(given, os.environ, SERVE, UP)
    if as_json:
        values = {name: {"value": settings[name], "origin": settings.origin(name)} for name in BY_NAME}
        click.echo(json.dumps(values, indent=2, default=str))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("setting", "value", "from", box=box.SIMPLE)
    for name in BY_NAME:
        value = settings[name]
        text = ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
        table.add_row(name, text, settings.origin(name), style=None if settings.origin(name) != "default" else "dim")
    Console(width=None if sys.stdout.isatty() else 200).print(table)


@click.command(short_help="Make a token for a client.")
@click.argument("name")
def token(name: str) -> None:
    """Make a token for the client NAME.

    Prints the token on stdout: give it to the client, who sets PLYD_TOKEN or PLYD_TOKEN_FILE. Prints the lines for the
    daemon's clients file on stderr; they contain only the token's SHA-256. The token itself is stored nowhere.

    \b
    plyd token gui > gui.token
    """
    from plyd.servers.access.auth import check_client_name

    try:
        check_client_name(name)
    except BadSetting as error:
        raise click.ClickException(str(error)) from None
    new_token = secrets.token_urlsafe(32)
    click.echo(new_token)
    digest = hashlib.sha256(new_token.encode()).hexdigest()
    click.echo(f'# for the clients file\n[[client]]\nname = "{name}"\nsha256 = "{digest}"', err=True)
