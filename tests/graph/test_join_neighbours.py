"""Neighbouring chunks of a knowledge base become one piece of evidence (R9)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from filled_base import fill
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from ranked_source import RankedSource
from turn_works import works_of
from turns import QUOTING, ask, asking, build, thread

from groundgraph import load_settings, retrieval_graph, retrieve_context, turn_graph
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

pytestmark = pytest.mark.covers("R9")

TEXT = """# Tokens

Access tokens expire after one hour, and each request sends one in a header.

Refresh tokens live for ninety days; whoever uses one gets a new one in its place.

# Pumps

Pump seventeen and its tokens are serviced every ninety days by the operations team.
"""
QUESTION = "When do access tokens and refresh tokens expire?"
FIRST, LAST = TEXT.index("# Tokens"), TEXT.index("place.") + len("place.")


async def base(folder: Path, *, name: str = "kb", kind: type[KnowledgeBaseSource] = KnowledgeBaseSource) -> Any:
    path = folder / f"{name}.sqlite"
    await fill(path, [Document("guide.md", TEXT, MARKDOWN)], chunker=HeadingChunker(100, 10))
    return kind(path, name=name)


def settings(style: str = "structured", **retrieval: Any):
    return load_settings(
        {"intent": {"mode": "static"}, "retrieval": {"score_threshold": 0, **retrieval}, "synthesis": {"style": style}}
    )


async def test_neighbours_join_to_the_stretch_of_the_original_and_other_sections_stay_apart(tmp_path):
    source = await base(tmp_path)
    context = await retrieve_context(retrieval_graph(settings(), sources=[source]), QUESTION)
    joined, other = context.evidence
    assert joined["text"] == TEXT[FIRST:LAST]
    assert joined["text"] == TEXT[joined["metadata"]["start"] : joined["metadata"]["end"]]
    assert joined["metadata"]["section"] == "Tokens"
    assert joined["metadata"]["joined"] == ["guide.md#0", "guide.md#1"]
    assert other["metadata"]["section"] == "Pumps"
    assert [row["label"] for row in context.evidence] == [1, 2]
    record = context.provenance
    assert record["strategies"]["merge_adjacent"] == {"joined": 1}
    # What the source gave stays in the record piece by piece.
    assert {row["source_id"] for row in record["results_by_source"]["kb"]} == {f"guide.md#{n}" for n in range(3)}
    assert (record["total_results"], record["deduplicated_to"]) == (3, 2)
    await source.close()


async def test_switched_off_the_work_is_not_in_the_graph_and_chunks_stay_apart(tmp_path):
    source = await base(tmp_path)
    graph = retrieval_graph(settings(merge_adjacent=False), sources=[source])
    assert "join_neighbours" not in works_of(graph)
    assert len((await retrieve_context(graph, QUESTION)).evidence) == 3
    await source.close()


@pytest.mark.covers("T5")
def test_a_source_that_cannot_tell_what_stands_between_its_results_adds_no_work():
    assert works_of(turn_graph(settings(), sources=[RankedSource([])])) == set()


async def test_citations_of_a_joined_piece_are_exact(tmp_path):
    source = await base(tmp_path)
    output = await ask(turn_graph(settings(), sources=[source]), QUESTION)
    quoted = [citation for citation in output["citations"] if citation["start"] is not None]
    for citation in quoted:
        assert citation["quote"] == TEXT[citation["start"] : citation["end"]]
    await source.close()


class Broken(KnowledgeBaseSource):
    async def texts_between(self, pairs):
        raise OSError("the file is gone")


class Slow(KnowledgeBaseSource):
    async def texts_between(self, pairs):
        await asyncio.sleep(30)
        return []


@pytest.mark.parametrize("kind", [Broken, Slow])
async def test_a_source_that_fails_to_tell_or_is_late_leaves_its_chunks_apart(tmp_path, kind):
    source = await base(tmp_path, kind=kind)
    more = {"retrieval": {"score_threshold": 0}, "deadlines": {"source": 1}}
    context = await retrieve_context(build(graph=retrieval_graph, sources=[source], **more), QUESTION)
    assert len(context.evidence) == 3
    assert context.outcome == "answered"
    assert list(context.provenance["strategies"]["merge_adjacent"]["failed"]) == ["kb"]
    await source.close()


async def test_a_joined_piece_survives_an_interrupted_turn_with_and_without_a_store(tmp_path):
    source = await base(tmp_path)
    for store in (InMemoryStore(), None):
        graph = turn_graph(settings(), sources=[source], checkpointer=InMemorySaver(), store=store)
        await graph.ainvoke(asking(QUESTION), thread(), interrupt_after=["process_results"])
        # What is held in memory is not what a process that starts anew would have.
        graph.resources.evidence._recent.clear()
        output = await graph.ainvoke(None, thread())
        assert output["provenance"]["results"][0]["text"] == TEXT[FIRST:LAST]
    await source.close()


@pytest.mark.covers("P10")
async def test_a_joined_piece_is_remembered_by_its_chunks(tmp_path):
    source = await base(tmp_path)
    more = {"retrieval": {"score_threshold": 0}, "result_processing": {"rotation": "shown"}}
    graph = build(base=QUOTING, memory=True, sources=[source], **more)
    first = await ask(graph, QUESTION, "t")
    [keys] = first["metadata"]["recently_used_keys"]
    assert len(keys) == 3
    await source.close()


async def test_two_bases_with_one_document_are_not_mixed(tmp_path):
    one, other = await base(tmp_path, name="one"), await base(tmp_path, name="other")
    context = await retrieve_context(retrieval_graph(settings(), sources=[one, other]), QUESTION)
    assert [(row["source_name"], row["metadata"]["section"]) for row in context.evidence] == [
        ("one", "Tokens"), ("other", "Tokens"), ("one", "Pumps"), ("other", "Pumps"),
    ]  # fmt: skip
    for source in (one, other):
        await source.close()
