"""Fetching a web page by http or https, as far as the limits allow."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import httpcore2
import httpx2

from memshare_agents.reasoning.sources.extract_text import KINDS, Kind
from memshare_agents.reasoning.sources.network import GuardedNetwork
from memshare_broker.errors import BadInput, GiveUp, Reason, TryAgain
from memshare_broker.settings.forms import Network
from memshare_broker.time_limit import Deadline
from memshare_llm.providers.http_errors import retry_after

MAX_REDIRECTS = 5
MAX_URL = 2_000

_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING: dict[int, Reason] = {408: "time-out", 425: "busy", 429: "rate limit"}
_PORTS = {80, 443, *range(1024, 65_536)}  # the others are for mail, remote shells and the like
_UNSAID = ("", "application/octet-stream", "binary/octet-stream")
_GZIP = 16 + zlib.MAX_WBITS


class Body(NamedTuple):
    """What was sent, its kind and the name of its character encoding, where one was given."""

    data: bytes
    kind: Kind
    charset: str | None


class Fetched(NamedTuple):
    """A body, and the URL it came from after all redirects."""

    url: str
    body: Body


class Fetcher:
    """Fetches pages of at most `most` bytes, each within `seconds` with its redirects.

    Safe to use from many threads.
    """

    def __init__(self, allowed: Sequence[Network], seconds: float, most: int) -> None:
        self._allowed = allowed
        self._seconds = seconds
        self._most = most
        self._tls = httpcore2.default_ssl_context()

    def fetch(self, url: str) -> Fetched:
        """The body of a page; nothing of one fetch (cookies, connections) is left for the next.

        Raises `BadInput` for a URL that cannot be read, `TryAgain` for what may work later (time-outs, lost
        connections, busy servers) and `GiveUp` for what never will (refused addresses, missing pages, limits).
        """
        try:
            return self._follow(url)
        except httpcore2.TimeoutException as error:
            raise TryAgain(f"{url} was not read within {self._seconds:g} s.", reason="time-out") from error
        except httpcore2.ConnectError as error:
            raise TryAgain(f"{url} cannot be reached: {error}.", reason="connection") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise TryAgain(f"{url} broke off: {error}.", reason="connection") from error

    def _follow(self, url: str) -> Fetched:
        network = GuardedNetwork(self._allowed, Deadline(self._seconds))
        with httpcore2.ConnectionPool(self._tls, max_keepalive_connections=0, network_backend=network) as pool:
            place = checked(url)
            for _ in range(MAX_REDIRECTS + 1):
                with pool.stream("GET", _plain(place), headers=_headers(place)) as response:
                    headers = {name.decode("latin-1").lower(): _text(value) for name, value in response.headers}
                    if response.status in _REDIRECTS and "location" in headers:
                        place = checked(headers["location"], place)
                        continue
                    _require_well(str(place), response.status, headers)
                    return Fetched(str(place), _read_body(str(place), headers, response.iter_stream(), self._most))
        raise GiveUp(f"{url} redirects more than {MAX_REDIRECTS} times.")


def checked(url: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """A URL that may be asked for, without its fragment; raises `BadInput` for any other.

    A redirect's may be relative to where it was met.
    """
    try:
        place = (base.join(url) if base else httpx2.URL(url)).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise BadInput(f"{url[:MAX_URL]!r} is no URL: {error}. Expected http://… or https://….") from error
    if place.scheme not in ("http", "https") or not place.host:
        raise BadInput(f"{url[:MAX_URL]!r} cannot be read: expected http://HOST… or https://HOST….")
    if len(str(place)) > MAX_URL:
        raise BadInput(f"The URL {url[:100]!r}… has more than {MAX_URL:,} characters.")
    if place.userinfo:
        raise BadInput(f"{place.host!r} is asked for with a user's name in the URL, which is not done.")
    if place.port is not None and place.port not in _PORTS:
        raise BadInput(f"Port {place.port} of {place.host!r} is not read: expected 80, 443 or 1024 to 65535.")
    return place


def _plain(place: httpx2.URL) -> httpcore2.URL:
    # Taken apart once: two readings of one URL could mean two hosts.
    return httpcore2.URL(scheme=place.raw_scheme, host=place.raw_host, port=place.port, target=place.raw_path)


def _headers(place: httpx2.URL) -> list[tuple[bytes, bytes]]:
    return [
        (b"Host", place.netloc),
        (b"User-Agent", b"memshare"),
        (b"Accept", b"text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9"),
        (b"Accept-Encoding", b"gzip"),
        (b"Connection", b"close"),
    ]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _require_well(url: str, status: int, headers: dict[str, str]) -> None:
    if status == 200:
        return
    if status >= 500 or status in _PASSING:
        raise TryAgain(f"{url} answered {status}.", retry_after(headers), _PASSING.get(status, "server error"))
    raise GiveUp(f"{url} answered {status}.")


def _read_body(url: str, headers: Mapping[str, str], parts: Iterable[bytes], most: int) -> Body:
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
