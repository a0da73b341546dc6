"""Where a Weaviate server answers, and the client library, which takes over a second to load."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal
from urllib.parse import urlsplit

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.resilience.blocking import run_blocking

# Loading the Weaviate client library, which takes over a second and may warn of what others will drop one day.

_MODULES = ("weaviate", "weaviate.classes", "weaviate.config", "httpx")
_loaded = threading.Event()
# The filters of warnings belong to the whole process: two that change them at once would not find them as they were.
_loading = threading.Lock()


async def load_client_library() -> None:
    """Load it beside the event loop; nothing happens when it is loaded already."""
    if not _loaded.is_set():
        await run_blocking(_load)


def _load() -> None:
    with _loading, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in _MODULES:
            import_module(module)
    _loaded.set()


def queries() -> Any:
    """`weaviate.classes.query`, once the library is loaded."""
    return import_module("weaviate.classes.query")


DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_GRPC_PORT = 50051
# How many replicas must agree.
Consistency = Literal["one", "quorum", "all"]


@dataclass(frozen=True)
class Address:
    """One server, or the load balancer in front of several.

    Attributes:
        host: for HTTP.
        port: for HTTP.
        secure: whether both are encrypted.
        grpc_host: for gRPC.
        grpc_port: for gRPC.
        api_key: empty where none is needed.
        headers: sent with every request, for example the key of a vectorizer's provider.
    """

    host: str
    port: int
    secure: bool
    grpc_host: str
    grpc_port: int
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        """The address for HTTP, without a key."""
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.port}"

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers of a request of our own."""
        return {**self.headers, **({"Authorization": f"Bearer {self.api_key}"} if self.api_key else {})}


def address_of(
    url: str = DEFAULT_URL,
    *,
    grpc_host: str = "",
    grpc_port: int = DEFAULT_GRPC_PORT,
    api_key: str = "",
    headers: Mapping[str, str] | None = None,
    key: str = "url",
) -> Address:
    """The server at `url`; gRPC is on the same host unless `grpc_host` says otherwise.

    Args:
        url: `http://host:port` or `https://host:port`, with the usual port of the scheme when it names none.
        grpc_host: the host for gRPC.
        grpc_port: the port for gRPC.
        api_key: of the server.
        headers: sent with every request.
        key: where `url` stands in the configuration, for messages.

    Raises:
        ConfigurationError: `url` is no such address, or both ports are the same on one host.
    """
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        port = 0
    beside = (parts.path.strip("/"), parts.query, parts.username, parts.password)
    if not parts.hostname or not port or any(beside):
        raise ConfigurationError([Problem(key, "must be an address such as http://127.0.0.1:8080, without a path")])
    host = grpc_host or parts.hostname
    if (host, grpc_port) == (parts.hostname, port):
        raise ConfigurationError(
            [Problem(key, f"HTTP and gRPC cannot share the port {port}; `grpc_port` names another")]
        )
    return Address(parts.hostname, port, parts.scheme == "https", host, grpc_port, api_key, dict(headers or {}))
