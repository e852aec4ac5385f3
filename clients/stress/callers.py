"""A process of callers that send calls as fast as they are answered. Messages are plain bytes, which costs least.

Reads one order per line from stdin (JSON: target, method, message in hex, seconds), carries it out with the number of
connections given as its argument, and prints the number of answers (JSON: answers, and error if a call failed).
"""

import asyncio
import json
import sys
import time
from typing import Any

import grpc.aio
import uvloop

OPTIONS = [("grpc.use_local_subchannel_pool", 1)]  # one connection per caller


class Callers:
    """Connections to targets, kept open between orders."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._channels: dict[str, list[grpc.aio.Channel]] = {}

    async def carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        """Call for the given seconds; the number of answers."""
        target = order["target"]
        if target not in self._channels:
            self._channels[target] = [grpc.aio.insecure_channel(target, OPTIONS) for _ in range(self._count)]
        message, end = bytes.fromhex(order["message"]), time.monotonic() + order["seconds"]

        async def ask(channel: grpc.aio.Channel) -> int:
            call: Any = channel.unary_unary(order["method"])
            answers = 0
            while time.monotonic() < end:
                await call(message)
                answers += 1
            return answers

        try:
            counts = await asyncio.gather(*map(ask, self._channels[target]))
        except grpc.aio.AioRpcError as error:
            return {"answers": 0, "error": f"{error.code().name}: {error.details()}"}
        return {"answers": sum(counts)}


async def work(count: int) -> None:
    """Carry out orders until stdin ends."""
    callers = Callers(count)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await callers.carry_out(json.loads(line))), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(int(sys.argv[1])))
