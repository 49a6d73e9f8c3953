"""The HTTP connection to a chat model: one time limit for a call, a bounded reply, a shared pool."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

from memshare_broker.time_limit import CallsInTime

# Room for the longest text that is taken, every character escaped, and for the model's reasoning beside it.
MAX_REPLY_BYTES = 8_000_000


class ReplyTooLong(httpx2.TransportError):
    """The server sends more than any reply can hold."""


def open_client(*, timeout: float, connections: int) -> httpx2.Client:
    """A client that several threads share; it connects when it is first used, and again when it must.

    `timeout` is for the whole call in seconds, where httpx2's own starts again at every read.
    """
    network = CallsInTime()

    def begin(request: httpx2.Request) -> None:
        network.start(timeout)
        request.extensions["timeout"] = {"connect": timeout, "pool": timeout}

    client = httpx2.Client(
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        event_hooks={"request": [begin], "response": [_bound_body]},
    )
    # httpx2 has no parameter for it. With a transport of ours it would use no proxy that the environment names.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = network
    return client


def _bound_body(response: httpx2.Response) -> None:
    """Let the body be unpacked here, where what comes out of it is counted: a few packed bytes can be gigabytes.

    It is handed on as bytes of no kind. A provider's SDK would spend a minute and gigabytes on taking JSON apart that
    was made for that, and the name of a character encoding can be one of Python's that decodes to no text.
    """
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _BoundedBody(response.stream, response)
        response.headers.pop("content-encoding", None)
        response.headers["content-type"] = "application/octet-stream"


class _BoundedBody(httpx2.SyncByteStream):
    def __init__(self, body: httpx2.SyncByteStream, response: httpx2.Response) -> None:
        self._body = body
        headers = {"content-encoding": response.headers.get("content-encoding", "")}
        self._packed = httpx2.Response(response.status_code, headers=headers, stream=body, request=response.request)

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._packed.iter_bytes():
            size += len(part)
            if size > MAX_REPLY_BYTES:
                raise ReplyTooLong(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
            yield part

    def close(self) -> None:
        self._body.close()
