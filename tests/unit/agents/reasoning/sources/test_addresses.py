from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from memshare_agents.reasoning.sources.fetch import permitted, resolve
from memshare_broker.errors import GiveUp, TryAgain

REFUSED = [
    "127.0.0.1",
    "127.255.0.9",
    "10.0.0.1",
    "172.16.5.4",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "239.1.2.3",
    "240.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "192.0.2.1",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "192.0.0.192",
    "168.63.129.16",
    "192.88.99.1",
    "100.100.100.200",
    "3fff::1",
    "3fff:fff::1",
    "2001:2::1",
    "2001:20::1",
    "::ffff:168.63.129.16",
    "64:ff9b::a83f:8110",
    "64:ff9b::c000:c0",
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not permitted(ip_address(address), [])


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "93.184.215.14",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "168.63.129.17",
        "2001:4860::8",
    ],
)
def test_a_public_address_is_permitted(address: str) -> None:
    assert permitted(ip_address(address), [])


def test_an_allowed_network_opens_its_own_addresses_only() -> None:
    allowed = [ip_network("10.1.0.0/16"), ip_network("fd00::/8")]

    assert permitted(ip_address("10.1.2.3"), allowed)
    assert permitted(ip_address("::ffff:10.1.2.3"), allowed)
    assert permitted(ip_address("fd00::5"), allowed)
    assert not permitted(ip_address("10.2.0.1"), allowed)
    assert not permitted(ip_address("127.0.0.1"), allowed)
    assert not permitted(ip_address("fe80::1"), allowed)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "localhost"]
)
def test_every_way_to_write_loopback_is_seen_through(host: str) -> None:
    addresses = resolve(host, 80, 5)

    assert addresses
    assert not any(permitted(address, []) for address in addresses)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64 + ".test", ".."])
def test_a_name_that_no_host_has_is_an_error_that_says_so(host: str) -> None:
    with pytest.raises((GiveUp, TryAgain), match=r"There is no host|cannot be looked up|is no name of a host"):
        resolve(host, 80, 20)
