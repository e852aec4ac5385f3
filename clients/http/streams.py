"""Calls with their messages in envelopes: a message in, messages out. Connect's streams, and all calls of gRPC-Web."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from plyd.clients.http.codec import decode, encode, in_envelope
from plyd.clients.http.daemons import Daemons, Metadata
from plyd.clients.http.failures import CallFailed
from plyd.clients.http.framing import GRPC_WEB_TYPES, STREAM_TYPES, Framing
from plyd.clients.http.methods import Method
from plyd.clients.http.request import call_headers, media_type_of, message_form, read_body


async def answer_stream(method: Method, request: Request) -> Response:
    """The replies of a call; once its form is known, its errors come in the last envelope and not as a status."""
    framing = message_form(request, (STREAM_TYPES if method.gives_stream else {}) | GRPC_WEB_TYPES)
    body: bytes | CallFailed
    try:
        body = await read_body(request)
    except CallFailed as failed:
        body = failed
    return EnvelopeStream(_envelopes(method, request, framing, body), media_type_of(request))


async def _envelopes(
    method: Method, request: Request, framing: Framing, body: bytes | CallFailed
) -> AsyncGenerator[bytes, None]:
    trailers: Metadata = []
    failure = None
    try:
        if isinstance(body, CallFailed):
            raise body
        message = decode(framing.form, framing.message_in(body), method.request)
        async with contextlib.aclosing(_replies(method, request, message, trailers)) as replies:
            async for reply in replies:
                yield framing.write(in_envelope(encode(framing.form, reply)))
    except CallFailed as failed:
        failure = failed
        trailers += failed.metadata
    yield framing.write(framing.end(failure, trailers))


async def _replies(method: Method, request: Request, message: Any, trailers: Metadata) -> AsyncGenerator[Any, None]:
    daemons: Daemons = request.app.state.daemons
    headers = call_headers(request)
    if method.gives_stream:
        async with contextlib.aclosing(daemons.stream(method, message, headers, trailers)) as replies:
            async for reply in replies:
                yield reply
    else:
        reply, metadata = await daemons.call(method, message, headers)
        trailers += metadata
        yield reply


class EnvelopeStream(Response):
    """A response that sends envelopes as they come, and stops the stream when the caller hangs up."""

    def __init__(self, envelopes: AsyncGenerator[bytes, None], media_type: str) -> None:
        self._envelopes = envelopes
        super().__init__(media_type=media_type)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the response."""
        sending, leaving = asyncio.ensure_future(self._send(send)), asyncio.ensure_future(receive())
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.wait((sending,))

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with contextlib.aclosing(self._envelopes) as envelopes:
            async for envelope in envelopes:
                await send({"type": "http.response.body", "body": envelope, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
