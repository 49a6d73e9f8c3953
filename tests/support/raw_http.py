"""HTTP by hand: requests that no client would make, byte for byte."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import NamedTuple
from urllib.parse import urlsplit

Address = tuple[str, int]


def address_of(url: str) -> Address:
    """Where the server of a URL listens."""
    place = urlsplit(url)
    assert place.hostname
    assert place.port
    return place.hostname, place.port


class Answer(NamedTuple):
    """What a server answered; names of headers are as they were sent."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@contextmanager
def asking(address: tuple[str, int], request: bytes, source: str | None = None) -> Iterator[socket.socket]:
    """A connection, from an address of this machine, on which this was sent."""
    with socket.create_connection(address, timeout=10, source_address=(source, 0) if source else None) as connection:
        with contextlib.suppress(ConnectionError):  # a server may have heard enough
            connection.sendall(request)
        yield connection


def answer_of(connection: socket.socket) -> Answer:
    """The next answer on a connection."""
    response = HTTPResponse(connection)
    response.begin()
    return Answer(response.status, response.getheaders(), response.read())


def read_all(connection: socket.socket) -> bytes:
    """Whatever comes until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)
