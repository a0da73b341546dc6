"""The cascade as a source: the contract, categories and filters (C1, R1, R2, R12, R13)."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from asking import ask, ids

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import FilterInvalid, KnowledgeFileInvalid, SourceUnavailable
from groundgraph.core.failure import collect_degradations
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.cascade import CascadeSource
from groundgraph.sources.conformance import check_source
from groundgraph.testing import NgramEmbeddings, check_filters
from groundgraph.text.lemmatizer import SnowballLemmatizer


@pytest.fixture
def asked(shop) -> CascadeSource:
    return CascadeSource(shop, name="shop")


@pytest.mark.covers("R1", "R2")
@pytest.mark.parametrize("embed", [False, True])
async def test_the_source_keeps_the_contract(shop, embed):
    embedder = Embedder(NgramEmbeddings(), "ngrams") if embed else None
    source = CascadeSource(shop, name="shop", embedder=embedder, vectors=shop / "vectors.sqlite")
    (await check_filters(source, query="the rate, and how support answers")).raise_for_failures()
    report = await check_source(source, query="the rate, and how support answers")
    report.raise_for_failures()
    assert all(not check.detail for check in report.checks), "every check applies"


@pytest.mark.covers("R1")
async def test_a_result_is_a_section(asked):
    [result] = await ask(asked, "rates")
    assert result.content == "The monthly rate is 990 roubles per cash desk.\nPaid for a year, it is 790 roubles."
    assert (result.source_id, result.source_name, result.source_type) == ("pricing/monthly_rate", "shop", "cascade")
    assert result.metadata == {
        "category": "pricing",
        "key": "monthly_rate",
        "priority": 5,
        "facts": ["The monthly rate is 990 roubles per cash desk.", "Paid for a year, it is 790 roubles."],
        "keywords": ["rate", "price", "how much"],
        "title": "Monthly rates",
        "section": "Pricing > Monthly rates",
        "url": "https://example.org/prices",
        "urls": [
            {"title": "Price list", "url": "https://example.org/prices"},
            {"title": "", "url": "https://example.org/plans"},
        ],
    }
    assert set(result.metadata) <= await asked.metadata_fields()


@pytest.mark.covers("R1")
async def test_a_section_is_the_same_evidence_whichever_stage_found_it(asked):
    [by_keyword] = await ask(asked, "rate")
    [by_word] = await ask(asked, "rates")
    assert by_keyword.scores.keys() != by_word.scores.keys()
    assert by_keyword.metadata == by_word.metadata


@pytest.mark.covers("R2")
async def test_the_schema_is_typed_and_a_filter_on_anything_else_is_refused(asked):
    schema = asked.get_schema()
    assert {name: spec["type"] for name, spec in schema.fields.items()} == {
        "category": "string",
        "key": "string",
        "priority": "integer",
    }
    for filters in ({"title": "x"}, {"priority": "high"}, {"category": {"like": "x"}}):
        with pytest.raises(FilterInvalid):
            await asked.query(RetrievalIntent(["rate"], {"shop": filters}))


@pytest.mark.covers("fault 60")
@pytest.mark.parametrize("categories", [["pricing"], ["pricing", "faq"], ["nothing"], []])
async def test_categories_of_the_intent_never_widen_a_filter(asked, categories):
    intent = RetrievalIntent(["the rate, and how support answers"], {"shop": {"category": "faq"}}, "focused", None)
    intent.categories.extend(categories)
    assert set(ids(await asked.query(intent))) <= {"faq/support"}
    browse = RetrievalIntent([], {"shop": {"category": "faq"}}, categories=categories)
    assert all(found.startswith("faq/") for found in ids(await asked.query(browse, top_k=50)))


@pytest.mark.covers("C1")
@pytest.mark.parametrize(
    ("categories", "found", "told"),
    [
        ([], ["faq/support", "pricing/monthly_rate"], None),
        (["pricing"], ["pricing/monthly_rate"], None),
        ([" PRICING "], ["pricing/monthly_rate"], None),
        (["pricing", "nonsense"], ["pricing/monthly_rate"], "'nonsense', the others were searched"),
        (["nonsense"], ["faq/support", "pricing/monthly_rate"], "'nonsense', so all were searched"),
        ([""], ["faq/support", "pricing/monthly_rate"], None),
    ],
)
async def test_unknown_categories_are_told_and_never_leave_nothing(asked, categories, found, told):
    with collect_degradations() as notes:
        results = await asked.query(RetrievalIntent(["the rate, and how support answers"], categories=categories))
    assert ids(results) == found
    assert [note["part"] for note in notes] == (["categories"] if told else [])
    assert told is None or told in notes[0]["reason"]


@pytest.mark.covers("C7")
async def test_without_a_question_the_sections_of_the_categories_come_by_priority(asked):
    found = await asked.query(RetrievalIntent([], categories=["faq"]), top_k=3)
    assert ids(found) == ["faq/support", "faq/trial", "faq/ставка"]
    assert {result.relevance for result in found} == {1.0}
    both = await asked.query(RetrievalIntent([], categories=["pricing", "faq"]), top_k=50)
    assert ids(both)[:2] == ["pricing/monthly_rate", "faq/support"]
    assert len(both) == 5, "and no sensitive one"


@pytest.mark.covers("C7")
async def test_without_a_question_unknown_categories_and_none_give_nothing(asked):
    assert await asked.query(RetrievalIntent([])) == []
    with collect_degradations() as notes:
        assert await asked.query(RetrievalIntent([], categories=["nonsense"])) == []
    assert "nonsense" in notes[0]["reason"]


@pytest.mark.covers("C3")
async def test_categories_are_told_with_what_they_are_about(asked):
    assert await asked.categories() == {"faq": "", "pricing": "What the plans cost."}


@pytest.mark.covers("R10")
async def test_top_k_and_threshold_cut_and_several_queries_take_turns(asked):
    question = "the rate, and how support answers"
    one = await ask(asked, question, top_k=1)
    assert ids(one) == ["faq/support"]
    assert await ask(asked, question, top_k=0) == []
    relevances = [result.relevance for result in await ask(asked, question)]
    assert len(await ask(asked, question, score_threshold=relevances[0])) == 1
    two = await ask(asked, "support", "rates", top_k=1)
    assert ids(two) == ["faq/support", "pricing/monthly_rate"]


@pytest.mark.covers("C1")
async def test_a_file_broken_by_an_edit_is_told_and_the_last_good_version_answers(asked, shop):
    await ask(asked, "rates")
    (shop / "faq.yaml").write_text("sections: [")
    os.utime(shop / "faq.yaml", ns=(1, 1))
    with collect_degradations() as notes:
        assert ids(await ask(asked, "support")) == ["faq/support"]
    assert [note["part"] for note in notes] == ["files"]
    assert notes[0]["reason"] == "faq.yaml, line 2, is wrong"


@pytest.mark.covers("C1")
async def test_files_that_are_missing_or_were_never_right_are_typed_errors(tmp_path, write):
    with pytest.raises(SourceUnavailable):
        await CascadeSource(tmp_path / "nowhere").query(RetrievalIntent(["rates"]))
    broken = CascadeSource(write(a="sections: 1"))
    with pytest.raises(KnowledgeFileInvalid):
        await broken.run("rates")
    with pytest.raises(SourceUnavailable) as caught:
        await ask(broken, "rates")
    assert str(caught.value) == "The knowledge cannot be read: a.yaml, line 1, is wrong.", "readers are told no more"
    assert isinstance(caught.value.__cause__, KnowledgeFileInvalid)


@pytest.mark.covers("fault 60")
async def test_categories_outside_the_filters_are_not_listed(asked):
    assert await asked.categories({"category": "faq"}) == {"faq": ""}
    assert await asked.categories({"priority": {"gte": 5}}) == {"pricing": "What the plans cost."}
    with pytest.raises(FilterInvalid):
        await asked.categories({"tenant": "a"})


@pytest.mark.covers("fault 77")
async def test_reading_and_searching_do_not_hold_up_the_event_loop(shop):
    class Slow(SnowballLemmatizer):
        """Blocks like a disk does: without giving the loop a turn."""

        def lemma(self, word: str) -> str:
            time.sleep(0.005)
            return super().lemma(word)

    lags: list[float] = []

    async def tick() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.005)
            lags.append(time.perf_counter() - started - 0.005)

    ticking = asyncio.create_task(tick())
    started = time.perf_counter()
    await CascadeSource(shop, lemmatizer=Slow()).query(RetrievalIntent(["the rate of the support"]))
    blocked = time.perf_counter() - started
    ticking.cancel()
    assert blocked > 0.15, "the work did take long"
    assert len(lags) > 5
    assert sorted(lags)[len(lags) // 2] < blocked / 4
