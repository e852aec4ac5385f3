"""Callers who take something and keep it."""

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc

from plyd.clients.stress.attacks.scene import QUOTAS, SLOTS, Attack, Scene
from plyd.v1 import engine_pb2, engine_pb2_grpc
from plyd.v1.position_pb2 import Position
from plyd.v1.search_pb2 import Limits

MAX_SECONDS = 120.0  # of a stream, if the daemon hangs
GRACE_SECONDS = 1.0  # for an open game to end after its client was revoked


def engine_of(scene: Scene) -> Any:
    """The calls of EngineService on a connection of their own."""
    return engine_pb2_grpc.EngineServiceStub(scene.channel())


class OpenGame:
    """A Play stream that one can send commands on, one at a time."""

    def __init__(self, scene: Scene, client: str, game: str) -> None:
        self._commands: queue.SimpleQueue[engine_pb2.PlayRequest | None] = queue.SimpleQueue()
        self._replies = engine_of(scene).Play(self._sent(), metadata=scene.metadata(client), timeout=MAX_SECONDS)
        scene.stack.callback(self.close)
        self.ask(new_game={"position": {"game": game}})

    def _sent(self) -> Iterator[engine_pb2.PlayRequest]:
        while command := self._commands.get():
            yield command

    def ask(self, **command: Any) -> Any:
        """The final reply to a command; raises grpc.RpcError if the stream has ended."""
        self._commands.put(engine_pb2.PlayRequest(id=1, **command))
        for reply in self._replies:
            if not reply.HasField("report") or reply.report.final:
                return reply
        raise grpc.RpcError("the stream has ended")

    def close(self) -> None:
        """End the stream."""
        self._replies.cancel()
        self._commands.put(None)


class IdleGames(Attack):
    """Four games that search one node each and then stay open: others must still find memory."""

    name = "idle-games"

    def run(self, scene: Scene) -> None:
        """Search once in each game; they stay open until the end of the scene."""
        for _ in range(4):
            reply = OpenGame(scene, "greedy", "connect4").ask(go={"limits": {"nodes": 1}})
            scene.sent["game"] += 1
            scene.heard["refused search" if reply.HasField("error") else "search"] += 1


class EndlessAnalyses(Attack):
    """As many analyses without a limit as there are slots: others must still find a slot."""

    name = "endless-analyses"

    def run(self, scene: Scene) -> None:
        """Read their reports until the time is over."""
        request = engine_pb2.AnalyzeRequest(position=Position(game="2584-2x3"), options={"method": "expectimax"})
        streams = [
            engine_of(scene).Analyze(request, metadata=scene.metadata("greedy"), timeout=MAX_SECONDS)
            for _ in range(SLOTS)
        ]
        readers = [threading.Thread(target=self._read, args=(stream, scene)) for stream in streams]
        for reader in readers:
            reader.start()
        scene.sent["Analyze"] += len(streams)
        scene.wait()
        for stream, reader in zip(streams, readers, strict=True):
            stream.cancel()
            reader.join()

    def _read(self, stream: Any, scene: Scene) -> None:
        try:
            for _ in stream:
                scene.heard["report"] += 1
        except grpc.RpcError as error:
            scene.heard[error.code().name] += 1


class RevokedToken(Attack):
    """Commands on a game that was opened before its client's token was revoked: none may be answered."""

    name = "revoked-token"

    def prepare(self, scene: Scene) -> None:
        """Open the game."""
        self._game = OpenGame(scene, "revoked", "connect4")
        scene.stack.callback(scene.set_clients, *QUOTAS)

    def run(self, scene: Scene) -> None:
        """Revoke the token, wait until new calls are refused, and go on with the game."""
        scene.set_clients(*(name for name in QUOTAS if name != "revoked"))
        engine, metadata = engine_of(scene), scene.metadata("revoked")

        def describe(_: int) -> Any:
            return engine.Describe.future(engine_pb2.DescribeRequest(), metadata=metadata, timeout=scene.timeout)

        while not scene.heard["UNAUTHENTICATED"] and scene.left:
            scene.flood("Describe", 1, describe, at_once=1)
        time.sleep(min(GRACE_SECONDS, scene.left / 2))
        try:
            for _ in scene.rounds(1000):
                scene.sent["take_back"] += 1
                self._game.ask(take_back={"plies": 0})
                scene.heard["reply"] += 1
        except grpc.RpcError:
            scene.heard["ended stream"] += 1
        if scene.heard["reply"]:
            scene.broken.append(f"{scene.heard['reply']} commands were answered after the token was revoked")


class MemoryQuota(Attack):
    """Two searches at once, again and again, by a client that may have two and 64 MB: neither may be refused."""

    name = "memory-quota"

    def run(self, scene: Scene) -> None:
        """Send both before reading either answer."""
        search, metadata = engine_of(scene).Search, scene.metadata("small")
        request = engine_pb2.SearchRequest(position=Position(game="connect4"), limits=Limits(move_time_ms=30))

        for _ in scene.rounds(200):
            pair = [search.future(request, metadata=metadata, timeout=scene.timeout) for _ in range(2)]
            scene.sent["Search"] += len(pair)
            scene.heard.update(call.code().name for call in pair)
        if refused := scene.heard["RESOURCE_EXHAUSTED"]:
            scene.broken.append(f"{refused} searches within the quota were refused")
