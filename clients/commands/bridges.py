"""`plyd bridges`: what connects the engines to other programs."""

import sys
from dataclasses import astuple, dataclass

import click


@dataclass(frozen=True, slots=True)
class Bridge:
    """A way to the engines from a program that is not ours."""

    name: str
    connects: str
    command: str
    page: str  # that explains it, in the checkout


BRIDGES = (
    Bridge("web page", "a browser: play, watch and analyse every game", "plyd web", "docs/web.md"),
    Bridge("Gomocup", "Gomoku managers and GUIs; the same as plyd gomocup", "pbrain-plyd", "docs/gomocup.md"),
    Bridge("2584 arena", "a referee of 2584 on stdin and stdout", "plyd arena", "docs/tiles.md"),
    Bridge("2x3 solver", "scripts and judges that pipe queries", "plyd solve", "README.md"),
    Bridge("2x3 over TCP", "programs that open a socket", "plyd solve --listen 127.0.0.1:2584", "docs/guis.md"),
    Bridge("Kaggle ConnectX", "Kaggle's environments", "plyd.clients.hosts.kaggle.connectx", "docs/connect4-hosts.md"),
    Bridge("course library", "judges that load players as C libraries", "make course", "docs/connect4-hosts.md"),
    Bridge(
        "Node",
        "JavaScript, with the stock gRPC packages",
        "node clients/hosts/node/solve.mjs",
        "clients/hosts/node/README.md",
    ),
    Bridge("Python", "your own code", "from plyd.clients import EngineClient", "README.md"),
    Bridge(
        "gRPC reflection",
        "any tool or language that knows gRPC",
        "buf curl --protocol grpc --http2-prior-knowledge http://127.0.0.1:25840/plyd.v1.EngineService/Describe",
        "docs/protocol.md",
    ),
)


@click.command(short_help="List the ways to the engines from other programs.")
def bridges() -> None:
    """List what connects the engines to other programs: what it connects, its command, and the page that explains it.

    On a terminal it is a table; otherwise lines of four fields with tabs between them.

    \b
    plyd bridges
    plyd bridges | cut -f 1,3
    """
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Column, Table

        table = Table("bridge", "connects", Column("command", overflow="fold"), "page", box=box.SIMPLE)
        for bridge in BRIDGES:
            table.add_row(*astuple(bridge))
        Console().print(table)
    else:
        for bridge in BRIDGES:
            click.echo("\t".join(astuple(bridge)))
