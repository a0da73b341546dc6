"""Connections that only ever go to an address which was checked."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address

import httpcore

from groundgraph.core.blocking import run_blocking
from groundgraph.core.errors import PageNotLoaded
from groundgraph.nodes.ingest.safe_address import address_fault

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
        said = f"is a {kind} address" if host == address else f"has the {kind} address {address}"
        way_out = (
            "; web.allow_private: true opens loopback and private networks" if kind in ("loopback", "private") else ""
        )
        return f"refused, because '{host}' {said}{way_out}"
