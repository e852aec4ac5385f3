"""The commands that serve: `plyd serve` and `plyd up`."""

import os
import sys
from collections.abc import Coroutine
from typing import Any

import click

from plyd.servers.cli.flags import settings_of, settings_options
from plyd.servers.settings import METRICS_PORT, SERVE, UP, WEB_PORT, BadSetting


@click.command(short_help="Serve one or more games from one daemon.")
@click.argument("games", nargs=-1, metavar="GAME...")
@settings_options(SERVE[1:])
@click.option("--with-stdin", is_flag=True, hidden=True, help="Stop when stdin closes: the parent is gone.")
def serve(with_stdin: bool, **given: Any) -> None:
    """Serve GAME... from one daemon process.

    Prints a line "serving GAMES on ADDRESS" once it is ready, logs to stderr, and goes in good order on SIGTERM or
    Ctrl-C: searches that run answer with the best they have. SIGHUP reads the file of clients again.

    Each option can be set in a file too, or by the environment: --tls-key is "key" in the file's table [tls], and
    PLYD_TLS_KEY. An option goes before the environment, and that before the file; `plyd config show` says what holds.

    \b
    plyd serve 2584-2x3
    plyd serve 2584-2x3 --listen 127.0.0.1:0 --listen unix:/tmp/plyd.sock
    plyd serve gomoku --listen 0.0.0.0:25844 --tls-certificate cert.pem --tls-key key.pem --clients clients.toml
    """
    from plyd.engines.core.errors import EngineError
    from plyd.servers import daemon
    from plyd.servers.access.addresses import BadAddress
    from plyd.servers.daemon_config import make_plan
    from plyd.servers.telemetry import log

    settings = settings_of(given, os.environ, SERVE)
    if not settings["games"]:
        raise click.UsageError("no game named; say which, like: plyd serve 2584-2x3")
    log.set_up(settings["log.level"], settings["log.format"])
    try:
        sys.exit(_run(daemon.run(make_plan(settings), with_stdin=with_stdin)))
    except (BadAddress, BadSetting, EngineError) as error:
        raise click.ClickException(str(error)) from None


@click.command(short_help="Run every engine, each in its own daemon, and the page.")
@click.argument("games", nargs=-1, metavar="[GAME]...")
@settings_options(UP)
def up(**given: Any) -> None:
    """Run every engine there is, or those of GAME..., each in its own daemon process on its own port, and the page.

    Prints a line "GAME ADDRESS PID" whenever one is ready, and "web URL PID" for the page: open that URL in a browser.
    What dies is started again, after a pause that grows while it keeps dying. Ctrl-C or SIGTERM stops all of them.

    The file of settings and the environment hold for each daemon as they do for `plyd serve`, but for the addresses.

    \b
    plyd up
    plyd up 2048 2584-2x3
    """
    from plyd.engines import registry
    from plyd.engines.core.errors import EngineError
    from plyd.servers.access.addresses import Address, BadAddress
    from plyd.servers.supervisor import Supervisor, engine_post, web_post
    from plyd.servers.telemetry import log

    settings = settings_of(given, os.environ, SERVE, UP)
    log.set_up(settings["log.level"], settings["log.format"])
    host, base_port, games = settings["up.host"], settings["up.base_port"], settings["games"]
    try:
        registry.check(games)
        if not Address(host).is_local:
            raise BadAddress(f'host "{host}" is not a loopback address, such as 127.0.0.1, ::1 or localhost')
        posts = [
            engine_post(
                game,
                Address(host, base_port + i),
                metrics=Address(host, base_port + METRICS_PORT + i) if settings["up.metrics"] else None,
                config=settings.file,
                is_encrypted=settings["tls.certificate"] is not None,
            )
            for i, game in enumerate(registry.ENGINES)
            if game in games or not games
        ]
        if settings["up.web"]:
            posts.append(web_post(Address(host, settings["up.web_port"] or base_port + WEB_PORT), posts))
        sys.exit(_run(Supervisor(posts).run()))
    except (BadAddress, EngineError) as error:
        raise click.ClickException(str(error)) from None


def _run(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine on uvloop where there is one."""
    import asyncio

    try:
        import uvloop
    except ImportError:
        return int(asyncio.run(main))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return int(runner.run(main))
