"""Each message of the real server by which a fault is recognised, and the error that it becomes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio
from weaviate.classes.config import Configure, DataType, Property
from weaviate.classes.query import Filter, Rerank
from weaviate.classes.tenants import Tenant, TenantActivityStatus
from weaviate.exceptions import WeaviateBaseError
from weaviate_collections import article, client, make, until_indexed
from weaviate_server import WeaviateServer, running

from groundgraph import RetrievalIntent
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
from groundgraph.sources.weaviate import WeaviateSource, address_of
from groundgraph.sources.weaviate.client import WeaviateConnection
from groundgraph.sources.weaviate.errors import Fault, Place, TenantInactive, fault_of, typed_error
from groundgraph.testing import NgramEmbeddings

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="module")]
PLACE = Place("http://127.0.0.1:8080", "Errors", "ngram")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def use(weaviate_server: WeaviateServer) -> AsyncIterator[Callable[[str], Any]]:
    await make(weaviate_server, "Errors")
    await make(weaviate_server, "ErrorTenants", tenants=("north",))
    vectors = [Configure.Vectors.self_provided(name="a"), Configure.MultiVectors.self_provided(name="many")]
    await make(weaviate_server, "ErrorNamed", objects=[], vectors=vectors)
    async with client(weaviate_server) as own:
        named = own.collections.use("ErrorNamed")
        row = NgramEmbeddings(64).embed_query("pump")
        await named.data.insert(article(0), vector={"a": row, "many": [row, row]})
        await until_indexed(named, row, 1, "a")
        tenants = own.collections.use("ErrorTenants").tenants
        await tenants.create([Tenant(name="off", activity_status=TenantActivityStatus.INACTIVE)])
        yield own.collections.use


V = [0.1] * 64
Ask = Callable[[Callable[[str], Any]], Awaitable[Any]]
by = Filter.by_property
CASES: dict[str, tuple[Ask, Fault, type[GroundGraphError], str]] = {
    "missing collection": (
        lambda use: use("Nothing").query.bm25("x"),
        Fault("missing_collection", "Nothing"), SchemaChanged, "collection"),
    "missing collection, aggregated": (
        lambda use: use("Nothing").aggregate.over_all(),
        Fault("missing_collection", "Nothing"), SchemaChanged, "collection"),
    "missing collection, configuration": (
        lambda use: use("Nothing").config.get(), Fault("missing_collection"), SchemaChanged, "no collection 'Errors'"),
    "unknown tenant": (
        lambda use: use("ErrorTenants").with_tenant("North").query.bm25("x"),
        Fault("unknown_tenant", "North"), TenantUnknown, "The tenant 'North' has nothing"),
    "unknown tenant by vector": (
        lambda use: use("ErrorTenants").with_tenant("a/b").query.near_vector(V),
        Fault("unknown_tenant", "a/b"), TenantUnknown, "nothing was searched"),
    "tenant switched off": (
        lambda use: use("ErrorTenants").with_tenant("off").query.bm25("x"),
        Fault("inactive_tenant", "off"), TenantInactive, "switched off"),
    "no tenant": (
        lambda use: use("ErrorTenants").query.near_vector(V), Fault("no_tenant"), ScopeMissing, "tenant_from"),
    "tenant without tenants": (
        lambda use: use("Errors").with_tenant("x").query.bm25("x"),
        Fault("not_multi_tenant"), SchemaChanged, "tenants"),
    "wrong size": (
        lambda use: use("Errors").query.near_vector([0.1] * 5),
        Fault("dimension", stored=64, asked=5), EmbeddingModelChanged, "have 64 numbers, but .* gives 5"),
    "wrong size, filtered": (
        lambda use: use("Errors").query.near_vector([0.1] * 5, filters=by("manual").equal("pumps")),
        Fault("dimension", stored=64, asked=5), EmbeddingModelChanged, "64 .* 5"),
    "wrong size, named": (
        lambda use: use("ErrorNamed").query.near_vector([0.1] * 6, target_vector="a"),
        Fault("dimension", stored=64, asked=6), EmbeddingModelChanged, "64 .* 6"),
    "wrong size, multi": (
        lambda use: use("ErrorNamed").query.near_vector([[0.1] * 6], target_vector="many"),
        Fault("dimension", stored=64, asked=6), EmbeddingModelChanged, "64 .* 6"),
    "unknown property, filtered": (
        lambda use: use("Errors").query.bm25("x", filters=by("yeer").equal(1)),
        Fault("unknown_property", "yeer"), SchemaChanged, "no property 'yeer'"),
    "unknown property, returned": (
        lambda use: use("Errors").query.near_vector(V, return_properties=["yeer"]),
        Fault("unknown_property", "yeer"), SchemaChanged, "no property 'yeer'"),
    "unknown property, searched": (
        lambda use: use("Errors").query.bm25("x", query_properties=["yeer"]),
        Fault("not_indexed", "yeer"), SchemaChanged, "'yeer' .* is gone"),
    "property without a filter index": (
        lambda use: use("Errors").query.bm25("x", filters=by("link").equal("x")),
        Fault("not_indexed", "link"), SchemaChanged, "'link' .* no index"),
    "missing vector": (
        lambda use: use("ErrorNamed").query.near_vector(V, target_vector="b"),
        Fault("missing_vector", "b"), SchemaChanged, "no vector named 'b'"),
    "no vector named": (
        lambda use: use("ErrorNamed").query.near_vector(V),
        Fault("no_target_vector"), SchemaChanged, "several vectors"),
    "one vector for many": (
        lambda use: use("ErrorNamed").query.near_vector(V, target_vector="many"),
        Fault("vector_kind"), SchemaChanged, "kind of vector"),
    "many vectors for one": (
        lambda use: use("ErrorNamed").query.near_vector([V], target_vector="a"),
        Fault("vector_kind"), SchemaChanged, "kind of vector"),
    "too many at once": (
        lambda use: use("Errors").query.bm25("x", limit=10_001), Fault("limit", "10000"), SourceError, "lower top_k"),
    "no reranker module": (
        lambda use: use("Errors").query.bm25("pump", rerank=Rerank(prop="body", query="x")),
        Fault("module"), SourceError, "without the module"),
    "no vectorizer module": (
        lambda use: use("Errors").query.near_text("x"), Fault("module"), SourceError, "without the module"),
    "no vectorizer for hybrid": (
        lambda use: use("Errors").query.hybrid("x"), Fault("module"), SourceError, "without the module"),
    "a text for a number": (
        lambda use: use("Errors").query.bm25("x", filters=by("year").equal("x")),
        Fault("value"), SchemaChanged, "type"),
    "a fraction for a whole number": (
        lambda use: use("Errors").query.bm25("x", filters=by("year").equal(2.5)),
        Fault("value"), SchemaChanged, "type"),
    "no time": (
        lambda use: use("Errors").query.bm25("x", filters=by("day").equal("x")),
        Fault("value"), SchemaChanged, "type"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_a_message_of_the_server_is_recognised(use: Callable[[str], Any], case: str) -> None:
    ask, expected, kind, told = CASES[case]
    with pytest.raises(WeaviateBaseError) as raised:
        await ask(use)
    fault = fault_of(raised.value)
    assert (fault.kind, fault.stored, fault.asked) == (expected.kind, expected.stored, expected.asked), fault
    assert fault.name == expected.name
    error = typed_error(fault, PLACE)
    assert type(error) is kind
    with pytest.raises(kind, match=told):
        raise error
    if isinstance(error, SchemaChanged) and expected.name:
        assert error.field in (expected.name, "Errors")


async def test_a_vector_of_the_wrong_size_that_is_written_is_recognised() -> None:
    # With asynchronous indexing the server takes one of any size and drops it later; without, it says this.
    error = RuntimeError("insert doc id 1 to vector index: inconsistent vector lengths: 5 != 8")
    assert fault_of(error) == Fault("dimension", stored=8, asked=5, text=str(error))


async def test_what_cannot_be_read_is_not_told_as_a_refusal_of_the_server() -> None:
    for error in (TypeError("'NoneType' object is not subscriptable"), KeyError("text"), ValueError("no number")):
        told = str(typed_error(fault_of(error), PLACE))
        assert f"could not be read ({type(error).__name__}: " in told
        assert "refused" not in told


@pytest.fixture(scope="module")
def locked(weaviate_binary) -> Iterator[WeaviateServer]:
    """A server that wants a key."""
    with running(
        weaviate_binary,
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED="false",
        AUTHENTICATION_APIKEY_ENABLED="true",
        AUTHENTICATION_APIKEY_ALLOWED_KEYS="right-key,readers-key",
        AUTHENTICATION_APIKEY_USERS="owner,reader",
        AUTHORIZATION_ADMINLIST_ENABLED="true",
        AUTHORIZATION_ADMINLIST_USERS="owner",
        AUTHORIZATION_ADMINLIST_READONLY_USERS="nobody",
    ) as server:
        yield server


@pytest.mark.parametrize("key", ["", "wrong-key"])
async def test_a_server_that_wants_another_key_says_so(locked: WeaviateServer, key: str) -> None:
    source = WeaviateSource("X", address=address_of(locked.url, grpc_port=locked.grpc_port, api_key=key))
    with pytest.raises(SourceUnavailable, match="API key") as refused:
        await source.query(RetrievalIntent(["x"]))
    assert "wrong-key" not in str(refused.value)
    await source.close()


async def test_a_key_that_may_not_read_and_one_that_may(locked: WeaviateServer) -> None:
    async def made(own: Any) -> None:
        await own.collections.create("X", properties=[Property(name="text", data_type=DataType.TEXT)])
        await own.collections.use("X").data.insert({"text": "hello"})

    right = WeaviateConnection(address_of(locked.url, grpc_port=locked.grpc_port, api_key="right-key"))
    await right.call(made)
    await right.close()
    for key, allowed in (("right-key", True), ("readers-key", False)):
        source = WeaviateSource("X", address=address_of(locked.url, grpc_port=locked.grpc_port, api_key=key))
        if allowed:
            assert len(await source.query(RetrievalIntent(["hello"]))) == 1
        else:
            with pytest.raises(SourceUnavailable, match="may not read"):
                await source.query(RetrievalIntent(["hello"]))
        await source.close()


async def test_the_wrong_grpc_port_is_told_apart_from_no_answer(weaviate_server: WeaviateServer) -> None:
    await make(weaviate_server, "Errors")
    source = WeaviateSource("Errors", address=address_of(weaviate_server.url, grpc_port=9), mapping={"text": "body"},
                            request_timeout=3)  # fmt: skip
    with pytest.raises((SourceUnavailable, SourceTimeout)):
        await source.query(RetrievalIntent(["x"]))
    await source.close()


async def test_a_server_that_is_too_old_says_so() -> None:
    from http.server import BaseHTTPRequestHandler

    from groundgraph.testing.wire_stub import LocalServer

    class Old(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"version": "1.19.0", "hostname": "x", "modules": {}}')

        def log_message(self, *_: Any) -> None:
            pass

    server = LocalServer(Old)
    source = WeaviateSource("X", address=address_of(f"http://127.0.0.1:{server.port}"))
    try:
        with pytest.raises(SourceUnavailable, match=r"upgrade it.*1\.19\.0"):
            await source.query(RetrievalIntent(["x"]))
    finally:
        await source.close()
        server.close()
