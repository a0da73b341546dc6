"""Where a knowledge base in Weaviate is: the server, and the names of its collections."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.settings import WeaviateSettings
from groundgraph.sources.weaviate.address import Address, address_of

Consistency = Literal["one", "quorum", "all"]
_PREFIX = re.compile(r"[A-Z][A-Za-z0-9_]{0,199}")
_KEY = "knowledge_base.weaviate"


@dataclass(frozen=True)
class BasePlace:
    """One knowledge base on a server.

    Attributes:
        address: of the server.
        prefix: what the names of its collections begin with.
        consistency: how many replicas must agree; the server's choice when None.
        replicas: on how many nodes each object is kept.
        tenant_from: the field whose value names the tenant that a record belongs to; empty without tenants.
        timeout: seconds for one request.

    Raises:
        ConfigurationError: no collection can be called like that.
    """

    address: Address
    prefix: str = "Groundgraph"
    consistency: Consistency | None = None
    replicas: int = 1
    tenant_from: str = ""
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            message = f"'{self.prefix}' must begin with a capital letter A to Z, then letters, digits or underscores"
            raise ConfigurationError([Problem(f"{_KEY}.prefix", message)])

    @classmethod
    def of(cls, settings: WeaviateSettings, prefix: str = "") -> BasePlace:
        """The place that `settings` describe, with another `prefix` when one is given.

        Raises:
            ConfigurationError: the address is none.
        """
        address = address_of(
            settings.url,
            grpc_host=settings.grpc_host,
            grpc_port=settings.grpc_port,
            api_key=settings.api_key.get_secret_value() if settings.api_key else "",
            headers=settings.headers,
            key=f"{_KEY}.url",
        )
        return cls(
            address,
            prefix or settings.prefix,
            settings.consistency,
            settings.replicas,
            settings.tenant_from,
            settings.request_timeout,
        )

    @property
    def told(self) -> str:
        """The place in words, for messages."""
        return f"{self.prefix} in Weaviate at {self.address.url}"

    @property
    def state(self) -> str:
        """The collection with what is known of the base as a whole."""
        return f"{self.prefix}State"

    @property
    def documents(self) -> str:
        """The collection with the ledger."""
        return f"{self.prefix}Document"

    def chunks(self, number: int) -> str:
        """The collection with the chunks; a rebuild makes one of the next number."""
        return f"{self.prefix}Chunk{number}"

    def memory(self, number: int) -> str:
        """The collection with the chunks that belong to tenants."""
        return f"{self.prefix}Memory{number}"


def tenant_name(value: str) -> str:
    """The tenant for a value of the tenant's field: a hash, since Weaviate takes few characters in a name, and values
    that differ only in case or punctuation must stay apart."""
    return "t" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:40]
