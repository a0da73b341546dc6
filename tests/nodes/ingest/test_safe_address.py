from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.ingest.guarded_network import address_fault

pytestmark = pytest.mark.covers("fault 61")

FAULTS = {
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "::1": "loopback",
    "10.1.2.3": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "100.64.0.1": "private",
    "fc00::1": "private",
    "fdff:ffff::1": "private",
    "169.254.1.1": "link-local",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "169.254.169.254": "metadata",
    "fd00:ec2::254": "metadata",
    "fd20:ce::254": "metadata",
    "100.100.100.200": "metadata",
    "168.63.129.16": "metadata",
    "0.0.0.0": "unspecified",
    "::": "unspecified",
    "0.1.2.3": "reserved",
    "224.0.0.1": "multicast",
    "239.255.255.250": "multicast",
    "ff02::1": "multicast",
    "ff0e::1": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "192.0.0.8": "reserved",
    "192.0.2.1": "reserved",
    "198.18.0.1": "reserved",
    "198.51.100.7": "reserved",
    "203.0.113.9": "reserved",
    "192.88.99.1": "reserved",
    "2001:db8::1": "reserved",
    "3fff::1": "reserved",
    "100::1": "reserved",
    "fec0::1": "reserved",
    "64:ff9b:1::a9fe:a9fe": "reserved",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:169.254.169.254": "metadata",
    "::ffff:10.0.0.1": "private",
    "::127.0.0.1": "loopback",
    "::ffff:0:127.0.0.1": "loopback",
    "2002:7f00:1::": "loopback",
    "2002:a9fe:a9fe::1": "metadata",
    "2002:c0a8:101::1": "private",
    "64:ff9b::7f00:1": "loopback",
    "64:ff9b::a9fe:a9fe": "metadata",
    "64:ff9b::10.0.0.1": "private",
}
PUBLIC = [
    "8.8.8.8",
    "93.184.215.14",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "64:ff9b::808:808",
    "2002:808:808::",
]
OPENED = ("loopback", "private")


@pytest.mark.parametrize(("address", "kind"), FAULTS.items())
def test_every_kind_of_address_that_must_not_be_asked(address, kind):
    assert address_fault(ip_address(address)) == kind


@pytest.mark.parametrize(("address", "kind"), FAULTS.items())
def test_allow_private_opens_loopback_and_private_networks_only(address, kind):
    assert address_fault(ip_address(address), allow_private=True) == ("" if kind in OPENED else kind)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address):
    assert address_fault(ip_address(address)) == ""


ADDRESSES = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.integers(0, 2**128 - 1).map(IPv6Address),
    st.sampled_from([ip_address(address) for address in FAULTS]),
)


@pytest.mark.guard
@given(ADDRESSES)
def test_nothing_is_allowed_that_python_calls_not_global(address):
    if not address_fault(address):
        carried = getattr(address, "sixtofour", None)
        in_nat64 = address.version == 6 and int(address) >> 32 == int(IPv6Address("64:ff9b::")) >> 32
        assert carried or in_nat64 or getattr(address, "ipv4_mapped", None) or address.is_global
        assert not any((address.is_multicast, address.is_link_local, address.is_loopback, address.is_unspecified))


@pytest.mark.guard
@given(st.integers(0, 2**32 - 1).map(IPv4Address), st.booleans())
def test_an_address_in_ipv6_clothes_is_judged_as_itself(address, allow_private):
    number = int(address)
    clothes = [
        IPv6Address((0xFFFF << 32) + number),
        IPv6Address((0xFFFF << 48) + number),
        IPv6Address(int(IPv6Address("64:ff9b::")) + number),
        IPv6Address((0x2002 << 112) + (number << 80) + 1),
    ]
    expected = address_fault(address, allow_private=allow_private)
    assert [address_fault(dressed, allow_private=allow_private) for dressed in clothes] == [expected] * 4


@pytest.mark.guard
@given(ADDRESSES)
def test_allow_private_never_closes_and_opens_only_what_is_ours(address):
    closed, opened = address_fault(address), address_fault(address, allow_private=True)
    assert opened in ("", closed)
    if closed != opened:
        assert closed in OPENED
