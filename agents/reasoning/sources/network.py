"""The network as the browser sees it: permitted addresses only, and all within one time limit."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore2

from memshare.agents.reasoning.sources.addresses import permitted, resolve
from memshare.broker.errors import GiveUp
from memshare.broker.setting_forms import Network


class Deadline:
    """The end of a time limit that starts now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left; raises httpcore2's `ReadTimeout` when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time is over")
        return left


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
                return _TimedStream(stream, self._deadline)
            except httpcore2.ConnectError as error:
                failure = error
        raise failure


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose every step gets what is left of the time: one that trickles ends with the rest."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline counts
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the deadline counts
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
    ) -> httpcore2.NetworkStream:
        try:
            secure = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        except httpcore2.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                reason = error.__cause__.verify_message
                raise GiveUp(f"{server_hostname!r} has no certificate that can be trusted: {reason}.") from error
            raise
        return _TimedStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
