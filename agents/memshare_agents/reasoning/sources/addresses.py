"""Which internet addresses may be read from: public ones, and those of networks that are allowed by name."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.settings.forms import Network

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
    """Whether an address is public or in an allowed network.

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
