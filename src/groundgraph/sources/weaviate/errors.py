"""What an error of the Weaviate client means.

The client tells nearly all faults of a query apart by their text only, so they are recognised by that here; each text
has a test against the real server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

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

# Which fault it is: a key of `_TOLD`.
Kind: TypeAlias = str
# The server also says these while it is still loading what it holds.
MAYBE_NOT_READY: frozenset[Kind] = frozenset({"missing_collection", "no_such_index"})
# The server did not get to answer; what was asked does not matter.
OUTAGES: frozenset[Kind] = frozenset({"unreachable", "not_ready", "no_such_index", "timeout", "replicas"})

_TEXTS: tuple[tuple[Kind, str], ...] = (
    ("missing_collection", r"could not find class (?P<name>\S+) in schema"),
    ("missing_collection", r"Collection configuration could not be retrieved.{0,500}status code: 404"),
    ("no_such_index", r"tried to browse non-existing index(?: for (?P<name>[\w]+))?"),
    ("unknown_tenant", r"tenant not found: \"(?P<name>.*?)\""),
    ("inactive_tenant", r"tenant not active: '(?P<name>.*?)'"),
    ("no_tenant", r"has multi-tenancy enabled, but request was without tenant"),
    ("not_multi_tenant", r"has multi-tenancy disabled, but request was with tenant"),
    ("dimension", r"(?<!\d)(?P<stored>\d++) vs (?P<asked>\d+): vector lengths don't match"),
    ("dimension", r"inconsistent vector lengths: (?P<asked>\d+) != (?P<stored>\d+)"),
    ("unknown_property", r"no such prop with name '(?P<name>[^']*+)' found in class"),
    ("not_indexed", r"(?:Searching|Filtering) by property '(?P<name>[^']*+)' requires inverted index"),
    ("missing_vector", r"does not have named vector (?P<name>\S+) configured"),
    ("no_target_vector", r"has multiple vectors, but no target vectors were provided"),
    ("vector_kind", r"provided vector is a (?:regular|multi) vector but vector index supports"),
    ("limit", r"exceeds the configured value for QUERY_MAXIMUM_RESULTS '(?P<name>\d+)'"),
    ("limit", r"(?:RESOURCE_EXHAUSTED|[Mm]essage larger than max)"),
    ("module", r"[Ii]s a the rerank module enabled|vectorizer module is configured|without vectorizer on class"),
    ("version", r"Weaviate version .{0,100} is not supported|needs? (?:a )?Weaviate version"),
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
        name: the collection, tenant, property or vector that it is about; the server's maximum for `limit`; what
            happened for `unreadable`.
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
    text = " ".join(str(error).split()).removesuffix(" Details: .")
    for kind, pattern in _PATTERNS:
        found = pattern.search(text)
        if found:
            groups = found.groupdict()
            stored, asked = (int(groups.get(name) or 0) for name in ("stored", "asked"))
            return Fault(kind, groups.get("name") or "", stored, asked, text)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status in _STATUS:
        return Fault(_STATUS[status], text=text)
    own = _kind_of_class(error)
    return Fault(own, f"{type(error).__name__}: {text[:200]}" if own == "unreadable" else "", text=text)


def _kind_of_class(error: BaseException) -> Kind:
    for parent in type(error).__mro__:
        if parent.__name__ in _CLASSES:
            return _CLASSES[parent.__name__]
    if isinstance(error, TimeoutError):
        return "timeout"
    library = type(error).__module__.partition(".")[0]
    if library != "weaviate" and isinstance(
        error, (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
    ):
        return "unreadable"
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


class TenantInactive(TenantUnknown):
    """The tenant is there, and the server has it switched off: what it holds is not known."""


_STARTING = "{server} is starting and not ready yet; ask again in a moment."


def typed_error(fault: Fault, place: Place) -> GroundGraphError:
    """The documented error for `fault`; raise it from the client's own."""
    error, message = _TOLD[fault.kind]
    name = place.collection or fault.name if fault.kind == "missing_collection" else fault.name
    told = message.format(
        server=place.server,
        what=place.what,
        name=name,
        stored=fault.stored,
        asked=fault.asked,
        model=f"the embedding model '{place.model}'" if place.model else "the vector that was sent",
        said=f"It says: {fault.text[:300]}",
    )
    return SchemaChanged(told, field=name) if error is SchemaChanged else error(told)


_TOLD: dict[Kind, tuple[type[GroundGraphError], str]] = {
    "unreachable": (
        SourceUnavailable,
        "{server} cannot be reached. Check that it runs, and that the address and the gRPC port are right. {said}",
    ),
    "not_ready": (SourceUnavailable, _STARTING),
    "no_such_index": (SourceUnavailable, _STARTING),
    "timeout": (SourceTimeout, "{server} did not answer in time."),
    "authentication": (
        SourceUnavailable,
        "{server} did not accept the API key, or wants one; set `api_key`. {said}",
    ),
    "permission": (SourceUnavailable, "The API key may not read {what}. {said}"),
    "version": (SourceUnavailable, "{server} is of a version that cannot be used: upgrade it. {said}"),
    "missing_collection": (
        SchemaChanged,
        "{server} has no collection '{name}'. Check the name; capital letters count.",
    ),
    "unknown_tenant": (TenantUnknown, "The tenant '{name}' has nothing in {what}; nothing was searched."),
    "inactive_tenant": (TenantInactive, "The tenant '{name}' of {what} is switched off; activate it to search it."),
    "no_tenant": (ScopeMissing, "{what} keeps each tenant apart, and none was named; set `tenant_from`."),
    "not_multi_tenant": (SchemaChanged, "{what} has no tenants, though `tenant_from` names a field for one."),
    "dimension": (
        EmbeddingModelChanged,
        "The vectors in {what} have {stored} numbers, but {model} gives {asked}. Use the model that they were made "
        "with.",
    ),
    "unknown_property": (SchemaChanged, "{what} has no property '{name}' any more."),
    "not_indexed": (SchemaChanged, "The property '{name}' of {what} is gone, or has no index to search or filter by."),
    "missing_vector": (SchemaChanged, "{what} has no vector named '{name}'. {said}"),
    "no_target_vector": (SchemaChanged, "{what} has several vectors; name one with `vector`. {said}"),
    "vector_kind": (SchemaChanged, "The kind of vector in {what} is another than expected. {said}"),
    "limit": (
        SourceError,
        "{server} gives fewer results at once than were asked for; lower top_k or `candidates`. {said}",
    ),
    "module": (SourceError, "{server} runs without the module that this needs. {said}"),
    "value": (SchemaChanged, "A property of {what} is of another type than is declared. {said}"),
    "replicas": (SourceUnavailable, "Too few nodes of {server} answer for this consistency level. {said}"),
    "unreadable": (SourceError, "What {what} gave could not be read ({name})."),
    "other": (SourceError, "{server} refused the request. {said}"),
}
assert _TOLD.keys() >= {
    *MAYBE_NOT_READY,
    *OUTAGES,
    *(kind for kind, _ in _TEXTS),
    *_CLASSES.values(),
    *_STATUS.values(),
}
