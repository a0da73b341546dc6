"""InMemorySource: the contract (R1), filters (R2), limits (R10), Russian and English words."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from asking import ask, ask_ids

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource, SourceOptions, source_types
from groundgraph.sources.in_memory import InMemorySource

RECORDS = [
    {
        "id": "a",
        "content": "Refund policy: 30 days.",
        "topic": "returns",
        "year": 2024,
        "tags": ["money", "time"],
    },
    {"id": "b", "content": "A refund is paid within a week.", "topic": "payment", "year": 2025, "open": True},
    {
        "id": "c",
        "content": "Refund of shipping costs, policy and exceptions.",
        "topic": "returns",
        "year": 2026,
    },
    {"id": "d", "content": "Shipping is free.", "topic": "shipping", "day": date(2026, 3, 1)},
]
SCHEMA = SourceSchema(
    "shop",
    {
        "topic": {"type": "string"},
        "year": {"type": "integer"},
        "tags": {"type": "array"},
        "day": {"type": "date"},
    },
)


@pytest.fixture
def shop():
    return InMemorySource(RECORDS, name="shop", schema=SCHEMA)


@pytest.mark.covers("R1")
async def test_results_carry_everything_of_the_contract(shop):
    (result, *_) = await ask(shop, "refund policy days", top_k=1)
    assert (result.content, result.source_id) == ("Refund policy: 30 days.", "a")
    assert (result.source_name, result.source_type) == ("shop", "memory")
    assert result.metadata == {"topic": "returns", "year": 2024, "tags": ["money", "time"]}
    assert result.relevance == pytest.approx(1.0)
    assert result.score > 0


@pytest.mark.covers("R1")
async def test_defaults_of_the_contract():
    class Mine(GroundedSource):
        name = "mine"
        source_type = "custom"

        async def query(self, intent, *, top_k=5, score_threshold=0.0):
            return []

    assert Mine().get_schema() is None
    assert await Mine().metadata_fields() == set()
    assert await Mine().close() is None
    assert RetrievalIntent(["x"]).scope == "focused"
    assert SourceResult("text", "1", "mine", "custom").relevance == 1.0


@pytest.mark.covers("R10")
async def test_score_threshold_drops_what_covers_too_little(shop):
    both = await ask(shop, "refund days", score_threshold=0.0)
    assert both[0].source_id == "a"
    assert len(both) == 3
    kept = await ask(shop, "refund days", score_threshold=0.6)
    assert [result.source_id for result in kept] == ["a"]


@pytest.mark.covers("R2")
async def test_filters_of_another_source_do_not_apply(shop):
    intent = RetrievalIntent(["refund"], {"another": {"topic": "none"}})
    assert len(await shop.query(intent)) == 3


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Политика возврата товаров", "возвраты товара"),
        ("Ёлки и игрушки", "елка"),
        ("елка во дворе", "ЁЛКИ"),
        ("Возвращённые деньги", "возвращенные деньги"),
        ("The policies of the company", "policy"),
        ("Café opening hours", "cafe"),
    ],
)
async def test_russian_and_english_words_meet_by_stem_and_folding(text, query):
    source = InMemorySource([text, "нечто другое", "something else"])
    results = await ask(source, query)
    assert [(result.content, result.relevance) for result in results] == [(text, pytest.approx(1.0))]


async def test_title_and_section_are_searched_but_not_content():
    source = InMemorySource(
        [{"content": "Thirty days.", "title": "Refunds"}, {"text": "Ten.", "section": "Fees > Late"}]
    )
    assert await ask_ids(source, "refund") == ["0"]
    (result,) = await ask(source, "late fees")
    assert result.content == "Ten."


async def test_what_two_queries_find_comes_once_with_its_best_relevance(shop):
    results = await ask(shop, "refund unicorn", "refund")
    assert len({result.source_id for result in results}) == len(results) == 3
    assert all(result.relevance == pytest.approx(1.0) for result in results)


async def test_finished_results_are_kept_and_metadata_names_are_told():
    made = SourceResult("refund", "x", "memory", "memory", metadata={"k": 1})
    source = InMemorySource([made, {"content": "refund", "metadata": {"nested": True}, "flat": 2}])
    assert await source.metadata_fields() == {"k", "nested", "flat"}
    assert await ask_ids(source, "refund") == ["x", "1"]


async def test_no_records_no_results():
    assert await ask_ids(InMemorySource(), "refund") == []
    assert await ask_ids(InMemorySource(["refund"])) == []


def test_a_record_without_text_is_refused_by_its_place():
    with pytest.raises(ConfigurationError, match=r"shop\.records\[1\].*content"):
        InMemorySource(["ok", {"title": "no text"}], name="shop")


@pytest.mark.covers("R11")
async def test_type_memory_is_built_from_options():
    options = {
        "records": [{"content": "refund", "year": 2024}, {"content": "refund", "year": 2025}],
        "schema": {"fields": {"year": {"type": "integer"}}, "required_fields": ["year"]},
        "description": "What the shop says.",
    }
    source = source_types.get("memory")(SourceOptions("shop", options, Path(), "sources[0]"))
    schema = source.get_schema()
    assert (schema.source_name, schema.required_fields, schema.description) == (
        "shop",
        ["year"],
        "What the shop says.",
    )
    assert await ask_ids(source, "refund", year=2025) == ["1"]
    with pytest.raises(ConfigurationError, match=r"sources\[0\]\.recods"):
        source_types.get("memory")(SourceOptions("shop", {"recods": []}, Path(), "sources[0]"))
