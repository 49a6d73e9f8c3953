"""Fetching a web page by http or https, as far as the limits allow."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

import httpcore2
import httpx2

from memshare_agents.reasoning.sources.extract_text import KINDS, Kind
from memshare_broker.errors import BadInput, GiveUp, Reason, TryAgain
from memshare_broker.settings_file import Network
from memshare_broker.time_limit import Deadline, TimedStream
from memshare_llm.providers.http_client import retry_after

Address = IPv4Address | IPv6Address

_PUBLIC_V6 = IPv6Network("2000::/3")
# Public by their numbers, and still not the public web. Not every release of Python's ipaddress knows them all.
_SPECIAL: tuple[Network, ...] = (
    IPv4Network("192.0.0.0/24"),  # protocols of the IETF; Oracle's cloud serves an instance's secrets at 192.0.0.192
    IPv4Network("168.63.129.16/32"),  # Azure's platform, as its virtual machines see it
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv4Network("100.64.0.0/10"),  # shared by a provider's customers; Alibaba's cloud has its secrets there
    IPv6Network("2001::/23"),  # protocols of the IETF, with Teredo, which carries IPv4 addresses
    IPv6Network("2002::/16"),  # 6to4, which carries IPv4 addresses
    IPv6Network("3fff::/20"),  # documentation
)
_NAT64 = IPv6Network("64:ff9b::/96")


def permitted(address: Address, allowed: Iterable[Network]) -> bool:
    """True if an address is public or in an allowed network.

    Not public are private, loopback, link-local, shared, multicast, reserved and unspecified addresses,
    those at which clouds tell an instance its secrets, and IPv6 addresses that stand for such an IPv4 address.
    """
    meant = _meant(address)
    if any(one.version == network.version and one in network for one in (address, meant) for network in allowed):
        return True
    if any(one.version == meant.version and meant in one for one in _SPECIAL):
        return False
    if isinstance(meant, IPv6Address) and meant not in _PUBLIC_V6:
        return False
    return meant.is_global and not meant.is_multicast and not meant.is_reserved


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address


def resolve(host: str, port: int, seconds: float) -> list[Address]:
    """The addresses of a host, in the order in which the system would try them.

    Raises `GiveUp` for a host that does not exist and `TryAgain` when that is not known within so many seconds.
    """
    answer: Future[list[Address]] = Future()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.set_result(list(dict.fromkeys(ip_address(str(sockaddr[0])) for *_, sockaddr in found)))
        except (OSError, ValueError) as error:
            answer.set_exception(error)

    # The system's resolver takes no time limit, so it is left behind when it takes too long.
    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError as error:
        raise TryAgain(f"The address of {host!r} was not found in time.", reason="time-out") from error
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise TryAgain(f"The address of {host!r} cannot be looked up just now.", reason="connection") from error
        raise GiveUp(f"There is no host {host!r}.") from error
    except (OSError, ValueError) as error:
        raise GiveUp(f"{host!r} is no name of a host: {error}.") from error


class GuardedNetwork(httpcore2.NetworkBackend):
    """Connects to the very addresses that it has checked, so that a name cannot change its meaning in between.

    A host is refused with `GiveUp` when any of its addresses is.
    """

    def __init__(self, allowed: Iterable[Network], deadline: Deadline) -> None:
        self._allowed = list(allowed)
        self._deadline = deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = resolve(host, port, self._deadline.left())
        for address in addresses:
            if not permitted(address, self._allowed):
                raise GiveUp(
                    f"{host!r} is at {address}, which is no public address and is not read. If it should be, add its"
                    " network to MEMSHARE_BROWSER_NETWORKS."
                )
        failure = httpcore2.ConnectError(f"{host!r} has no address")
        for address in addresses:
            try:
                stream = self._sockets.connect_tcp(
                    str(address), port, self._deadline.left(), local_address, socket_options
                )
                return _CertifiedStream(stream, self._deadline.left)
            except httpcore2.ConnectError as error:
                failure = error
        raise failure


class _CertifiedStream(TimedStream):
    """A connection that says of a certificate why it cannot be trusted."""

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        try:
            return super().start_tls(ssl_context, server_hostname, timeout)
        except httpcore2.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                reason = error.__cause__.verify_message
                raise GiveUp(f"{server_hostname!r} has no certificate that can be trusted: {reason}.") from error
            raise


MAX_REDIRECTS = 5
MAX_URL = 2_000

_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING: dict[int, Reason] = {408: "time-out", 425: "busy", 429: "rate limit"}
_PORTS = {80, 443, *range(1024, 65_536)}  # the others are for mail, remote shells and the like
_UNSAID = ("", "application/octet-stream", "binary/octet-stream")
_GZIP = 16 + zlib.MAX_WBITS


class Fetched(NamedTuple):
    """Data that was sent, its kind, the name of its character encoding, if that was given, and its URL.

    The URL is the one that it came from after all redirects.
    """

    url: str
    data: bytes
    kind: Kind
    charset: str | None


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
                    headers = {
                        name.decode("latin-1").lower(): value.decode("utf-8", "replace")
                        for name, value in response.headers
                    }
                    if response.status in _REDIRECTS and "location" in headers:
                        place = checked(headers["location"], place)
                        continue
                    _require_well(str(place), response.status, headers)
                    return _read_body(str(place), headers, response.iter_stream(), self._most)
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


def _require_well(url: str, status: int, headers: dict[str, str]) -> None:
    if status == 200:
        return
    if status >= 500 or status in _PASSING:
        raise TryAgain(f"{url} answered {status}.", retry_after(headers), _PASSING.get(status, "server error"))
    raise GiveUp(f"{url} answered {status}.")


def _read_body(url: str, headers: Mapping[str, str], parts: Iterable[bytes], most: int) -> Fetched:
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
    return Fetched(url, data, kind, charset[1] if charset else None)


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
