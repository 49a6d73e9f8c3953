"""Whether a connection of this machine is one of this user's: on Linux the kernel says whose it is.

A port of loopback is open to every user of the machine, and a data folder is not.
"""

from __future__ import annotations

import os
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
ESTABLISHED = "01"  # in any other state the connection may have no owner any more
LOCAL, REMOTE, STATE, USER = 1, 2, 3, 7  # columns


def is_same_user(peer_port: int, own_port: int) -> bool:
    """Whether who is connected from a port to a port of ours is this user, or root; True where no kernel can say.

    Every connection with these ports counts, whatever its addresses: one of another user is enough to say no.
    """
    there = [table for table in TABLES if table.exists()]
    users = [user for table in there for user in _users(table, peer_port, own_port)]
    return not there or (bool(users) and set(users) <= {os.getuid(), 0})


def _users(table: Path, peer_port: int, own_port: int) -> list[int]:
    rows = (line.split() for line in table.read_text().splitlines()[1:])
    return [
        int(row[USER])
        for row in rows
        if row[STATE] == ESTABLISHED and (_port(row[LOCAL]), _port(row[REMOTE])) == (peer_port, own_port)
    ]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
