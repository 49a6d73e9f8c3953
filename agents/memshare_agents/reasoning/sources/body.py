"""The body of a response: of a kind that can be read, unpacked, and no longer than allowed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memshare_agents.reasoning.sources.extract_text import KINDS, Kind
from memshare_broker.errors import GiveUp, TryAgain

_UNSAID = ("", "application/octet-stream", "binary/octet-stream")
_GZIP = 16 + zlib.MAX_WBITS


class Body(NamedTuple):
    """What was sent, its kind and the name of its character encoding, where one was given."""

    data: bytes
    kind: Kind
    charset: str | None


def read_body(url: str, headers: Mapping[str, str], parts: Iterable[bytes], most: int) -> Body:
    """Read a body of at most `most` bytes, packed and unpacked; the names of the headers are in lower case.

    Raises `GiveUp` for one that is longer or of another kind, `TryAgain` for one that ends too early.
    """
    said, _, parameters = headers.get("content-type", "").partition(";")
    said = said.strip().lower()
    if said not in KINDS and said not in _UNSAID:
        raise GiveUp(f"{url} is {said[:100]!r}; only HTML, PDF and plain text can be read.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise _too_long(url, most)
    data = _unpacked(url, headers.get("content-encoding", "").strip().lower(), parts, most)
    kind = KINDS.get(said) or ("pdf" if data.startswith(b"%PDF-") else None)
    if kind is None:
        raise GiveUp(f"{url} does not say what it is; only HTML, PDF and plain text can be read.")
    charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", parameters, re.IGNORECASE)
    return Body(data, kind, charset[1] if charset else None)


def _unpacked(url: str, encoding: str, parts: Iterable[bytes], most: int) -> bytes:
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise GiveUp(f"{url} is packed with {encoding[:100]!r}, which was not asked for.")
    inflate = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
    data, received = bytearray(), 0
    for part in parts:
        received += len(part)
        try:
            # One byte more than allowed is asked for, and never the whole of a bomb.
            data += inflate.decompress(part, most + 1 - len(data)) if inflate else part
        except zlib.error as error:
            raise GiveUp(f"{url} is not packed as it says: {error}.", "malformed") from error
        if max(len(data), received) > most:
            raise _too_long(url, most)
    if inflate and not inflate.eof:
        raise TryAgain(f"{url} broke off.", reason="cut off")
    return bytes(data)


def _too_long(url: str, most: int) -> GiveUp:
    return GiveUp(f"{url} has more than {most:,} bytes (MEMSHARE_BROWSER_BYTES).", "too long")
