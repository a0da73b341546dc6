"""The source over a base in Weaviate: contract, tenants, readers beside writers (R1, R10, K8, fault 60)."""

from __future__ import annotations

import pytest
from asking import opened
from filled_base import prepared
from hypothesis import given
from hypothesis import strategies as st
from weaviate_bases import place_on

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import FilterInvalid, SourceUnavailable, TenantUnknown
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.weaviate import address_of
from groundgraph.sources.weaviate_base import BasePlace, WeaviateBaseSource, WeaviateStore
from groundgraph.sources.weaviate_base.collections import tenant_name
from groundgraph.sources.weaviate_base.filters import stored_values, wanted_form
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.testing import NgramEmbeddings

NGRAMS = Embedder(NgramEmbeddings(32), "ngram-32")
live = pytest.mark.live
FIELDS = {"year": {"type": "integer"}, "topic": {"type": "string"}}
# They differ only in case, punctuation or a further word.
TENANTS = ["acme", "Acme", "ACME", "acme.", "acme inc", "acme-inc", "acme_inc", " acme", "акме", "*", "acm"]


async def filled(place: BasePlace, documents, *, fields=FIELDS, embedder=NGRAMS) -> None:
    store = opened(WeaviateStore(place, fields=fields))
    await store.open(BaseIdentity(embedder.name if embedder else ""))
    assert await store.write([await prepared(one, embedder=embedder) for one in documents]) == {}


@pytest.mark.covers("fault 32")
@live
async def test_a_tenant_that_is_switched_off_is_no_tenant_without_memories(weaviate_server):
    from weaviate.classes.tenants import Tenant, TenantActivityStatus

    place = place_on(weaviate_server, tenant_from="user")
    fields = {"user": {"type": "string"}}
    memories = [Document(f"memories/{user}", "A favourite colour.", metadata={"user": user}) for user in ("Ann", "Bob")]
    await filled(place, memories, fields=fields, embedder=NGRAMS)
    source = opened(WeaviateBaseSource(place, fields=fields, embedder=NGRAMS))

    async def found(*questions, user):
        intent = RetrievalIntent(list(questions), {source.name: {"user": user}})
        return [one.source_id for one in await source.query(intent)]

    off = [Tenant(name=tenant_name("Ann"), activity_status=TenantActivityStatus.INACTIVE)]
    server = opened(BaseServer(place))
    await server.call(lambda client: client.collections.use(place.memory(1)).tenants.update(off))
    for questions in (["colour"], ["colour", "favourite"]):
        with pytest.raises(TenantUnknown, match="switched off"):
            await found(*questions, user="Ann")
        assert await found(*questions, user="Bob") == ["memories/Bob#0"]
        assert await found(*questions, user="nobody") == []
    topics = source.topic_store().part({"user": "Ann"})
    for reading in (topics.outline(), topics.passages(["memories/Ann#0"], {"user": "Ann"})):
        with pytest.raises(TenantUnknown, match="switched off"):
            await reading
    # The others go on writing, whatever was written last.
    again = await prepared(Document("memories/Bob", "Another colour.", metadata={"user": "Bob"}), embedder=NGRAMS)
    refused = await prepared(Document("memories/2", "A colour.", metadata={"user": "Ann"}), embedder=NGRAMS)
    store = opened(WeaviateStore(place, fields=fields))
    await store.open(BaseIdentity(NGRAMS.name))
    assert set(await store.write([again, refused])) == {"memories/2"}
    assert await store.write([again]) == {}
    # One that somebody removes with all that it held is missing in the ledger too.
    await server.call(lambda client: client.collections.use(place.memory(1)).tenants.remove([tenant_name("Bob")]))
    reopened = opened(WeaviateStore(place, fields=fields))
    await server.call(lambda client: client.collections.use(place.memory(1)).tenants.update(
        [Tenant(name=tenant_name("Ann"), activity_status=TenantActivityStatus.ACTIVE)]
    ))  # fmt: skip
    await reopened.open(BaseIdentity(NGRAMS.name))
    assert [row.name for row in await reopened.documents()] == ["memories/Ann"]


@pytest.mark.covers("fault 60")
@live
@pytest.mark.parametrize("embedder", [NGRAMS, None], ids=["with vectors", "words only"])
async def test_a_tenant_finds_its_own_records_and_nobody_finds_those_of_another(weaviate_server, embedder):
    place = place_on(weaviate_server, tenant_from="user")
    fields = {"user": {"type": "string"}, "topic": {"type": "string"}}
    memories = [
        Document(
            f"memories/{n}",
            f"The favourite colour of this guest is shade{n}.",
            metadata={"user": user},
            kind="memories",
        )
        for n, user in enumerate(TENANTS)
    ]
    shared = Document("guide.md", "The favourite colour of our house is white.", MARKDOWN)
    await filled(place, [*memories, shared], fields=fields, embedder=embedder)
    source = opened(WeaviateBaseSource(place, fields=fields, embedder=embedder))

    async def found(**filters):
        intent = RetrievalIntent(["favourite colour"], {source.name: filters} if filters else {})
        return [result.source_id for result in await source.query(intent, top_k=50)]

    for n, user in enumerate(TENANTS):
        assert await found(user=user) == [f"memories/{n}#0"]
        assert await found(user=[user]) == [f"memories/{n}#0"]
    # Without a tenant there is only what is everybody's, and one of whom nothing is known has nothing.
    assert await found() == ["guide.md#0"]
    assert await found(user="nobody") == []
    assert await found(user="acme", document="memories/1") == []
    for odd in (["acme", "Acme"], {"not": "acme"}, {"contains": "acme"}):
        with pytest.raises(FilterInvalid, match="whose data"):
            await found(user=odd)
    both = RetrievalIntent(["favourite colour", "shade1 guest"], {source.name: {"user": "Acme"}})
    assert [result.source_id for result in await source.query(both)] == ["memories/1#0"]
    assert await source.counts() == {"documents": len(TENANTS) + 1, "chunks": len(TENANTS) + 1}
    store = opened(WeaviateStore(place, fields=fields))
    verified = await store.verify()
    assert (verified.chunks, verified.repaired, verified.incomplete) == (len(TENANTS) + 1, 0, [])
    assert await store.remove(["memories/1"]) == 1
    assert await found(user="Acme") == []
    assert await found(user="acme") == ["memories/0#0"]


@pytest.mark.covers("R5")
async def test_a_server_that_is_not_there_is_told_soon():
    source = opened(WeaviateBaseSource(BasePlace(address_of("http://127.0.0.1:9", grpc_port=10))))
    with pytest.raises(SourceUnavailable, match="cannot be reached"):
        await source.query(RetrievalIntent(["anything"]))
    assert not await source.recovered()


@pytest.mark.covers("fault 60")
@pytest.mark.guard
@given(st.text(max_size=40), st.text(max_size=40))
def test_two_values_never_share_a_tenant_or_a_stored_form(one, other):
    if one != other:
        assert tenant_name(one) != tenant_name(other)
        assert stored_values(one)["equal"] != stored_values(other)["equal"]
    assert wanted_form(one) in stored_values(one)["equal"]
    assert tenant_name(one).isalnum()
    assert len(tenant_name(one)) <= 64
