"""The commands that serve: `plyd serve` and `plyd up`."""

import sys
from pathlib import Path
from typing import Any

import click

DEFAULT_PORT = 25840
WEB_PORT = 10  # from the first engine's on


@click.command(short_help="Serve one or more games from one daemon.")
@click.argument("games", nargs=-1, required=True, metavar="GAME...")
@click.option(
    "--listen",
    "listen",
    multiple=True,
    metavar="ADDRESS",
    help=f"HOST:PORT (port 0: any free one) or unix:PATH; repeatable.  [default: 127.0.0.1:{DEFAULT_PORT}]",
)
@click.option("--slots", type=click.IntRange(1, 1024), help="Searches that run at once.  [default: number of cores]")
@click.option("--queue", type=click.IntRange(0, 100_000), default=64, show_default=True, help="Searches that may wait.")
@click.option(
    "--sessions", type=click.IntRange(1, 100_000), default=256, show_default=True, help="Games open at once (Play)."
)
@click.option(
    "--model",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Play by this packed network, not the one that ships for its game and variant; repeatable.",
)
@click.option("--insecure", is_flag=True, help="Listen beyond this machine although nothing is encrypted.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "human", "json"]),
    default="auto",
    show_default=True,
    help="auto: human on a terminal, JSON otherwise.",
)
@click.option("--with-stdin", is_flag=True, hidden=True, help="Stop when stdin closes: the parent is gone.")
def serve(games: tuple[str, ...], listen: tuple[str, ...], **settings: Any) -> None:
    """Serve GAME... from one daemon process.

    Prints a line "serving GAMES on ADDRESS" once it is ready, logs to stderr, and goes in good order on SIGTERM or
    Ctrl-C: searches that run answer with the best they have.

    \b
    plyd serve 2584-2x3
    plyd serve 2584-2x3 --listen 127.0.0.1:0 --listen unix:/tmp/plyd.sock
    """
    from plyd.engines import registry
    from plyd.engines.core.cores import usable_cores
    from plyd.engines.core.errors import EngineError
    from plyd.servers import daemon, log
    from plyd.servers.addresses import BadAddress, parse_address
    from plyd.servers.runtime import Capacity

    log.set_up(settings["log_level"], settings["log_format"])
    try:
        addresses = [parse_address(text) for text in listen or [f"127.0.0.1:{DEFAULT_PORT}"]]
        for address in addresses:
            if not address.is_local and not settings["insecure"]:
                raise BadAddress(
                    f"{address} can be reached from other machines, unencrypted; say --insecure to allow it"
                )
        engines = {game: registry.load(game, settings["model"]) for game in games}
        capacity = Capacity(
            slots=settings["slots"] or usable_cores(), queue_size=settings["queue"], max_sessions=settings["sessions"]
        )
        sys.exit(_run(daemon.run(engines, capacity, addresses, with_stdin=settings["with_stdin"])))
    except (BadAddress, EngineError) as error:
        raise click.ClickException(str(error)) from None


@click.command(short_help="Run every engine, each in its own daemon, and the page.")
@click.argument("games", nargs=-1, metavar="[GAME]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of this machine to listen on.")
@click.option(
    "--base-port",
    type=click.IntRange(1, 65000),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of the first engine there is; each further one has the next.",
)
@click.option(
    "--web/--no-web", "with_web", default=True, show_default=True, help="The page: every engine in the browser."
)
@click.option("--web-port", type=click.IntRange(1, 65535), help=f"Of the page.  [default: base port + {WEB_PORT}]")
def up(games: tuple[str, ...], host: str, base_port: int, with_web: bool, web_port: int | None) -> None:
    """Run every engine there is, or those of GAME..., each in its own daemon process on its own port, and the page.

    Prints a line "GAME ADDRESS PID" whenever one is ready, and "web URL PID" for the page: open that URL in a browser.
    What dies is started again, after a pause that grows while it keeps dying. Ctrl-C or SIGTERM stops all of them.

    \b
    plyd up
    plyd up 2048 2584-2x3
    """
    from plyd.engines import registry
    from plyd.engines.core.errors import EngineError
    from plyd.servers import log
    from plyd.servers.addresses import Address, BadAddress
    from plyd.servers.supervisor import Supervisor, engine_post, web_post

    log.set_up("info", "auto")
    try:
        registry.check(games)
        posts = [
            engine_post(game, Address(host, base_port + i))
            for i, game in enumerate(registry.ENGINES)
            if game in games or not games
        ]
        if not posts[0].address.is_local:
            raise BadAddress(f'host "{host}" is not a loopback address, such as 127.0.0.1, ::1 or localhost')
        if with_web:
            posts.append(web_post(Address(host, web_port or base_port + WEB_PORT), posts))
        sys.exit(_run(Supervisor(posts).run()))
    except (BadAddress, EngineError) as error:
        raise click.ClickException(str(error)) from None


def _run(main: Any) -> int:
    """Run a coroutine on uvloop where there is one."""
    import asyncio

    try:
        import uvloop
    except ImportError:
        return int(asyncio.run(main))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return int(runner.run(main))
