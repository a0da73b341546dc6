"""Filters on metadata of documents, pages and records (K8, K11, R12)."""

from __future__ import annotations

import pytest
from asking import opened
from filled_base import fill, of_parts

from groundgraph.core.document import Chunk, Document, Part
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.testing import check_filters

FIELDS = {
    "category": {"type": "string"},
    "priority": {"type": "integer"},
    "date": {"type": "date"},
    "tags": {"type": "array"},
    "page": {"type": "integer"},
}


def table(name: str, *records: dict, kind: str = "documents", **metadata) -> Document:
    """One document whose parts are records of the same text."""
    parts = tuple(Part(n * 10, n * 10 + 10, record) for n, record in enumerate(records))
    return Document(name, "apple pie\n" * len(records), metadata=metadata, kind=kind, parts=parts)


@pytest.fixture
async def source(tmp_path):
    orders = table(
        "orders.csv",
        {"priority": 1, "date": "2026-03-01", "tags": ["x", "y"]},
        {"priority": 2, "date": "2026-04-01", "tags": ["z"], "category": "urgent"},
        {"priority": 3},
        category="sales",
    )
    notes = table("notes", {"priority": 2}, kind="incident")
    await fill(tmp_path / "kb.sqlite", [orders, notes], chunker=of_parts)
    await fill(tmp_path / "kb.sqlite", [Document("plain.md", "apple pie", metadata={"category": "sales"})])
    return opened(KnowledgeBaseSource(tmp_path / "kb.sqlite", fields={**FIELDS, "kind": {"type": "string"}}))


async def found(source, **filters) -> list[str]:
    results = await source.query(RetrievalIntent(["apple"], {source.name: filters}), top_k=50)
    return sorted(result.source_id for result in results)


@pytest.mark.covers("K11")
async def test_a_record_overrides_its_document_and_its_fields_are_in_the_result(source):
    results = await source.query(RetrievalIntent(["apple"]), top_k=50)
    by_id = {result.source_id: result.metadata for result in results}
    assert by_id["orders.csv#1"]["category"] == "urgent"
    assert by_id["orders.csv#2"]["category"] == "sales"
    assert by_id["orders.csv#0"]["tags"] == ["x", "y"]
    assert by_id["notes#0"]["kind"] == "incident"
    assert "kind" not in by_id["plain.md#0"]
    assert await source.metadata_fields() == {name for metadata in by_id.values() for name in metadata}


@pytest.mark.covers("K11")
async def test_filters_reach_documents_and_single_records(source):
    assert await found(source, category="sales") == ["orders.csv#0", "orders.csv#2", "plain.md#0"]
    assert await found(source, document="orders.csv", priority=3) == ["orders.csv#2"]
    assert await found(source, kind="incident") == ["notes#0"]
    # A kind is shown where it is not the usual one, and is there to filter by all the same.
    of_any_kind = {"kind": ["documents", "incident"]}
    (await check_filters(source, query="apple", filters=of_any_kind)).raise_for_failures()


@pytest.mark.covers("K5")
async def test_pages_count_from_their_own_beginning_and_what_a_model_wrote_says_so(tmp_path):
    report = Document(
        "r.pdf", "Page one. Page two has apples.", parts=(Part(0, 10, {"page": 1}), Part(10, 30, {"page": 2}))
    )
    cut = Chunk(report, 0, 19, 29, (), "has apples", metadata={"page": 2}, origin=10)
    written = Chunk(report, 1, 0, 30, (), "Apples are on page two.", derived=True)
    assert report.text[cut.start : cut.end] == cut.text
    store = opened(EmbeddedStore(tmp_path / "kb.sqlite"))
    await store.open(BaseIdentity())
    chunks = [
        PreparedChunk(cut, (cut.text,), "A report about fruit."),
        PreparedChunk(written, (written.text,), "apples page"),
    ]
    await store.write([PreparedDocument(report, chunks, "h")])
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite"))
    results = await source.query(RetrievalIntent(["apples"]))
    by_id = {result.source_id: result.metadata for result in results}
    assert (by_id["r.pdf#0"]["start"], by_id["r.pdf#0"]["end"], by_id["r.pdf#0"]["page"]) == (9, 19, 2)
    assert by_id["r.pdf#0"]["qualifying_text"] == "A report about fruit."
    assert "derived" not in by_id["r.pdf#0"]
    assert by_id["r.pdf#1"]["derived"] is True
    assert "qualifying_text" not in by_id["r.pdf#1"], "it adds no word"


@pytest.mark.covers("I8", "R13", "fault 60")
async def test_nothing_that_is_found_tells_what_other_records_hold(tmp_path):
    records = [{"tenant": "acme"}, {"tenant": "globex"}]
    texts = ["pump 17 every 90 days\n", "pump 17 zanzibar recipe\n"]
    ends = [len(texts[0]), len("".join(texts))]
    parts = (Part(0, ends[0], records[0]), Part(*ends, records[1]))
    await fill(tmp_path / "kb.sqlite", [Document("rows.csv", "".join(texts), parts=parts)], chunker=of_parts)
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite", fields={"tenant": {"type": "string"}}))

    async def asked(text: str) -> list[SourceResult]:
        return await source.query(RetrievalIntent([text], {source.name: {"tenant": "acme"}}), top_k=5)

    known, unknown = await asked("zanzibar pump"), await asked("xanadu pump")
    assert known == unknown
    assert [one.metadata["tenant"] for one in known] == ["acme"]
    assert "zanzibar" not in repr(known)
