"""What an error of the Weaviate client means.

The client tells nearly all faults of a query apart by their text only, so they are recognised by that here; each text
has a test against the real server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from groundgraph.core.errors import (
    EmbeddingModelChanged,
    GroundGraphError,
    SchemaChanged,
    ScopeMissing,
    SourceError,
    SourceTimeout,
    SourceUnavailable,
    TenantUnknown,
)

Kind = Literal[
    "unreachable",
    "not_ready",
    "no_such_index",
    "timeout",
    "authentication",
    "permission",
    "version",
    "missing_collection",
    "unknown_tenant",
    "inactive_tenant",
    "no_tenant",
    "not_multi_tenant",
    "dimension",
    "unknown_property",
    "not_indexed",
    "missing_vector",
    "no_target_vector",
    "vector_kind",
    "limit",
    "module",
    "value",
    "replicas",
    "other",
]
# The server also says these while it is still loading what it holds.
MAYBE_NOT_READY: frozenset[Kind] = frozenset({"missing_collection", "no_such_index"})
# The server did not get to answer; what was asked does not matter.
OUTAGES: frozenset[Kind] = frozenset({"unreachable", "not_ready", "no_such_index", "timeout", "replicas"})

_TEXTS: tuple[tuple[Kind, str], ...] = (
    ("missing_collection", r"could not find class (?P<name>\S+) in schema"),
    ("missing_collection", r"Collection configuration could not be retrieved.*status code: 404"),
    ("no_such_index", r"tried to browse non-existing index(?: for (?P<name>[\w]+))?"),
    ("unknown_tenant", r"tenant not found: \"(?P<name>.*?)\""),
    ("inactive_tenant", r"tenant not active: '(?P<name>.*?)'"),
    ("no_tenant", r"has multi-tenancy enabled, but request was without tenant"),
    ("not_multi_tenant", r"has multi-tenancy disabled, but request was with tenant"),
    ("dimension", r"(?P<stored>\d+) vs (?P<asked>\d+): vector lengths don't match"),
    ("dimension", r"inconsistent vector lengths: (?P<asked>\d+) != (?P<stored>\d+)"),
    ("unknown_property", r"no such prop with name '(?P<name>.*?)' found in class"),
    ("not_indexed", r"(?:Searching|Filtering) by property '(?P<name>.*?)' requires inverted index"),
    ("missing_vector", r"does not have named vector (?P<name>\S+) configured"),
    ("no_target_vector", r"has multiple vectors, but no target vectors were provided"),
    ("vector_kind", r"provided vector is a (?:regular|multi) vector but vector index supports"),
    ("limit", r"exceeds the configured value for QUERY_MAXIMUM_RESULTS '(?P<name>\d+)'"),
    ("limit", r"(?:RESOURCE_EXHAUSTED|[Mm]essage larger than max)"),
    ("module", r"[Ii]s a the rerank module enabled|vectorizer module is configured|without vectorizer on class"),
    ("version", r"Weaviate version .* is not supported|needs? (?:a )?Weaviate version"),
    ("value", r"could not parse string|trying parse time|received a floating point number|filtering for \w+, but"),
    (
        "replicas",
        r"cannot (?:achieve|reach) (?:enough replicas|consistency level)|not enough replicas|leader not found",
    ),
    ("authentication", r"UNAUTHENTICATED|unauthorized|anonymous access not enabled|no authentication scheme"),
    ("permission", r"PERMISSION_DENIED|forbidden"),
    ("timeout", r"DEADLINE_EXCEEDED|Deadline Exceeded"),
    ("unreachable", r"UNAVAILABLE|The request to Weaviate failed after \d+ retries"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.DOTALL)) for kind, pattern in _TEXTS)
_CLASSES: dict[str, Kind] = {
    "WeaviateTimeoutError": "timeout",
    "WeaviateConnectionError": "unreachable",
    "WeaviateGRPCUnavailableError": "unreachable",
    "WeaviateStartUpError": "unreachable",
    "WeaviateRetryError": "unreachable",
    "WeaviateClosedClientError": "unreachable",
    "WeaviateUnsupportedFeatureError": "version",
    "AuthenticationFailedError": "authentication",
    "InsufficientPermissionsError": "permission",
}
_STATUS: dict[int, Kind] = {401: "authentication", 403: "permission", 502: "unreachable", 503: "not_ready"}
_HTTP_ERRORS = ("httpx", "httpcore", "grpc")


@dataclass(frozen=True)
class Fault:
    """What went wrong.

    Attributes:
        kind: which fault it is.
        name: the collection, tenant, property or vector that it is about; the server's maximum for `limit`.
        stored: for `dimension` the size of the vectors in the collection.
        asked: for `dimension` the size of the vector that was sent.
        text: the server's own words.
    """

    kind: Kind
    name: str = ""
    stored: int = 0
    asked: int = 0
    text: str = ""


def fault_of(error: BaseException) -> Fault:
    """What `error`, raised by the Weaviate client, means."""
    text = " ".join(str(error).split())
    for kind, pattern in _PATTERNS:
        found = pattern.search(text)
        if found:
            groups = found.groupdict()
            stored, asked = (int(groups.get(name) or 0) for name in ("stored", "asked"))
            return Fault(kind, groups.get("name") or "", stored, asked, text)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status in _STATUS:
        return Fault(_STATUS[status], text=text)
    return Fault(_kind_of_class(error), text=text)


def _kind_of_class(error: BaseException) -> Kind:
    for parent in type(error).__mro__:
        if parent.__name__ in _CLASSES:
            return _CLASSES[parent.__name__]
    if isinstance(error, TimeoutError):
        return "timeout"
    library = type(error).__module__.partition(".")[0]
    return "unreachable" if isinstance(error, ConnectionError) or library in _HTTP_ERRORS else "other"


@dataclass(frozen=True)
class Place:
    """What was asked, for messages: the server's address, the collection, and the model that made a vector."""

    url: str
    collection: str = ""
    model: str = ""

    @property
    def server(self) -> str:
        """The server in words."""
        return f"Weaviate at {self.url}"

    @property
    def what(self) -> str:
        """The collection in words."""
        return f"the collection '{self.collection}' of {self.server}" if self.collection else self.server


def typed_error(fault: Fault, place: Place) -> GroundGraphError:
    """The documented error for `fault`; raise it from the client's own."""
    if fault.kind in _TOLD:
        return _TOLD[fault.kind](fault, place)
    return SourceError(f"{place.server} refused the request: {fault.text[:300]}")


def _unreachable(fault: Fault, place: Place) -> GroundGraphError:
    return SourceUnavailable(
        f"{place.server} cannot be reached. Check that it runs, and that the address and the gRPC port are right. "
        f"({fault.text[:200]})"
    )


def _not_ready(_fault: Fault, place: Place) -> GroundGraphError:
    return SourceUnavailable(f"{place.server} is starting and not ready yet; ask again in a moment.")


def _timeout(_fault: Fault, place: Place) -> GroundGraphError:
    return SourceTimeout(f"{place.server} did not answer in time.")


def _authentication(fault: Fault, place: Place) -> GroundGraphError:
    return SourceUnavailable(
        f"{place.server} did not accept the API key, or wants one; set `api_key`. {_quoted(fault)}"
    )


def _permission(fault: Fault, place: Place) -> GroundGraphError:
    return SourceUnavailable(f"The API key may not read {place.what}. {_quoted(fault)}")


def _version(fault: Fault, place: Place) -> GroundGraphError:
    return SourceUnavailable(f"{place.server} is of a version that cannot be used: upgrade it. {_quoted(fault)}")


def _missing_collection(fault: Fault, place: Place) -> GroundGraphError:
    name = place.collection or fault.name
    return SchemaChanged(
        f"{place.server} has no collection '{name}'. Check the name; capital letters count.", field=name
    )


def _unknown_tenant(fault: Fault, place: Place) -> GroundGraphError:
    return TenantUnknown(f"The tenant '{fault.name}' has nothing in {place.what}; nothing was searched.")


def _inactive_tenant(fault: Fault, place: Place) -> GroundGraphError:
    return TenantUnknown(f"The tenant '{fault.name}' of {place.what} is switched off; activate it to search it.")


def _no_tenant(_fault: Fault, place: Place) -> GroundGraphError:
    return ScopeMissing(f"{place.what} keeps each tenant apart, and none was named; set `tenant_from`.")


def _not_multi_tenant(_fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(f"{place.what} has no tenants, though `tenant_from` names a field for one.")


def _dimension(fault: Fault, place: Place) -> GroundGraphError:
    model = f"the embedding model '{place.model}'" if place.model else "the vector that was sent"
    return EmbeddingModelChanged(
        f"The vectors in {place.what} have {fault.stored} numbers, but {model} gives {fault.asked}. "
        "Use the model that they were made with."
    )


def _property(fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(f"{place.what} has no property '{fault.name}' any more.", field=fault.name)


def _not_indexed(fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(
        f"The property '{fault.name}' of {place.what} is gone, or has no index to search or filter by.",
        field=fault.name,
    )


def _missing_vector(fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(f"{place.what} has no vector named '{fault.name}'. {_quoted(fault)}", field=fault.name)


def _which_vector(fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(f"{place.what} has several vectors; name one with `vector`. {_quoted(fault)}")


def _vector_kind(fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(f"The kind of vector in {place.what} is another than expected. {_quoted(fault)}")


def _limit(fault: Fault, place: Place) -> GroundGraphError:
    return SourceError(f"{place.server} gives fewer results at once than were asked for; lower top_k. {_quoted(fault)}")


def _module(fault: Fault, place: Place) -> GroundGraphError:
    return SourceError(f"{place.server} runs without the module that this needs. {_quoted(fault)}")


def _value(fault: Fault, place: Place) -> GroundGraphError:
    return SchemaChanged(f"A property of {place.what} is of another type than is declared. {_quoted(fault)}")


def _replicas(fault: Fault, place: Place) -> GroundGraphError:
    return SourceUnavailable(f"Too few nodes of {place.server} answer for this consistency level. {_quoted(fault)}")


def _quoted(fault: Fault) -> str:
    return f"It says: {fault.text[:300]}"


_TOLD: dict[Kind, Callable[[Fault, Place], GroundGraphError]] = {
    "unreachable": _unreachable,
    "not_ready": _not_ready,
    "no_such_index": _not_ready,
    "timeout": _timeout,
    "authentication": _authentication,
    "permission": _permission,
    "version": _version,
    "missing_collection": _missing_collection,
    "unknown_tenant": _unknown_tenant,
    "inactive_tenant": _inactive_tenant,
    "no_tenant": _no_tenant,
    "not_multi_tenant": _not_multi_tenant,
    "dimension": _dimension,
    "unknown_property": _property,
    "not_indexed": _not_indexed,
    "missing_vector": _missing_vector,
    "no_target_vector": _which_vector,
    "vector_kind": _vector_kind,
    "limit": _limit,
    "module": _module,
    "value": _value,
    "replicas": _replicas,
}
