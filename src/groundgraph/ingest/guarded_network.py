"""Connections that only ever go to an address which was checked."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import httpcore

from groundgraph.core.errors import PageNotLoaded
from groundgraph.resilience.blocking import run_blocking

# Which network addresses a page may be fetched from.

Address = IPv4Address | IPv6Address

# Where clouds hand out credentials to whoever asks. Some of these stand among the public addresses.
_METADATA = frozenset(
    int(address)
    for address in (
        *map(IPv4Address, ("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16")),
        *map(IPv6Address, ("fd00:ec2::254", "fd20:ce::254")),
    )
)
# What `web.allow_private` opens: this machine and the networks behind a router.
_OWN = tuple(
    ip_network(network)
    for network in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1", "fc00::/7")
)
# Not for the public, and missing in the tables of the older Pythons.
_SPECIAL = tuple(ip_network(network) for network in ("0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "3fff::/20"))
# The only part of IPv6 that is handed out to the public (RFC 4291, IANA).
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Addresses that reach the IPv4 address in their last 32 bits: compatible, mapped, translated, NAT64 (RFC 6052).
_WRAPPERS = tuple(IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))


def address_fault(address: Address, *, allow_private: bool = False) -> str:
    """What kind of address it is from which nothing may be fetched, or an empty string when it may be.

    `allow_private` opens loopback and private networks. Link-local, metadata, multicast, reserved and unspecified
    addresses stay closed. An IPv6 address that carries an IPv4 address is judged by that.
    """
    if isinstance(address, IPv6Address):
        # Without its scope, which would make equal addresses differ.
        address = IPv6Address(int(address))
        inner = _carried(address)
        if inner is not None:
            return address_fault(inner, allow_private=allow_private)
    for kind, holds in _kinds(address):
        if holds:
            return kind
    if any(address in network for network in _OWN):
        kind = "loopback" if address.is_loopback else "private"
        return "" if allow_private else kind
    return "" if _is_public(address) else "reserved"


def _kinds(address: Address) -> tuple[tuple[str, bool], ...]:
    return (
        ("metadata", int(address) in _METADATA),
        ("unspecified", address.is_unspecified),
        ("link-local", address.is_link_local),
        ("multicast", address.is_multicast),
    )


def _is_public(address: Address) -> bool:
    if any(address in network for network in _SPECIAL):
        return False
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_reserved


def _carried(address: IPv6Address) -> IPv4Address | None:
    if address.is_loopback or address.is_unspecified:
        return None
    if address.sixtofour is not None:
        return address.sixtofour
    if any(address in network for network in _WRAPPERS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


# The addresses of a host and port, the preferred one first.
Resolve = Callable[[str, int], Awaitable[list[str]]]


async def resolve_host(host: str, port: int) -> list[str]:
    """The addresses that the system knows for `host`; it also reads spellings such as `0x7f.1` and `2130706433`.

    Raises:
        OSError, UnicodeError: it knows none, or `host` is no name at all.
    """
    found = await run_blocking(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Looks a host up once for each connection, checks every address, and connects to one of those.

    The check stands where the connection is made, so that no request gets around it, and there is no second look-up
    whose answer could differ (DNS rebinding). TLS and the Host header still use the name.

    Args:
        allow_private: opens loopback and private networks.
        seconds: the longest that one host's addresses are tried, all of them together.
        resolve: looks a host up.
        dial: makes the connection to an address.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        seconds: float = 20.0,
        resolve: Resolve = resolve_host,
        dial: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._seconds = seconds
        self._resolve = resolve
        self._dial = dial or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to a checked address of `host`.

        Raises:
            PageNotLoaded: the host is unknown, or one of its addresses must not be asked.
            httpcore.ConnectError, httpcore.ConnectTimeout: none of its addresses answers.
        """
        addresses = await self._checked(host, port)
        share = (timeout or self._seconds) / len(addresses)
        for last, address in enumerate(addresses, start=1 - len(addresses)):
            try:
                return await self._dial.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not last:
                    raise
        raise AssertionError("a host without addresses was not refused")

    async def _checked(self, host: str, port: int) -> list[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, ValueError) as error:
            raise PageNotLoaded("connection", f"the host '{host}' cannot be resolved ({error})", url=host) from error
        if not addresses:
            raise PageNotLoaded("connection", f"the host '{host}' has no address", url=host)
        for address in addresses:
            kind = address_fault(ip_address(address), allow_private=self._allow_private)
            if kind:
                raise PageNotLoaded("address", self._refusal(host, address, kind), url=host)
        return addresses

    def _refusal(self, host: str, address: str, kind: str) -> str:
        article = "an" if kind[0] in "aeiou" else "a"
        said = f"is {article} {kind} address" if host == address else f"has the {kind} address {address}"
        way_out = (
            "; web.allow_private: true opens loopback and private networks" if kind in ("loopback", "private") else ""
        )
        return f"refused, because '{host}' {said}{way_out}"
