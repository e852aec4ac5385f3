"""`plyd bridges`: the list of ways to use the engines from other programs."""

import sys
from dataclasses import astuple, dataclass

import click


@dataclass(frozen=True, slots=True)
class BridgeInfo:
    """One way to use the engines from another program."""

    name: str
    connects: str
    command: str
    page: str  # its documentation, a path in the repository


BRIDGES = (
    BridgeInfo("web page", "a browser: play, watch and analyse every game", "plyd web", "docs/web.md"),
    BridgeInfo("HTTP", "curl, browsers, and any language without gRPC", "plyd http", "docs/http.md"),
    BridgeInfo("Gomocup", "Gomoku managers and GUIs; the same as plyd gomocup", "pbrain-plyd", "docs/gomocup.md"),
    BridgeInfo("UGI", "managers of any game; UCI for any game", "plyd ugi", "docs/programs.md"),
    BridgeInfo("UGI over TCP", "programs that open a socket", "plyd ugi GAME --listen HOST:PORT", "docs/programs.md"),
    BridgeInfo("2584 arena", "a referee of 2584 on stdin and stdout", "plyd arena", "docs/tiles.md"),
    BridgeInfo("2x3 solver", "scripts and judges that pipe queries", "plyd solve", "README.md"),
    BridgeInfo("2x3 over TCP", "programs that open a socket", "plyd solve --listen 127.0.0.1:2584", "docs/guis.md"),
    BridgeInfo(
        "Kaggle ConnectX", "Kaggle environments", "plyd.clients.hosts.kaggle.connectx", "docs/connect4-hosts.md"
    ),
    BridgeInfo("course library", "judges that load players as C libraries", "make course", "docs/connect4-hosts.md"),
    BridgeInfo(
        "Node",
        "JavaScript, with the stock gRPC packages",
        "node clients/hosts/node/solve.mjs",
        "clients/hosts/node/README.md",
    ),
    BridgeInfo("Python", "your own code", "from plyd.clients import EngineClient", "README.md"),
    BridgeInfo(
        "gRPC reflection",
        "any tool or language that knows gRPC",
        "buf curl --protocol grpc --http2-prior-knowledge http://127.0.0.1:25840/plyd.v1.EngineService/Describe",
        "docs/protocol.md",
    ),
)


@click.command(short_help="List the ways to use the engines from other programs.")
def bridges() -> None:
    """List the ways to use the engines from other programs: name, purpose, command and documentation page.

    Prints a table on a terminal, otherwise lines with four tab-separated fields.

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
