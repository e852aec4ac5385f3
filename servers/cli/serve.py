"""The commands `plyd serve` and `plyd up`."""

import logging
import os
import sys
from collections.abc import Coroutine
from typing import Any

import click

from plyd.servers.access.addresses import Address
from plyd.servers.cli.flags import settings_of, settings_options
from plyd.servers.settings import SERVE, UP, BadSetting
from plyd.servers.up_ports import METRICS_PORT, WEB_PORT, port_offsets


@click.command(short_help="Serve one or more games from one daemon.")
@click.argument("games", nargs=-1, metavar="GAME...")
@settings_options(SERVE[1:])
@click.option("--with-stdin", is_flag=True, hidden=True, help="Stop when stdin closes: the parent is gone.")
@click.option("--quiet-requests", is_flag=True, hidden=True, help="Log requests only at level debug.")
def serve(with_stdin: bool, quiet_requests: bool, **given: Any) -> None:
    """Serve GAME... from one daemon process.

    Prints a line "serving GAMES on ADDRESS" once it is ready, and logs to stderr. SIGTERM or Ctrl-C stops it: running
    searches answer with the best move so far. SIGHUP reads the clients file again.

    Each option can also be set in a file or in the environment: --tls-key is "key" in the table [tls] of the file, or
    PLYD_TLS_KEY. An option overrides the environment, which overrides the file; `plyd config show` prints the result.

    \b
    plyd serve 2584-2x3
    plyd serve 2584-2x3 --listen 127.0.0.1:0 --listen unix:/tmp/plyd.sock
    plyd serve gomoku --program "pbrain-other --fast"
    plyd serve gomoku --listen 0.0.0.0:25844 --tls-certificate cert.pem --tls-key key.pem --clients clients.toml
    """
    from plyd.engines.core.errors import EngineError
    from plyd.servers import daemon
    from plyd.servers.access.addresses import BadAddress
    from plyd.servers.daemon_config import make_daemon_config
    from plyd.servers.telemetry import log

    settings = settings_of(given, os.environ, SERVE)
    if not settings["games"]:
        raise click.UsageError("missing GAME, for example: plyd serve 2584-2x3")
    log.set_up(settings["log.level"], settings["log.format"], quiet_requests=quiet_requests)
    try:
        sys.exit(_run(daemon.run(make_daemon_config(settings), with_stdin=with_stdin)))
    except (BadAddress, BadSetting, EngineError) as error:
        raise click.ClickException(str(error)) from None


@click.command(short_help="Run every engine, each in its own daemon, and the web page.")
@click.argument("games", nargs=-1, metavar="[GAME]...")
@settings_options(UP)
def up(**given: Any) -> None:
    """Run all engines, or those of GAME..., each in its own daemon process on its own port, and the web page.

    Prints a line "GAME ADDRESS PID" whenever a daemon is ready, and "web URL PID" for the page: open that URL in a
    browser. Once all of them serve, a table of their addresses is logged. A process that dies is restarted, after a
    delay that grows if it keeps dying; one that fails before it ever served ends them all, with status 1, unless it is
    a plug-in game that was not named. Ctrl-C or SIGTERM stops all of them.

    Games of other packages (entry points "plyd.engines") run too. Each has a port of its own, from base port + 40 on.

    The settings of `plyd serve` in the configuration file and the environment apply to each daemon, except for the
    addresses, which come from the table [up]. Requests are logged only at log level debug (PLYD_LOG_LEVEL=debug).

    Only this machine can connect. For other machines, run `plyd serve` and `plyd web`: see docs/operations.md.

    \b
    plyd up
    plyd up 2048 2584-2x3
    """
    from plyd.engines import registry
    from plyd.engines.core.errors import EngineError
    from plyd.servers.access.addresses import BadAddress
    from plyd.servers.supervisor import Supervisor, engine_process, web_process
    from plyd.servers.telemetry import log

    settings = settings_of(given, os.environ, SERVE, UP)
    log.set_up(settings["log.level"], settings["log.format"])
    host, base_port, games = settings["up.host"], settings["up.base_port"], settings["games"]
    try:
        registry.check(games)
        if settings["program.command"]:
            raise BadSetting("program.command is for one game: start its daemon with plyd serve GAME --program")
        if not Address(host).is_local:
            raise BadAddress(not_loopback(host, base_port))
        plugins = registry.plugins()
        for problem in plugins.problems:
            logging.getLogger("plyd.up").warning(problem)
        specs = [
            engine_process(
                game,
                Address(host, base_port + offset),
                metrics=Address(host, base_port + offset + METRICS_PORT) if settings["up.metrics"] else None,
                config=settings.file,
                is_encrypted=settings["tls.certificate"] is not None,
                is_optional=game in plugins.places and not games,
            )
            for game, offset in port_offsets(registry.ENGINES, plugins.places).items()
            if game in games or not games
        ]
        if settings["up.web"]:
            specs.append(web_process(Address(host, settings["up.web_port"] or base_port + WEB_PORT), specs))
        sys.exit(_run(Supervisor(specs).run()))
    except (BadAddress, BadSetting, EngineError) as error:
        raise click.ClickException(str(error)) from None


def not_loopback(host: str, port: int) -> str:
    """The error for a host that other machines can reach, with the commands that serve such a host."""
    engine, page = Address(host, port), Address(host, port + WEB_PORT)
    return f"""host "{host}" is not a loopback address such as 127.0.0.1; plyd up serves this machine only.
To serve other machines, start each daemon and the page separately:
  plyd serve GAME --listen {engine} --tls-certificate FILE --tls-key FILE --clients FILE   (tokens: plyd token)
  plyd serve GAME --listen {engine} --insecure                      (no encryption: only in a network you trust)
  plyd web --listen {page} --insecure --name NAME                (NAME: the host name that browsers use)"""


def _run(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine, on uvloop if it is installed."""
    import asyncio

    try:
        import uvloop
    except ImportError:
        return int(asyncio.run(main))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return int(runner.run(main))
