"""Where the memory service is asked."""

from __future__ import annotations

from pathlib import Path

from memshare_broker.sockets import socket_path


def socket_of(data: Path) -> Path:
    """The socket of the memory service of a data folder."""
    return socket_path(data, "memory")
