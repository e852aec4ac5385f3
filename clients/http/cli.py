"""`plyd http`: serve the daemons over HTTP with JSON."""

import re

import click

from plyd.clients.web.cli import open_server, serve_app

DEFAULT_LISTEN = "127.0.0.1:25851"
MAX_MESSAGE_BYTES = 1 << 20  # on a WebSocket: a batch of 512 KiB in base64, or 160 KiB with every character escaped
ORIGIN = re.compile(r"https?://[^/\s?#]+|null")


@click.command(short_help="Serve the engines over HTTP with JSON, for curl and browsers.")
@click.option(
    "--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="Port 0 means any free port."
)
@click.option(
    "--connect",
    multiple=True,
    metavar="ADDRESS",
    help="HOST:PORT, unix:PATH or tls:HOST:PORT of a daemon; repeatable.  "
    "[default: those of `plyd up`, ports 25840 and up]",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Allow pages from this site to call, as https://games.example; null for pages opened from a file; repeatable.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A further host name or address by which callers may call this machine; repeatable.",
)
@click.option("--insecure", is_flag=True, help="Allow --listen beyond this machine, although nothing is encrypted.")
def http(
    listen: str, connect: tuple[str, ...], origins: tuple[str, ...], names: tuple[str, ...], insecure: bool
) -> None:
    """Serve every method of the daemons over HTTP with JSON, for callers without gRPC.

    Calls with one answer are a POST. Analyze and WatchLoad are streams of the Connect protocol. Play and Evaluate are
    WebSockets. /openapi.json describes all methods. With several daemons, the request's game decides which one answers.
    A token in the header Authorization is passed on to the daemon. Prints "serving http://HOST:PORT" once it is ready.

    \b
    plyd http
    curl -H 'Content-Type: application/json' \\
      -d '{"position": {"game": "connect4"}, "limits": {"moveTimeMs": 500}}' \\
      http://127.0.0.1:25851/plyd.v1.EngineService/Search
    """
    from plyd.clients.http.app import make_app
    from plyd.clients.http.daemons import config_of
    from plyd.clients.library.connect.up_addresses import up_addresses
    from plyd.clients.library.errors import PlydError

    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise click.ClickException(f"--origin is {origin!r}; allowed is http://HOST, https://HOST:PORT or null")
    targets = connect or tuple(up_addresses().values())
    try:
        for target in targets:
            config_of(target)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    listener, host, url = open_server(listen, names, insecure=insecure)
    serve_app(make_app(targets, (host, *names), origins), listener, url, MAX_MESSAGE_BYTES)
