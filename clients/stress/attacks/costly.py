"""Messages that cost more than they look."""

import contextlib
import gzip
from collections import deque
from typing import Any

import grpc

from plyd.clients.stress.attacks.http2 import (
    CONTINUATION,
    DATA,
    EMPTY_MESSAGE,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    RawConnection,
    frame,
    headers,
    request,
)
from plyd.clients.stress.attacks.scene import Attack, Scene
from plyd.v1 import engine_pb2, rules_pb2
from plyd.v1.position_pb2 import Position

INSPECT = "/plyd.v1.RulesService/Inspect"
EVALUATE = "/plyd.v1.EngineService/Evaluate"
FRAME_BYTES = 16_000


class RenjuLattice(Attack):
    """Inspect of a renju board of 20x20 on which each point's foul depends on others: 440 bytes a call, two at once."""

    name = "renju-lattice"

    def run(self, scene: Scene) -> None:
        """Send boards that differ in one stone, so that nobody remembers the answer."""
        inspect, metadata = scene.channel().unary_unary(INSPECT), scene.metadata("greedy")

        def send(number: int) -> Any:
            position = Position(game="gomoku", variant="renju", start=lattice(number))
            message = rules_pb2.InspectRequest(position=position).SerializeToString()
            return inspect.future(message, metadata=metadata, timeout=scene.timeout)

        scene.flood("Inspect", 40, send, at_once=2)


def lattice(number: int) -> str:
    """A board with every third row full of x, and one o that differs from number to number."""
    rows = [("x" if row % 3 == 0 else ".") * 20 for row in range(20)]
    row, column = 1 + 3 * (number // 20 % 6), number % 20
    rows[row] = rows[row][:column] + "o" + rows[row][column + 1 :]
    return "/".join(rows) + " x"


class GzipBomb(Attack):
    """Inspect without a token, 4 kB of gzip each, that unpack to two million empty moves."""

    name = "gzip-bomb"

    def run(self, scene: Scene) -> None:
        """Keep a hundred calls waiting, ten on each connection, which is as much as its window takes."""
        moves = b"\x22\0" * 2_000_000  # Position.moves, field 4, each of length 0
        bomb = gzip.compress(b"\x0a" + varint(len(moves)) + moves)  # InspectRequest.position, field 1
        ten_calls = b"".join(request(stream, INSPECT, bomb, is_gzip=True) for stream in range(1, 20, 2))
        waiting: deque[RawConnection] = deque()

        def wait() -> None:
            connection = waiting.popleft()
            scene.heard["ended call"] += connection.wait_for_ends(10, scene.left)
            connection.close()

        for _ in scene.rounds(200):
            waiting.append(RawConnection(scene.daemon.target))
            waiting[-1].send(ten_calls)
            scene.sent["Inspect"] += 10
            if len(waiting) == 10:
                wait()
        while waiting:
            wait()


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    encoded = b""
    while number >= 128:
        encoded += bytes([number % 128 + 128])
        number //= 128
    return encoded + bytes([number])


class LongStart(Attack):
    """Inspect of a tile board whose start is a text of 4 MB, two at once."""

    name = "long-start"

    def run(self, scene: Scene) -> None:
        """Send the same text again and again."""
        inspect, metadata = scene.channel().unary_unary(INSPECT), scene.metadata("greedy")
        position = Position(game="2584-2x3", start="b " + "2 " * 2_000_000)
        message = rules_pb2.InspectRequest(position=position).SerializeToString()

        def send(_: int) -> Any:
            return inspect.future(message, metadata=metadata, timeout=scene.timeout)

        scene.flood("Inspect", 40, send, at_once=2)


class GiantMetadata(Attack):
    """Calls without a token whose headers are a megabyte."""

    name = "giant-metadata"

    def run(self, scene: Scene) -> None:
        """Send each on a connection of its own, since the daemon may close it."""
        block = headers(INSPECT, x_much="y" * (1 << 20))
        pieces = [block[at : at + FRAME_BYTES] for at in range(0, len(block), FRAME_BYTES)]
        frames = [frame(CONTINUATION if at else HEADERS, 0, 1, piece) for at, piece in enumerate(pieces)]
        frames += [frame(CONTINUATION, END_HEADERS, 1, b""), frame(DATA, END_STREAM, 1, EMPTY_MESSAGE)]
        call = b"".join(frames)
        for _ in scene.rounds(200):
            connection = RawConnection(scene.daemon.target)
            connection.send(call)
            scene.sent["call"] += 1
            scene.heard["refused"] += connection.wait_for_ends(1, scene.left)
            scene.heard["closed"] += not connection.is_open
            connection.close()


class BadTokens(Attack):
    """Calls with wrong tokens, no two alike, 50 at once."""

    name = "bad-tokens"

    def run(self, scene: Scene) -> None:
        """Guess tokens; none may be right."""
        inspect = scene.channel().unary_unary(INSPECT)

        def send(number: int) -> Any:
            metadata = (("authorization", f"Bearer {number:032x}"),)
            return inspect.future(b"", metadata=metadata, timeout=scene.timeout)

        scene.flood("Inspect", 20_000, send, at_once=50)
        if scene.heard["OK"]:
            scene.broken.append(f"{scene.heard['OK']} wrong tokens were let in")


class MalformedLines(Attack):
    """Evaluate with batches of half a megabyte, each line of which is malformed: 262,144 a batch, on two streams."""

    name = "malformed-lines"

    def run(self, scene: Scene) -> None:
        """Send batches as fast as the daemon takes them."""
        evaluate = scene.channel().stream_stream(EVALUATE)
        batch = engine_pb2.EvaluateRequest(game="2584-2x3", lines=b"x\n" * (1 << 18)).SerializeToString()

        def batches() -> Any:
            for _ in scene.rounds(100):
                scene.sent["batch"] += 1
                yield batch

        streams = [evaluate(batches(), metadata=scene.metadata("greedy"), timeout=scene.timeout) for _ in range(2)]
        for stream in streams:
            scene.heard["answered batch"] += answers_of(stream)
            scene.heard[stream.code().name] += 1


def answers_of(stream: Any) -> int:
    """Number of messages on a stream until it ends, however it ends."""
    count = 0
    with contextlib.suppress(grpc.RpcError):
        for _ in stream:
            count += 1
    return count
