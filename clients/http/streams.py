"""Streams from the daemon, as the Connect protocol has them: a message in, messages out, each in an envelope."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from plyd.clients.http.codec import END_STREAM, decode, encode, in_envelope, json_text, single_message
from plyd.clients.http.failures import CallFailed
from plyd.clients.http.methods import Method
from plyd.clients.http.request import STREAM_TYPES, call_headers, message_form, read_body


async def answer_stream(method: Method, request: Request) -> Response:
    """The replies of a stream; once its form is known, its errors come as the last message and not as a status."""
    form = message_form(request, STREAM_TYPES)
    body: bytes | CallFailed
    try:
        body = await read_body(request)
    except CallFailed as failed:
        body = failed
    return EnvelopeStream(_envelopes(method, request, form, body), f"application/connect+{form}")


async def _envelopes(
    method: Method, request: Request, form: str, body: bytes | CallFailed
) -> AsyncGenerator[bytes, None]:
    end: dict[str, Any] = {}
    trailers: list[tuple[str, str]] = []
    try:
        if isinstance(body, CallFailed):
            raise body
        message, headers = decode(form, single_message(body), method.request), call_headers(request)
        async with contextlib.aclosing(request.app.state.daemons.stream(method, message, headers, trailers)) as replies:
            async for reply in replies:
                yield in_envelope(encode(form, reply))
    except CallFailed as failed:
        end["error"] = failed.as_json()
        trailers += failed.metadata
    if trailers:
        end["metadata"] = {key: [value] for key, value in trailers}
    yield in_envelope(json_text(end).encode(), END_STREAM)


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
