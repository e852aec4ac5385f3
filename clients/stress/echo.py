"""A minimal gRPC server in Python that echoes bytes. The rate of a daemon is compared with its rate."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import uvloop

METHOD = "/echo/Echo"
OPTIONS = [  # the same as a daemon's
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.max_concurrent_streams", 100),
    ("grpc.http.overload_protection", 0),
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
]


async def echo(request: bytes, context: Any) -> bytes:  # noqa: ARG001
    """The request itself."""
    return request


async def echo_stream(requests: Any, context: Any) -> AsyncIterator[bytes]:  # noqa: ARG001
    """Each request of a stream, as it arrives."""
    async for request in requests:
        yield request


async def serve() -> None:
    """Serve on a free port until the process is terminated; prints the address."""
    server = grpc.aio.server(options=OPTIONS)
    handlers: dict[str, Any] = {
        "Echo": grpc.unary_unary_rpc_method_handler(echo),
        "EchoStream": grpc.stream_stream_rpc_method_handler(echo_stream),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("echo", handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"serving echo on 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
