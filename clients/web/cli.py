"""`plyd web`: the page for people."""

import contextlib
import os
import signal
import socket
import threading

import click

FIRST_DAEMON, DAEMONS = 25840, 5  # as `plyd up` has them
DEFAULT_LISTEN = "127.0.0.1:25850"
LONGEST_MESSAGE = 128 << 10  # bytes, from a page
GRACE_SECONDS = 2


@click.command(short_help="Serve the page: every engine in the browser.")
@click.option("--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="Port 0: any free one.")
@click.option(
    "--connect",
    multiple=True,
    metavar="ADDRESS",
    help=f"A daemon's HOST:PORT or unix:PATH; repeatable.  [default: those of `plyd up`, ports {FIRST_DAEMON} on]",
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name of this machine that pages may use.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine although nothing is encrypted.")
@click.option("--with-stdin", is_flag=True, hidden=True, help="Stop when stdin closes: the parent is gone.")
def web(listen: str, connect: tuple[str, ...], names: tuple[str, ...], insecure: bool, with_stdin: bool) -> None:
    """Serve a page on which every engine can be played, watched and asked for advice.

    Talks to daemons that run (`plyd up` starts them, and this too); those that are not there yet are waited for. Prints
    a line "serving http://HOST:PORT" once it is ready.

    \b
    plyd web
    plyd web --connect 127.0.0.1:25844 --listen 127.0.0.1:8000
    """
    from plyd.clients.library.channel import Endpoint, parse_endpoint
    from plyd.clients.library.errors import PlydError

    targets = connect or tuple(f"127.0.0.1:{FIRST_DAEMON + i}" for i in range(DAEMONS))
    try:
        wanted = parse_endpoint(listen, insecure=insecure)
        family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
        listener = socket.create_server((wanted.host, wanted.port), family=family, backlog=512)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot listen on {wanted}: {error.strerror}") from None
    bound = Endpoint(wanted.host, listener.getsockname()[1])
    run(listener, f"http://{bound}", targets, (wanted.host, *names), with_stdin=with_stdin)


def run(
    listener: socket.socket, url: str, targets: tuple[str, ...], names: tuple[str, ...], *, with_stdin: bool
) -> None:
    """Serve on a socket until told to stop."""
    import uvicorn

    from plyd.clients.web.app import make_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            click.echo(f"serving {url}")

    config = uvicorn.Config(
        make_app(targets, names),
        ws_max_size=LONGEST_MESSAGE,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        ws_per_message_deflate=False,  # on loopback it costs more than it saves
        timeout_graceful_shutdown=GRACE_SECONDS,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    if with_stdin:
        threading.Thread(target=_wait_for_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn has stopped in good order, and says it once more
        Server(config).run(sockets=[listener])


def _wait_for_parent() -> None:
    """Block until stdin closes, as it does when the parent process is gone, then stop."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
