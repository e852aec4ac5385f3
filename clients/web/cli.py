"""`plyd web`: serve the page."""

import contextlib
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from starlette.types import ASGIApp

DEFAULT_LISTEN = "127.0.0.1:25850"
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - all interfaces, which others call by other names
MAX_MESSAGE_BYTES = 128 << 10  # from a page
GRACE_SECONDS = 2


@click.command(short_help="Serve the page: every engine in the browser.")
@click.option(
    "--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="Port 0 means any free port."
)
@click.option(
    "--connect",
    multiple=True,
    metavar="ADDRESS",
    help="HOST:PORT or unix:PATH of a daemon; repeatable.  [default: those of `plyd up`, ports 25840 and up]",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A further host name or address by which browsers may call this machine; repeatable.",
)
@click.option("--insecure", is_flag=True, help="Allow --listen beyond this machine, although nothing is encrypted.")
@click.option("--with-stdin", is_flag=True, hidden=True, help="Stop when stdin closes: the parent is gone.")
def web(listen: str, connect: tuple[str, ...], names: tuple[str, ...], insecure: bool, with_stdin: bool) -> None:
    """Serve a page on which every engine can be played, watched and asked for advice.

    Connects to running daemons (`plyd up` starts them, and this page too) and waits for those that are not up yet.
    Prints a line "serving http://HOST:PORT" once it is ready.

    For other machines, give --insecure, and with --name each name that their browsers use for this one.

    \b
    plyd web
    plyd web --connect 127.0.0.1:25844 --listen 127.0.0.1:8000
    plyd web --listen 0.0.0.0:8000 --insecure --name games.example
    """
    from plyd.clients.library.connect.up_addresses import up_addresses

    targets = connect or tuple(up_addresses().values())
    listener, host, url = open_server(listen, names, insecure=insecure)
    run(listener, url, targets, (host, *names), with_stdin=with_stdin)


def open_server(listen: str, names: tuple[str, ...], *, insecure: bool) -> tuple[socket.socket, str, str]:
    """A listening socket, its host and its URL; beyond this machine only if that is said to be wanted."""
    from plyd.clients.library.channel import Endpoint, is_loopback, parse_endpoint
    from plyd.clients.library.errors import PlydError

    try:
        wanted = parse_endpoint(listen, insecure=True)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    if not is_loopback(wanted.host) and not insecure:
        raise click.ClickException(
            f"{wanted} can be reached from other machines, unencrypted; to allow it, add --insecure, "
            "and --name HOST for each name or address that their browsers use for this machine"
        )
    if wanted.host in WILDCARDS and not names:
        click.echo(
            "warning: other machines are refused: add --name HOST for each name or address that their browsers use "
            "for this machine",
            err=True,
        )
    listener = open_listener(wanted.host, wanted.port, str(wanted))
    return listener, wanted.host, f"http://{Endpoint(wanted.host, listener.getsockname()[1])}"


def open_listener(host: str, port: int, shown: str) -> socket.socket:
    """A listening socket."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {shown}: {error.strerror}") from None
    except UnicodeError:
        raise click.ClickException(f"cannot listen on {shown}: {host!r} is not a host name") from None


def run(
    listener: socket.socket, url: str, targets: tuple[str, ...], names: tuple[str, ...], *, with_stdin: bool
) -> None:
    """Serve the page on a socket until SIGTERM or Ctrl-C."""
    from plyd.clients.web.app import make_app

    if with_stdin:
        threading.Thread(target=_wait_for_parent, daemon=True).start()
    serve_app(make_app(targets, names), listener, url, MAX_MESSAGE_BYTES)


def serve_app(app: "ASGIApp", listener: socket.socket, url: str, max_message_bytes: int) -> None:
    """Serve on a socket until SIGTERM or Ctrl-C; say so once it is ready."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            click.echo(f"serving {url}")

    config = uvicorn.Config(
        app,
        ws_max_size=max_message_bytes,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        ws_per_message_deflate=False,  # on loopback it costs more than it saves
        timeout_graceful_shutdown=GRACE_SECONDS,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it after an orderly stop
        Server(config).run(sockets=[listener])


def _wait_for_parent() -> None:
    """Stop this process when stdin closes, as it does when the parent is gone."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
