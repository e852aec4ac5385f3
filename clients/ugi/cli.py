"""`plyd ugi`: the Universal Game Interface, with which GUIs and managers run engines of any game."""

from collections.abc import Callable

import click

from plyd.clients.cli import CONNECT, parse_options


@click.command(short_help="Play any game for a manager or a GUI, by the Universal Game Interface.")
@click.argument("game")
@click.option("--connect", metavar="ADDRESS", help=CONNECT)
@click.option("--listen", metavar="HOST:PORT", help="Serve programs over TCP instead of stdin. Port 0: any free port.")
@click.option(
    "--insecure", is_flag=True, help="Let --listen take an address that other machines can reach, unencrypted."
)
@click.option("--option", "option", multiple=True, metavar="NAME=VALUE", help="Set an engine option. Repeatable.")
def ugi(game: str, connect: str | None, listen: str | None, insecure: bool, option: tuple[str, ...]) -> None:
    """Play GAME for a manager that sends commands on stdin and reads answers from stdout, until quit or end of file.

    The Universal Game Interface (UGI) is UCI for any game. Positions and moves are written in the game's notation,
    which `plyd play GAME --help` and Describe explain; startpos is the usual start of the option variant.

    \b
    in                                    out
    ugi                                   id name plyd ...
                                          option name variant type combo ...
                                          ugiok
    isready                               readyok
    uginewgame
    position startpos moves 4 4
    go movetime 1000                      info depth 11 score cp 24 time 104 nodes 20412 pv 4 4 3
                                          bestmove 4
    query p1turn                          response true
    quit

    \b
    plyd ugi connect4
    plyd ugi gomoku --connect 127.0.0.1:25844 --option method=negascout
    plyd ugi connect4 --listen 127.0.0.1:25852

    With --listen, programs connect by TCP; each connection is a game of its own, up to 64 at a time. The line
    "listening on HOST:PORT" on stdout means ready.

    docs/programs.md describes every command, and how to use a UGI program as an engine here.
    """
    import asyncio

    from plyd.clients.library.bridges.bridge_engine import BridgeEngine
    from plyd.clients.library.bridges.line_bridge import LineBridge, run_bridge
    from plyd.clients.library.channel import parse_endpoint
    from plyd.clients.library.connect.locate import DaemonSource, ExistingDaemon, RestartingDaemon
    from plyd.clients.library.errors import PlydError
    from plyd.clients.ugi.bridge import UgiBridge
    from plyd.clients.ugi.listen import serve

    options = parse_options(option)
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT, unix:PATH or tls:HOST:PORT", param_hint="--connect")
    if insecure and listen is None:
        raise click.UsageError("--insecure goes with --listen")

    def daemon() -> DaemonSource:
        return ExistingDaemon(connect) if connect is not None else RestartingDaemon(game)

    def make(say: Callable[[str], None]) -> LineBridge:
        return UgiBridge(BridgeEngine(daemon(), game), say, game, options)

    if listen is not None:
        try:
            asyncio.run(serve(parse_endpoint(listen, insecure=insecure), daemon, game, options))
        except PlydError as error:
            raise click.ClickException(str(error)) from None
        return
    run_bridge(make, last="quit", error="info string error:", answers_all=True)
