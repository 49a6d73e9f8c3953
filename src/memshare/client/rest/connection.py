"""Sends calls to `memshare serve` and makes them again, blocking or asynchronously."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpcore2

from memshare.client.rest.call import HttpResponse, NoResponse, Reply, Request, read, wait_before
from memshare_broker.errors import BadInput

NETWORK = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
UNSENT = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)
CONNECT_WITHIN = 5.0  # seconds
KEEP_IDLE = 30.0  # seconds
CONNECTIONS = 64


@dataclass(frozen=True)
class Server:
    """Where to ask, as whom, for how long (seconds), and how often at most."""

    url: str
    token: str | None
    timeout: float
    tries: int

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise BadInput(f"Expected an address such as http://127.0.0.1:8780, found {self.url!r}.")

        if self.token is not None and not self.token.isascii():
            raise BadInput("Expected a token as `memshare token create` printed it, found other characters in it.")

    def sent(self, request: Request[Any]) -> dict[str, Any]:
        """The arguments for httpcore2."""
        headers = dict(request.headers)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        content = None
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = _encoded(request.body)
        patience = self.timeout + request.waits
        limits = {"connect": CONNECT_WITHIN, "read": patience, "write": self.timeout, "pool": patience}
        return {
            "method": request.call.verb,
            "url": self.url.rstrip("/") + request.target,
            "headers": headers,
            "content": content,
            "extensions": {"timeout": limits},
        }


class BlockingConnection:
    """A blocking connection. Safe to share between threads."""

    def __init__(self, place: Server) -> None:
        self.place = place
        self.pool = httpcore2.ConnectionPool(max_connections=CONNECTIONS, keepalive_expiry=KEEP_IDLE)

    def ask(self, request: Request[Reply]) -> Reply:
        """The reply to a request; raises `MemshareError`."""
        call, sent = request.call, self.place.sent(request)
        tried = 0
        while True:
            answer: HttpResponse | NoResponse
            try:
                answer = answer_of(self.pool.request(**sent))
            except NETWORK as error:
                answer = silence_of(error)
            tried += 1
            wait = wait_before(call, answer, tried, self.place.tries)
            if wait is None:
                return read(call, answer, self.place.url)
            time.sleep(wait)

    def close(self) -> None:
        self.pool.close()


class AsyncConnection:
    """The same for asyncio; of one event loop."""

    def __init__(self, place: Server) -> None:
        self.place = place
        self.pool = httpcore2.AsyncConnectionPool(max_connections=CONNECTIONS, keepalive_expiry=KEEP_IDLE)

    async def ask(self, request: Request[Reply]) -> Reply:
        """The reply to a request; raises `MemshareError`."""
        call, sent = request.call, self.place.sent(request)
        tried = 0
        while True:
            answer: HttpResponse | NoResponse
            try:
                answer = answer_of(await self.pool.request(**sent))
            except NETWORK as error:
                answer = silence_of(error)
            tried += 1
            wait = wait_before(call, answer, tried, self.place.tries)
            if wait is None:
                return read(call, answer, self.place.url)
            await asyncio.sleep(wait)

    async def close(self) -> None:
        await self.pool.aclose()


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, default=str).encode()
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise BadInput(
            f"The request holds half a character, {found!r} (a surrogate alone), which is no text."
        ) from error
    except ValueError as error:
        raise BadInput(f"The request cannot be sent: {error}.") from error


def answer_of(response: httpcore2.Response) -> HttpResponse:
    """The content of a response that was read."""
    wait = dict(response.headers).get(b"retry-after", b"")
    return HttpResponse(response.status, response.content, float(wait) if wait.isdigit() else None)


def silence_of(error: Exception) -> NoResponse:
    """The record of a failed connection."""
    return NoResponse(error, sent=not isinstance(error, UNSENT))
