"""`plyd health`: is a daemon ready?"""

import sys
from typing import Any

import click


@click.command(short_help="Ask a daemon whether it is ready.")
@click.argument("address", default="127.0.0.1:25840", metavar="[ADDRESS]")
@click.option("--service", default="", help="One service by its full name.  [default: the daemon as a whole]")
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(0, 1e6),
    default=0.0,
    metavar="SECONDS",
    help="Wait this long until it is.",
)
def health(address: str, service: str, wait_seconds: float) -> None:
    """Ask the daemon at ADDRESS whether it is ready: prints its status; exit status 0 if SERVING, 1 if not.

    \b
    plyd health 127.0.0.1:25840 --wait 10
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from plyd.clients.library.channel import open_channel, way_to
    from plyd.clients.library.client import EngineClient
    from plyd.clients.library.errors import PlydError

    try:
        way = way_to(address)
        if wait_seconds:
            with EngineClient(address) as client:
                client.wait_until_ready(wait_seconds)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    with open_channel(way) as channel:
        try:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            reply = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5)
        except grpc.RpcError as error:
            raise click.ClickException(f"{address}: {error.details() or error.code().name}") from None
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
    click.echo(name)
    sys.exit(0 if name == "SERVING" else 1)
