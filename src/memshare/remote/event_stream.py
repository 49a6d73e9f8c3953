"""Reads server-sent events: what arrives in pieces becomes the data of whole events."""

from __future__ import annotations

from collections.abc import Iterator


class EventStream:
    """The events of one connection (the format of the HTML standard, section 9.2); only their data is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that this piece completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in map(_without_return, lines):
            if line:
                name, _, value = line.partition(b":")
                if name == b"data":
                    self._data.append(value.removeprefix(b" "))
            elif self._data:
                yield b"\n".join(self._data)
                self._data.clear()


def _without_return(line: bytes) -> bytes:
    return line.removesuffix(b"\r")
