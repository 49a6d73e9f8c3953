"""Hosts of their own without virtual machines: network namespaces on one switch, each with an address of its own.

The switch is a bridge in a namespace as well, so that no firewall of this machine sees what the hosts send each other.
Needs Linux, the `ip` command and the right to make namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NAMESPACES = Path("/run/netns")  # where `ip netns` keeps them
PREFIX = "memshare"
SWITCH = "switch"
CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Host:
    """One host. Unix sockets of the file system are shared with all others; everything else goes by its link."""

    name: str
    address: str
    namespace: Path


class Network:
    """Hosts by name, and this machine as one more, at `gateway`."""

    def __init__(self, subnet: str, prefix: str, names: Sequence[str]) -> None:
        self.gateway = f"{subnet}.1"
        self._switch = f"{prefix}-{SWITCH}"
        self.hosts = {
            name: Host(name, f"{subnet}.{number}", NAMESPACES / f"{prefix}-{name}")
            for number, name in enumerate(names, 2)
        }

    def unplug(self, name: str) -> None:
        """From now on what the host sends, and what is sent to it, vanishes; its own link still seems to be up."""
        _ip("-n", self._switch, "link", "set", name, "nomaster")

    def plug(self, name: str) -> None:
        _ip("-n", self._switch, "link", "set", name, "master", SWITCH)

    def forget_soon(self, name: str) -> None:
        """Let a host drop a connection whose other end is silent after seconds, and not after a quarter of an hour.

        A short cut then does what a long one does: one end has dropped the connection, and the other knows nothing.
        """
        for setting, value in (("tcp_retries2", 3), ("tcp_orphan_retries", 1)):
            command = f"echo {value} > /proc/sys/net/ipv4/{setting}"
            _ip("netns", "exec", self.hosts[name].namespace.name, "sh", "-c", command)


@contextlib.contextmanager
def network(names: Sequence[str]) -> Iterator[Network]:
    """Hosts on one switch, while the block runs. Raises `OSError` where they cannot be made."""
    prefix, near = f"{PREFIX}-{os.getpid()}", f"ms{os.getpid()}"
    # 198.18.0.0/15 is set apart for tests of networks (RFC 2544): no real host has such an address.
    made = Network(f"198.18.{os.getpid() % 256}", prefix, names)
    with contextlib.ExitStack() as up:
        switch = _namespace(up, f"{prefix}-{SWITCH}")
        _ip("-n", switch, "link", "add", SWITCH, "type", "bridge")
        _ip("-n", switch, "link", "set", SWITCH, "up")
        _ip("link", "add", near, "type", "veth", "peer", "name", "outside", "netns", switch)
        up.callback(_ip, "link", "del", near)
        _ip("-n", switch, "link", "set", "outside", "master", SWITCH, "up")
        _ip("address", "add", f"{made.gateway}/24", "dev", near)
        _ip("link", "set", near, "up")
        for host in made.hosts.values():
            own = _namespace(up, host.namespace.name)
            _ip("-n", switch, "link", "add", host.name, "type", "veth", "peer", "name", "eth0", "netns", own)
            _ip("-n", switch, "link", "set", host.name, "master", SWITCH, "up")
            _ip("-n", own, "address", "add", f"{host.address}/24", "dev", "eth0")
            _ip("-n", own, "link", "set", "eth0", "up")
            _ip("-n", own, "link", "set", "lo", "up")
        yield made


def enter(namespace: Path) -> None:
    """Move this process into a host. Its other threads stay where they are, and so do its open sockets."""
    library = ctypes.CDLL(None, use_errno=True)
    with namespace.open("rb") as file:
        if library.setns(file.fileno(), CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))


def no_hosts() -> str | None:
    """Why there cannot be such hosts here; None where there can."""
    if not shutil.which("ip"):
        return "there is no `ip` command here (apt install iproute2)"
    try:
        with network(["probe"]):
            return None
    except OSError as error:
        return f"no network namespaces can be made here ({error.strerror})"


def _namespace(up: contextlib.ExitStack, name: str) -> str:
    _ip("netns", "add", name)
    up.callback(_ip, "netns", "del", name)
    return name


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(errno.EPERM, done.stderr.strip(), " ".join(words))
