"""The network as the browser sees it: permitted addresses only, and all within one time limit."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

import httpcore2

from memshare_agents.reasoning.sources.addresses import permitted, resolve
from memshare_broker.errors import GiveUp
from memshare_broker.settings.forms import Network
from memshare_broker.time_limit import Deadline, TimedStream


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
