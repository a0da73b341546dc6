"""Heads and feet of pages are neither quoted nor cited, and offsets stay those of the document (S7, K2)."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_files import pdf
from turns import ask_once, build

from groundgraph.core.chain import IngestChains
from groundgraph.core.document import Document
from groundgraph.graph.ingest import ingest_documents
from groundgraph.ingest.builtin_chains import ContentAsMatchingText, ContentAsQualifyingText
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document

pytestmark = pytest.mark.covers("S7")

CHAINS = IngestChains(HeadingChunker(), ContentAsQualifyingText(), ContentAsMatchingText())
BODIES = [
    "The coolant pump is serviced every ninety days.",
    "Seals of the pump are replaced once a year.",
    "The service log is signed by two people.",
    "Spare seals lie in the store of the plant.",
]
HEAD, FOOT = "The Service Manual of the Coolant Pump, edition", "Service of pumps and seals, sheet"
PAGES = [f"{HEAD} {number}\n{body}\n{FOOT} {number}" for number, body in enumerate(BODIES, 1)]
QUESTION = "How often does the service manual say the coolant pump is serviced?"


def document(folder: Path, kind: str) -> Document:
    if kind == "pdf":
        return load_document(pdf(folder / "manual.pdf", PAGES), "manual.pdf")
    (folder / "manual.txt").write_text("\n\f".join(PAGES))
    return load_document(folder / "manual.txt", "manual.txt")


@pytest.mark.parametrize("kind", ["pdf", "text"])
async def test_the_head_of_a_page_is_no_answer_and_quotes_stand_where_they_say(tmp_path, kind):
    loaded = document(tmp_path, kind)
    path = tmp_path / "base.sqlite"
    await ingest_documents(path, [loaded], chains=CHAINS)
    graph = build(base={}, knowledge_base={"file": str(path)}, retrieval={"score_threshold": 0.0})
    output = await ask_once(graph, QUESTION)
    quotes = [line for line in output["answer"].split("\n") if line.startswith("> ")]
    assert "> The coolant pump is serviced every ninety days. [1]" in quotes
    assert not any("edition" in quote or "sheet" in quote for quote in quotes)
    assert output["citations"]
    for citation in output["citations"]:
        [row] = [row for row in output["provenance"]["results"] if row["source_id"] == citation["source_id"]]
        page = loaded.parts[row["metadata"]["page"] - 1].start if kind == "pdf" else 0
        assert loaded.text[page + citation["start"] : page + citation["end"]] == citation["quote"]
        assert "edition" not in citation["quote"]
        assert "sheet" not in citation["quote"]


async def test_a_fact_at_the_foot_of_every_page_is_quoted_where_it_is_asked_for(tmp_path):
    pages = [f"{body}\nInvoices are due within 14 days." for body in BODIES]
    path = tmp_path / "base.sqlite"
    await ingest_documents(path, [load_document(pdf(tmp_path / "a.pdf", pages), "a.pdf")], chains=CHAINS)
    output = await ask_once(build(base={}, knowledge_base={"file": str(path)}), "When are invoices due?")
    assert output["citations"][0]["quote"] == "Invoices are due within 14 days."
