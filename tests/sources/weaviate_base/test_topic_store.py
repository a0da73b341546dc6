"""A topic index over a knowledge base in Weaviate finds what one over an embedded base finds (X1 to X6)."""

from __future__ import annotations

import numpy as np
import pytest
import pytest_asyncio
from filled_base import prepared
from topic_bases import GUIDE, WordVectors
from weaviate_bases import place_on, weaviate_section

from groundgraph import load_settings, retrieval_graph
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import FilterInvalid, SourceUnavailable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.sources.topic_index import TopicIndexSource
from groundgraph.sources.weaviate_base import BasePlace, WeaviateBaseSource, WeaviateStore
from groundgraph.sources.weaviate_base import source as base_source

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="module"), pytest.mark.covers("X1")]
WORDS = ["linux", "windows", "smoke", "flood", "impeller", "shock", "thanks"]
FIELDS = {"audience": {"type": "string"}, "user": {"type": "string"}}
DOCUMENTS = [
    Document("guide.md", GUIDE, MARKDOWN, {"audience": "all"}),
    Document("staff.md", GUIDE.replace("# Guide", "# Staff guide"), MARKDOWN, {"audience": "staff"}),
    Document("bare.md", "smoke and flood without a heading", MARKDOWN, {"audience": "all"}),
]


def embedder():
    return Embedder(WordVectors(WORDS), "words")


def several_texts(chunk):
    return [chunk.text, f"Question about {chunk.headings[-1] if chunk.headings else 'this'}?"]


async def written(store, documents, **how):
    await store.open(BaseIdentity("words"))
    assert await store.write([await prepared(one, embedder=embedder(), **how) for one in documents]) == {}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["one text", "several texts"])
async def both(request, weaviate_server, tmp_path_factory):
    """An embedded source and one in Weaviate over the same documents."""
    path, place = tmp_path_factory.mktemp("topics") / "kb.sqlite", place_on(weaviate_server)
    how = {"texts": several_texts} if request.param == "several texts" else {}
    for store in (EmbeddedStore(path), WeaviateStore(place, fields=FIELDS)):
        await written(store, DOCUMENTS, **how)
        # A version that no longer counts, and a document that is gone.
        await written(store, [Document("gone.md", "# Fire\n\nsmoke", MARKDOWN)])
        await store.remove(["gone.md"])
        await store.close()
    sources = (
        KnowledgeBaseSource(path, name="docs", fields=FIELDS, embedder=embedder()),
        WeaviateBaseSource(place, name="docs", fields=FIELDS, embedder=embedder()),
    )
    yield sources
    for source in sources:
        await source.close()


async def test_outline_vectors_and_passages_are_those_of_the_embedded_base(both):
    embedded, weaviate = (source.topic_store() for source in both)
    here, there = await embedded.outline(), await weaviate.outline()
    assert list(there.places) == list(here.places)
    assert there.revision == await weaviate.revision()
    ours, theirs = await embedded.vectors(), await weaviate.vectors()
    rows = dict(zip(ours.ids, ours.rows, strict=True))
    assert set(theirs.ids) == set(rows)
    for one, row in zip(theirs.ids, theirs.rows, strict=True):
        np.testing.assert_allclose(row, rows[one], atol=0.002)
    ids = [place.id for place in here.places]
    assert await weaviate.passages([*ids, "gone.md#0", "guide.md#99"], {}) == await embedded.passages(ids, {})


@pytest.mark.covers("X5")
async def test_a_question_is_answered_by_whole_topics_through_the_configuration(weaviate_server):
    section = weaviate_section(weaviate_server)
    place = BasePlace.of(load_settings({"knowledge_base": section}).knowledge_base.weaviate)
    store = WeaviateStore(place)
    await store.open(BaseIdentity())
    assert await store.write([await prepared(one) for one in DOCUMENTS[:1]]) == {}
    graph = retrieval_graph(load_settings({"knowledge_base": {**section, "topic_index": {"type": "heading_tree"}}}))
    found = await graph.ainvoke({"messages": "Tell me about safety"})
    shown = [row["metadata"]["headings"][-1] for row in found["evidence"]]
    assert shown == ["Safety", "Fire", "Water", "Pumps", "Power"]
    # What is written meanwhile is seen by the next turn.
    assert (
        await store.write([await prepared(Document("guide.md", "# Guide\n\n## Safety\n\nsafety first", MARKDOWN))])
        == {}
    )
    found = await graph.ainvoke({"messages": "Tell me about safety"})
    assert [row["text"].rpartition("\n")[2] for row in found["evidence"]] == ["safety first"]
    await graph.resources.close()
    await store.close()


@pytest.mark.covers("R13")
async def test_a_topic_holds_nothing_of_another_tenant(weaviate_server):
    place = place_on(weaviate_server, tenant_from="user")
    store = WeaviateStore(place, fields=FIELDS)
    owners = ["acme", "ACME", "acme inc", ""]
    documents = [
        Document(f"{n}.md", f"# Safety\n\n## Fire\n\nsmoke of {n}", MARKDOWN, {"user": owner} if owner else {})
        for n, owner in enumerate(owners)
    ]
    await written(store, documents)
    source = WeaviateBaseSource(place, name="docs", fields=FIELDS, embedder=embedder())
    for kind in ({"type": "heading_tree"}, {"type": "cluster", "min_cluster_size": 1}):
        index = TopicIndexSource(source, TopicIndexSettings(**kind))
        for n, owner in enumerate(owners):
            filters = {"docs": {"user": owner}} if owner else {}
            found = await index.query(RetrievalIntent(["Tell me about fire and smoke"], filters))
            assert {one.metadata["document"] for one in found} == {f"{n}.md"}, (kind, owner)
        assert await index.query(RetrievalIntent(["fire smoke"], {"docs": {"user": "nobody"}})) == []
        with pytest.raises(FilterInvalid, match="takes one text"):
            await index.query(RetrievalIntent(["fire"], {"docs": {"user": ["acme", "ACME"]}}))
    # Without a filter no vector, heading or passage of a tenant is even read.
    everybody = source.topic_store()
    assert {place.document for place in (await everybody.outline()).places} == {"3.md"}
    assert await everybody.passages(["0.md#0", "0.md#1"], {}) == {}
    await source.close()
    await store.close()


async def test_a_base_that_is_too_large_is_refused(both, monkeypatch):
    monkeypatch.setattr(base_source, "MAX_CHUNKS", 2)
    source = WeaviateBaseSource(both[1]._weaviate.server.place, name="docs", fields=FIELDS)
    with pytest.raises(SourceUnavailable, match="more than 2 chunks"):
        await source.topic_store().outline()
    await source.close()
