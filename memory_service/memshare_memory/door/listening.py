"""Where the door listens: at a Unix socket of the data folder, or at an address."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from memshare_broker.errors import BadInput
from memshare_broker.private_files import make_room, socket_path
from memshare_broker.settings import Settings


def socket_of(data: Path) -> Path:
    """The socket of the memory service of a data folder."""
    return socket_path(data, "memory")


BACKLOG = 2048


def check_door(settings: Settings) -> None:
    """Raise `BadInput` where `listen` would, before the pool is opened, which may take a minute."""
    if settings.memory_listen is not None:
        _listen_at(settings, settings.memory_listen).close()


def listen(settings: Settings) -> socket.socket:
    """The socket that the settings ask for, bound; raises `BadInput` where it cannot be."""
    if settings.memory_listen is None:
        return _listen_at_socket(settings)
    return _listen_at(settings, settings.memory_listen)


def _listen_at(settings: Settings, address: str) -> socket.socket:
    if settings.memory_token is None:
        raise BadInput(
            f"MEMSHARE_MEMORY_LISTEN={address!r} opens the pool to the network, so it needs a token: "
            "set MEMSHARE_MEMORY_TOKEN, here and for every worker and command."
        )
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        return socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"MEMSHARE_MEMORY_LISTEN={address!r} cannot be listened on: {reason}.") from error


def _listen_at_socket(settings: Settings) -> socket.socket:
    path = socket_of(settings.data)
    make_room(path, settings.data)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Bound aside and renamed, so that nobody can connect before only its owner can.
    aside = path.with_suffix(f".{os.getpid()}")
    aside.unlink(missing_ok=True)
    listening.bind(str(aside))
    aside.chmod(0o600)
    aside.rename(path)
    listening.listen(BACKLOG)
    return listening
