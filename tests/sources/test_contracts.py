"""Everything that ships keeps its contract: each kit of `groundgraph.testing` over all that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import ask, ids
from contract_subjects import EVERYTHING, LIVE_SOURCES, LIVE_TOPICS, SOURCES, TOPICS
from postgres_fixture import postgres  # noqa: F401 - a fixture
from weaviate_bases import place_on, weaviate_section

from groundgraph import KnowledgeBase, load_settings
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.knowledge_store import KnowledgeStore
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.sources.weaviate_base import BasePlace, WeaviateBaseSource, WeaviateStore
from groundgraph.testing import (
    NgramEmbeddings,
    check_base,
    check_filters,
    check_source,
    check_store,
    check_topics,
)


def of_all(here: Any, live: Any) -> list[Any]:
    """The names of what runs here, and of what needs a server."""
    return [*here, *(pytest.param(name, marks=pytest.mark.live) for name in live)]


@pytest.fixture
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GroundedSource]:
    kinds, name = request.param
    source = await kinds[name](request, tmp_path)
    yield source
    await source.close()


def subjects(here: dict[str, Any], live: dict[str, Any]) -> Any:
    given = [pytest.param((here, name), id=name) for name in here]
    given += [pytest.param((live, name), id=name, marks=pytest.mark.live) for name in live]
    return pytest.mark.parametrize("subject", given, indirect=True)


@pytest.mark.covers("R1", "R2", "R10")
@subjects(SOURCES, LIVE_SOURCES)
async def test_a_source_keeps_the_contract_and_filters_as_all_others_do(subject):
    (await check_filters(subject, query=EVERYTHING, examples=8)).raise_for_failures()
    report = await check_source(subject, query=EVERYTHING)
    report.raise_for_failures()
    assert not any(check.detail for check in report.checks), "every check applies"


# A source in memory leaves both to the graph that asks it.
STORED = {name: make for name, make in SOURCES.items() if name != "memory"}


@pytest.mark.covers("R2", "I10")
@subjects(STORED, LIVE_SOURCES)
async def test_a_filter_on_no_declared_field_is_refused_with_the_nearest_one(subject):
    with pytest.raises(FilterInvalid, match="Did you mean 'whole'"):
        await ask(subject, EVERYTHING, whol=1)


@pytest.mark.covers("R3", "R4", "R5")
@subjects(STORED, LIVE_SOURCES)
async def test_several_questions_take_turns_and_what_two_find_comes_once_with_its_best_relevance(subject):
    one, other = [await ask(subject, question, top_k=9) for question in ("hall 3", "hall 5")]
    both = await ask(subject, "hall 3", "hall 5", top_k=9)
    assert ids(both)[:2] == [ids(one)[0], ids(other)[0]]
    best = Counter({result.source_id: result.relevance for result in one}) | Counter(
        {result.source_id: result.relevance for result in other}
    )
    assert [(result.source_id, result.relevance) for result in both] == [
        (name, best[name]) for name in dict.fromkeys(ids(both))
    ]


@pytest.mark.covers("X1", "X2", "fault 60")
@subjects(TOPICS, LIVE_TOPICS)
async def test_a_topic_store_keeps_the_contract(subject):
    store = subject.topic_store()
    report = await check_topics(store, question="linux safety", filters={"audience": "staff"})
    report.raise_for_failures()
    assert store.embeds != any("does not apply" in check.detail for check in report.checks)


def embedded(_request: pytest.FixtureRequest, folder: Path) -> Callable[[], KnowledgeStore]:
    return lambda: EmbeddedStore(folder / "kb.sqlite")


def in_weaviate(tenant_from: str) -> Any:
    def made(request: pytest.FixtureRequest, _folder: Path) -> Callable[[], KnowledgeStore]:
        place = replace(place_on(request.getfixturevalue("weaviate_server")), tenant_from=tenant_from)
        return lambda: WeaviateStore(place)

    return made


STORES = {"embedded": embedded, "Weaviate": in_weaviate(""), "Weaviate with tenants": in_weaviate("user")}


@pytest.mark.covers("K1", "K12", "fault 40", "fault 53", "fault 54")
@pytest.mark.parametrize("kind", of_all(["embedded"], ["Weaviate", "Weaviate with tenants"]))
async def test_a_knowledge_store_keeps_the_contract(kind, request, tmp_path):
    report = await check_store(STORES[kind](request, tmp_path))
    report.raise_for_failures()


@pytest.mark.covers("K1", "R5")
@pytest.mark.parametrize("embed", [False, True], ids=["words", "vectors"])
@pytest.mark.parametrize("kind", of_all(["embedded"], ["Weaviate"]))
async def test_a_knowledge_base_gives_back_what_it_was_given(kind, embed, request, tmp_path):
    model = NgramEmbeddings() if embed else None
    embedder = Embedder(model, "NgramEmbeddings") if model else None
    if kind == "embedded":
        section: dict[str, Any] = {"file": str(tmp_path / "kb.sqlite")}
        source: GroundedSource = KnowledgeBaseSource(tmp_path / "kb.sqlite", embedder=embedder)
    else:
        section = weaviate_section(request.getfixturevalue("weaviate_server"))
        place = BasePlace.of(load_settings({"knowledge_base": section}).knowledge_base.weaviate)
        source = WeaviateBaseSource(place, embedder=embedder)
    settings = load_settings({"knowledge_base": section})
    base = KnowledgeBase.open(settings, **({"embeddings": model} if model else {}))
    (await check_base(base, source)).raise_for_failures()
    await source.close()
