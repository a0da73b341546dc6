"""Both back ends give the same results, in the same order and with the same relevance (R5, done-when 2)."""

from __future__ import annotations

import pytest
import pytest_asyncio
from asking import ask, ids
from filled_base import of_parts, prepared
from weaviate_bases import place_on
from weaviate_server import WeaviateServer

from groundgraph.core.document import MARKDOWN, Chunk, Document, Part
from groundgraph.core.embedder import Embedder
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.sources.weaviate_base import WeaviateBaseSource, WeaviateStore
from groundgraph.testing import NgramEmbeddings

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="module")]
NGRAMS = Embedder(NgramEmbeddings(64), "ngram-64")
FIELDS = {
    "topic": {"type": "string"},
    "year": {"type": "integer"},
    "price": {"type": "number"},
    "day": {"type": "date"},
    "seen": {"type": "datetime"},
    "public": {"type": "boolean"},
    "tags": {"type": "array"},
    "note": {"type": "text"},
    "page": {"type": "integer"},
}
TOPICS = ["pumps", "Pumps", "pumps ", "pumps inc.", "насосы", "a*b?c", "|x|", "", "long " * 200]
NOTES = ["Every 90 days.", "every 90 DAYS", "Каждые 90 дней", "100% of it", "x_y", "straße", None]
QUESTIONS = [
    "How often is the coolant pump serviced?",
    "Как часто проверяют насосы охлаждения?",
    "refund within thirty days",
    "pump",
    "what is the of and",
    "насосов насосами",
    "nothing of this stands anywhere",
]
THEMES = [
    "The coolant pump {n} is serviced every {n} days, and its filter is changed.",
    "Насос охлаждения номер {n} проверяют каждые {n} дней.",
    "A refund is paid within {n} days when the goods come back.",
    "Error E{n} means that the pump has no coolant. The pump then stops.",
]


def documents() -> list[Document]:
    made = []
    for n in range(48):
        fields = {
            "title": f"Manual {n % 7}",
            "topic": TOPICS[n % len(TOPICS)],
            "year": 2000 + n % 9,
            "price": [n / 2, n, f"{n}"][n % 3],
            "day": f"2026-{1 + n % 12:02}-{1 + n % 28:02}" + ("T17:00:00" if n % 4 == 0 else ""),
            "seen": f"2026-05-{1 + n % 3:02}" + ["T23:30:00Z", "T12:00:00.000-10:00", " 17:00", ""][n % 4],
            "public": n % 2 == 0,
            "tags": [["a", "b"], ["b"], [], [1, "c"], "a"][n % 5],
            "note": NOTES[n % len(NOTES)],
        }
        if n % 8 == 0:
            fields = {"title": "Bare"}
        text = THEMES[n % 4].format(n=n)
        parts = (Part(0, len(text), {"page": n % 5}),) if n % 6 == 1 else ()
        body = text if parts else f"# Part {n}\n\n{text}\n\n## Inner\n\n{THEMES[(n + 1) % 4].format(n=n + 1)}"
        made.append(Document(f"docs/{n:02}.md", body, MARKDOWN, fields, parts=parts))
    return made


def pages(document: Document) -> list[Chunk]:
    """The parts of a document with their fields, else its headings."""
    from groundgraph.ingest.chunkers import HeadingChunker

    return of_parts(document) if document.parts else list(HeadingChunker()(document))


def several_texts(chunk: Chunk) -> list[str]:
    return [chunk.text, f"Question about {chunk.document.title}?"] if chunk.position % 2 else [chunk.text]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["one text", "several texts"])
async def both(request, weaviate_server: WeaviateServer, tmp_path_factory):
    """The same documents in an embedded base and in Weaviate."""
    place = place_on(weaviate_server)
    path = tmp_path_factory.mktemp("same") / "kb.sqlite"
    how = {"texts": several_texts} if request.param == "several texts" else {}
    batch = [await prepared(one, chunker=pages, embedder=NGRAMS, **how) for one in documents()]
    for store in (EmbeddedStore(path), WeaviateStore(place, fields=FIELDS)):
        await store.open(BaseIdentity(NGRAMS.name))
        assert await store.write(batch) == {}
        await store.close()
    sources = [
        KnowledgeBaseSource(path, fields=FIELDS, embedder=NGRAMS),
        WeaviateBaseSource(place, fields=FIELDS, embedder=NGRAMS),
        KnowledgeBaseSource(path, fields=FIELDS),
        WeaviateBaseSource(place, fields=FIELDS),
    ]
    yield request.param, sources
    for source in sources:
        await source.close()


@pytest.mark.covers("R5")
@pytest.mark.parametrize("question", QUESTIONS)
async def test_order_relevance_scores_and_metadata_are_those_of_the_embedded_base(both, question):
    kind, (embedded, weaviate, *words) = both
    for one, other in ((embedded, weaviate), words):
        first, second = await ask(one, question, top_k=10), await ask(other, question, top_k=10)
        if kind == "one text":
            # Vectors of 16 bits there and of 32 here: what is nearly as good may change places.
            scores = [result.score for result in first]
            assert [result.score for result in second] == pytest.approx(scores, abs=0.01)
            assert [result.source_id for result in second[:1]] == [result.source_id for result in first[:1]]
        by_id = {result.source_id: result for result in second}
        assert len(by_id.keys() & {result.source_id for result in first}) >= min(8, len(first))
        for result in first:
            same = by_id.get(result.source_id)
            if same is None:
                continue
            # Document frequencies count chunks here and matching texts there.
            assert same.relevance == pytest.approx(result.relevance, abs=0.002 if kind == "one text" else 0.1)
            assert (same.content, same.metadata, same.source_type) == (
                result.content, result.metadata, result.source_type,
            )  # fmt: skip
            assert same.scores.keys() == result.scores.keys()
            if "vector" in result.scores:
                assert same.scores["vector"] == pytest.approx(result.scores["vector"], abs=0.002)


@pytest.mark.covers("K10")
async def test_a_chunk_is_found_once_and_by_its_best_matching_text(both):
    kind, (embedded, weaviate, *_) = both
    question = "Question about Manual 3?"
    for source in (embedded, weaviate):
        found = await ask(source, question, top_k=50)
        assert len(ids(found)) == len(set(ids(found)))
        if kind == "several texts":
            assert found[0].scores["vector"] == pytest.approx(1.0, abs=0.002)
            assert found[0].metadata["title"] == "Manual 3"


@pytest.mark.covers("R9")
async def test_what_stands_between_neighbours_is_told_as_the_embedded_base_does(both):
    _, (embedded, weaviate, *_) = both
    pairs = [(f"docs/{n:02}.md#0", f"docs/{n:02}.md#1") for n in range(0, 48, 3)]
    pairs += [
        ("docs/00.md#0", "docs/01.md#1"),
        ("nowhere#0", "nowhere#1"),
        ("odd", "names"),
        ("docs/00.md#1", "docs/00.md#0"),
    ]
    told = await weaviate.texts_between(pairs)
    assert told == await embedded.texts_between(pairs)
    assert "\n\n" in told


@pytest.mark.covers("R12")
async def test_names_of_metadata_and_counts_are_those_of_the_embedded_base(both):
    _, (embedded, weaviate, *_) = both
    assert await weaviate.metadata_fields() == await embedded.metadata_fields()
    assert await weaviate.counts() == await embedded.counts()


@pytest.mark.covers("K11")
async def test_a_filter_is_applied_by_the_server_and_not_only_behind_it(both):
    _, (_, weaviate, *_) = both
    # The one chunk that is allowed is far from being among the nearest, or those with most words.
    found = await ask(weaviate, "coolant pump", top_k=1, document="docs/02.md", page={"not": 9})
    assert [result.metadata["document"] for result in found] == ["docs/02.md"]
