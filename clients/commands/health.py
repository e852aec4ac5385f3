"""`plyd health`: the health status of a daemon."""

import sys
from typing import Any

import click


@click.command(short_help="Ask a daemon whether it is ready.")
@click.argument("address", default="127.0.0.1:25840", metavar="[ADDRESS]")
@click.option("--service", default="", help="Full name of one service. Default: the whole daemon.")
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(0, 1e6),
    default=0.0,
    metavar="SECONDS",
    help="Wait up to this many seconds until it is ready. Default: 0.",
)
def health(address: str, service: str, wait_seconds: float) -> None:
    """Print the health status of the daemon at ADDRESS. Exit status: 0 if SERVING, otherwise 1.

    ADDRESS is HOST:PORT, unix:PATH or tls:HOST:PORT. Default: 127.0.0.1:25840, the first daemon of `plyd up`.

    \b
    plyd health 127.0.0.1:25840 --wait 10
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from plyd.clients.library.channel import DaemonAddress, channel_config, open_channel
    from plyd.clients.library.client import EngineClient
    from plyd.clients.library.errors import PlydError, from_rpc_error

    try:
        config = channel_config(address)
        if wait_seconds:
            with EngineClient(address) as client:
                client.wait_until_ready(wait_seconds)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    with open_channel(config, DaemonAddress(config.target)) as channel:
        try:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            reply = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5)
        except grpc.RpcError as error:
            fault = str(from_rpc_error(error, address))
            raise click.ClickException(fault if address in fault else f"{address}: {fault}") from None
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
    click.echo(name)
    sys.exit(0 if name == "SERVING" else 1)
