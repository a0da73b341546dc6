"""The stages of a cascade and the order of what they find (C1)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundgraph.core.embedder import Embedder
from groundgraph.settings.search import CASCADE_STAGES as STAGES
from groundgraph.settings.search import RetrieverSettings
from groundgraph.sources.cascade import CascadeSource, SearchResult
from groundgraph.sources.cascade.order import by_priority
from groundgraph.testing import NgramEmbeddings
from groundgraph.text.lemmatizer import DictionaryLemmatizer, Lemmatizer, SnowballLemmatizer

pytestmark = pytest.mark.covers("C1")

LEMMATIZERS = [SnowballLemmatizer(), DictionaryLemmatizer()]


def source(path: Path, *, lemmatizer: Lemmatizer | None = None, embed: bool = False, **options: Any) -> CascadeSource:
    return CascadeSource(
        path,
        settings=RetrieverSettings.model_validate({"use_embeddings": embed, **options}),
        lemmatizer=lemmatizer,
        embedder=Embedder(NgramEmbeddings(), "ngrams") if embed else None,
        vectors=path / "vectors.sqlite" if path.is_dir() else path.with_suffix(".sqlite"),
    )


async def found(path: Path, question: str, categories: Any = (), **options: Any) -> list[SearchResult]:
    results, _ = await source(path, **options).run(question, categories)
    return results


def keys(results: list[SearchResult]) -> list[str]:
    return [result.key for result in results]


@pytest.mark.parametrize("lemmatizer", LEMMATIZERS, ids=["snowball", "dictionary"])
@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("ставки", "ставка"),
        ("СТАВКУ", "ставка"),
        ("елка", "ёлка"),
        ("ёлки", "ёлка"),
        ("ёлка", "ёлка"),
        ("rates", "monthly_rate"),
        ("the rate", "monthly_rate"),
        ("cash desks", "monthly_rate"),
        # Latin letters in a Cyrillic word: c, a, k, e.
        ("cтaвки", "ставка"),
        ("eлка", "ёлка"),
        ("ёлkа", "ёлка"),
        # Quotes, dashes, soft hyphens, no-break spaces, ligatures, full width.
        ("«ставки» — какие?", "ставка"),
        ("„rates“", "monthly_rate"),
        ("став\u00adки", "ставка"),
        ("сколько\u00a0ставки", "ставка"),
        ("ｒａｔｅｓ", "monthly_rate"),
        ("for new\u2011year of\ufb01ce rates", "monthly_rate"),
        ("е\u0308лка", "ёлка"),
    ],
)
async def test_a_word_is_found_in_every_form_and_spelling(shop, lemmatizer, question, key):
    results = await found(shop, question, lemmatizer=lemmatizer)
    assert keys(results)[0] == key


async def test_what_is_written_oddly_in_a_file_is_found_by_a_plain_word(write):
    # Cyrillic о in "office", Latin c in "ставка", a code with a Cyrillic letter.
    text = "sections: {a: {facts: 'The оffice opens'}, b: {facts: Наша cтавка}, c: {facts: 'Работает с 1\u0421'}}"
    folder = write(faq=text)
    assert [keys(await found(folder, question)) for question in ("office", "ставка", "1C")] == [["a"], ["b"], ["c"]]


async def test_each_result_tells_stage_raw_score_relevance_and_rank(shop):
    results = await found(shop, "How much is the monthly rate per cash desk?")
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    first = results[0]
    assert (first.key, first.stage, first.score) == ("monthly_rate", "exact", 2.0)
    assert first.scores == {"exact": 2.0, "lemma": pytest.approx(1.0)}
    assert first.relevance == pytest.approx(1.0)


async def test_the_exact_stage_takes_keywords_word_for_word_and_in_order(write):
    folder = write(a="sections: {a: {facts: x, keywords: [cash desk, rate]}}")
    for question, score in {"A Cash-Desk, at what rate": 2, "my cash desk": 1, "desk cash": 0, "cash desks": 0}.items():
        results = await found(folder, question, stages=["exact"])
        assert [result.score for result in results] == [score] * (score > 0), question


async def test_a_title_counts_as_a_keyword(shop):
    [result] = await found(shop, "monthly rates", stages=["exact"])
    assert (result.key, result.score) == ("monthly_rate", 1.0)


async def test_the_threshold_of_the_exact_stage_is_a_number_of_keywords(shop):
    question = "how much is the rate"
    assert keys(await found(shop, question, stages=["exact"], thresholds={"exact": 2})) == ["monthly_rate"]
    assert keys(await found(shop, question, stages=["exact"], thresholds={"exact": 2.5})) == []


async def test_the_threshold_of_the_lemma_stage_counts_at_its_boundary(write):
    # Four words that no section holds alike often: each weighs a quarter of the question.
    folder = write(a="sections: {a: {facts: alpha}, b: {facts: beta}, c: {facts: gamma}, d: {facts: delta}}")
    question = "alpha beta gamma delta"
    [result, *_] = await found(folder, question)
    assert result.score == pytest.approx(0.25)
    at = {"thresholds": {"lemma": result.score}}
    above = {"thresholds": {"lemma": result.score + 1e-9}}
    assert len(await found(folder, question, **at)) == 4
    assert await found(folder, question, **above) == []


async def test_one_word_in_five_reaches_a_threshold_of_a_fifth(write):
    folder = write(a="sections: {a: {facts: alpha}}")
    [result] = await found(folder, "alpha beta gamma delta omega", thresholds={"lemma": 0.2})
    assert (result.score, result.relevance) == (0.2, 0.2)


@pytest.mark.parametrize(
    ("question", "relevance"),
    [
        ("Tariffs", 1.0),
        # The keyword is the only word of the question that the knowledge holds.
        ("Remind dear, tariffs", (1 / 3) ** 0.5),
        # It is one of two, and those are two of four: a greeting is no word of the question.
        ("Hello, remind dear, tariffs and printers", (1 / 4 * 1 / 2) ** 0.5),
        ("tariffs printers", 0.5),
    ],
)
async def test_a_keyword_is_relevant_by_what_it_covers_of_the_words_that_the_knowledge_holds(
    write, question, relevance
):
    folder = write(a="sections: {a: {facts: x, keywords: [tariffs]}, b: {facts: Printers}}")
    [result] = [result for result in await found(folder, question) if result.key == "a"]
    assert result.relevance == pytest.approx(relevance)


@pytest.mark.parametrize("others", [63, 64, 65, 500])
async def test_a_stray_keyword_in_a_page_about_something_else_is_hardly_relevant(write, others):
    folder = write(a="sections: {a: {facts: x, keywords: [tariff]}}")
    page = " ".join(f"strange{number}word" for number in range(others))
    [result] = await found(folder, f"{page} tariff", thresholds={"lemma": 0.0})
    assert result.scores["lemma"] == pytest.approx(1 / (others + 1))
    assert result.relevance == pytest.approx((others + 1) ** -0.5)


@pytest.mark.covers("fault 2")
async def test_many_keywords_that_begin_alike_cost_a_long_question_nothing(write):
    keywords = ", ".join(f"how much for {number}" for number in range(3_000))
    folder = write(a=f"sections: {{a: {{facts: x, keywords: [{keywords}]}}}}")
    asked = source(folder, stages=["exact"])
    await asked.run("x")
    started = time.process_time()
    results, _ = await asked.run("how much " * 20_000 + "how much for 7")
    assert results[0].score == 1.0
    # Each keyword at each place took a minute.
    assert time.process_time() - started < 10


async def test_the_threshold_of_the_semantic_stage_counts_at_its_boundary(shop):
    options: dict[str, Any] = {"embed": True, "stages": ["semantic"]}
    [result, *_] = await found(shop, "support answers", **options, thresholds={"semantic": -1})
    assert (result.key, result.stage) == ("support", "semantic")
    at = await found(shop, "support answers", **options, thresholds={"semantic": result.score})
    assert keys(at) == ["support"]
    assert not await found(shop, "support answers", **options, thresholds={"semantic": min(1, result.score + 1e-6)})


def test_the_thresholds_of_the_document_are_the_defaults():
    assert RetrieverSettings().thresholds.model_dump() == {"exact": 1.0, "lemma": 0.15, "semantic": 0.5}
    assert RetrieverSettings().stages == ["exact", "lemma", "semantic"]
    assert RetrieverSettings().default_top_k == 2


STRAY = """\
sections:
  greeting: {facts: We are glad that you wrote., keywords: [hi, да, a]}
  refund: {facts: A refund of the purchase is paid within five working days.}
  refund_ru: {facts: Возврат денег за покупку занимает пять рабочих дней.}
"""


@pytest.mark.parametrize(
    ("question", "key"),
    [("hi, when is the refund paid", "refund"), ("Да, сколько занимает возврат денег?", "refund_ru")],
)
async def test_a_stray_short_keyword_neither_silences_nor_beats_the_later_stages(write, question, key):
    folder = write(faq=STRAY)
    results, report = await source(folder).run(question)
    assert report.stages[0].hits == 1, "the keyword does stand in the question"
    assert report.stages[1].ran
    assert keys(results)[0] == key
    assert results[0].relevance > results[-1].relevance


async def test_the_first_stage_with_a_hit_ends_the_search_when_that_is_asked_for(write):
    folder = write(faq=STRAY)
    results, report = await source(folder, stop_at_first_hit=True).run("hi, when is the refund paid")
    assert keys(results) == ["greeting"]
    assert [stage.ran for stage in report.stages] == [True, False, False]
    assert report.stages[1].reason == "the stage 'exact' had a hit"
    results, report = await source(folder, stop_at_first_hit=True).run("when is the refund paid")
    assert keys(results) == ["refund"]
    assert [stage.ran for stage in report.stages] == [True, True, False]


async def test_ordered_by_stage_every_hit_of_a_stage_stands_before_those_of_the_next(write):
    folder = write(faq=STRAY)
    question = "hi, when is the refund paid"
    assert keys(await found(folder, question, ordering="stage")) == ["greeting", "refund"]
    reverse = await found(folder, question, ordering="stage", stages=["lemma", "exact"])
    assert [(one.key, one.stage) for one in reverse] == [("refund", "lemma"), ("greeting", "lemma")]


async def test_a_dictionary_knows_irregular_forms(shop):
    for question, key in {"ставок": "ставка", "the rate that was paid": "monthly_rate"}.items():
        assert keys(await found(shop, question, lemmatizer=DictionaryLemmatizer()))[0] == key


async def test_categories_limit_every_stage_and_what_the_report_counts(shop):
    everywhere, all_of_it = await source(shop, embed=True, thresholds={"semantic": -1}).run("rate")
    results, report = await source(shop, embed=True, thresholds={"semantic": -1}).run("rate", ["FAQ"])
    assert {result.category for result in everywhere} == {"faq", "pricing"}
    assert {result.category for result in results} == {"faq"}
    assert (all_of_it.sections, report.sections) == (5, 4)
    assert (all_of_it.categories, report.categories) == (["faq", "pricing"], ["faq"])
    assert [stage.candidates for stage in all_of_it.stages] == [1, 1, 5]
    assert [stage.candidates for stage in report.stages] == [0, 0, 4]
    assert [stage.hits for stage in report.stages] == [0, 0, 4]


async def test_one_category_may_be_named_without_a_list(shop):
    assert {result.category for result in await found(shop, "the rate, and how support answers", "faq")} == {"faq"}


async def test_the_relevance_of_a_section_does_not_depend_on_what_is_searched_beside_it(write):
    common = "sections: {" + ", ".join(f"s{n}: {{facts: plan number {n}}}" for n in range(40)) + "}"
    folder = write(a=common, b="sections: {x: {facts: plan zebra}, y: {facts: other}, z: {facts: third}}")
    [in_b] = [one for one in await found(folder, "plan zeppelin", ["b"], thresholds={"lemma": 0}) if one.key == "x"]
    [in_all] = [one for one in await found(folder, "plan zeppelin", thresholds={"lemma": 0}) if one.key == "x"]
    assert in_b.scores == in_all.scores
    assert in_b.relevance == in_all.relevance


async def test_of_sections_that_fit_equally_well_the_higher_priority_comes_first(write):
    facts = "facts: The office is open on weekdays"
    folder = write(
        a=f"sections: {{low: {{{facts}}}, high: {{{facts}, priority: 3}}, middle: {{{facts}, priority: 1}}}}"
    )
    assert keys(await found(folder, "When is the office open?")) == ["high", "middle", "low"]


async def test_the_number_by_which_results_are_ordered_never_grows(write):
    # The longer section scores a little less, and its priority puts it first.
    words = " ".join(f"word{number}" for number in range(200))
    text = f"sections: {{short: {{facts: The office {words}}}, long: {{facts: The office {words} end, priority: 1}}}}"
    results = await found(write(a=text), "office")
    assert keys(results) == ["long", "short"]
    assert results[0].order >= results[1].order > 0.9


async def test_a_priority_does_not_lift_what_fits_worse(write):
    text = "sections: {worse: {facts: The office is painted green, priority: 99}, better: {facts: The office is open}}"
    assert keys(await found(write(a=text), "When is the office open?"))[0] == "better"


@given(
    scores=st.dictionaries(st.integers(0, 50), st.floats(0, 2), max_size=30),
    priorities=st.lists(st.integers(-3, 3), min_size=51, max_size=51),
)
def test_priorities_change_places_only_among_scores_that_are_nearly_equal(scores, priorities):
    order = list(by_priority(scores, lambda number: priorities[number]))
    assert sorted(order) == sorted(scores)
    for before, after in zip(order, order[1:], strict=False):
        assert scores[after] - scores[before] < 0.02


async def test_sensitive_sections_show_in_no_path(shop):
    asked = source(shop, embed=True, thresholds={"exact": 0, "lemma": 0, "semantic": -1})
    for question in ("margin", "our margin on a cash desk is 60 percent"):
        results, report = await asked.run(question)
        assert "margin" not in keys(results)
        assert all("60 percent" not in result.content for result in results)
        assert report.sections == 5
    assert await asked.counts() == {"documents": 2, "chunks": 5}
    assert b"60 percent" not in (shop / "vectors.sqlite").read_bytes()


@pytest.mark.parametrize("question", ["", "   ", "?!", "\u200d", "x" * 5000, "rate " * 3000, "'; DROP TABLE x; --"])
async def test_any_question_is_answered(shop, question):
    results, report = await source(shop, embed=True).run(question)
    assert report.sections == 5
    assert bool(results) == ("rate" in question)


WORDS = ["rate", "rates", "desk", "ставка", "ставки", "plan", "the", "я", "office", "free"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
SECTIONS = st.lists(
    st.fixed_dictionaries(
        {"facts": st.lists(TEXTS, min_size=1, max_size=3), "keywords": st.lists(TEXTS, max_size=3)},
        optional={"title": TEXTS, "priority": st.integers(-5, 5), "sensitive": st.booleans()},
    ),
    min_size=1,
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(
    sections=SECTIONS,
    question=TEXTS,
    stages=st.permutations(STAGES).flatmap(lambda all_: st.integers(1, 3).map(lambda n: list(all_)[:n])),
    ordering=st.sampled_from(["fused", "stage"]),
    stop=st.booleans(),
)
def test_whatever_the_configuration_results_are_hits_in_order(
    tmp_path_factory, sections, question, stages, ordering, stop
):
    import yaml

    path = tmp_path_factory.getbasetemp() / "property.yaml"
    path.write_text(yaml.safe_dump({"sections": {f"s{n}": one for n, one in enumerate(sections)}}), "utf-8")
    asked = source(path, embed=True, stages=stages, ordering=ordering, stop_at_first_hit=stop)
    results, report = asyncio.run(asked.run(question))
    thresholds = {stage.stage: stage.threshold for stage in report.stages}
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    assert len(set(keys(results))) == len(results)
    assert all(one.order >= other.order for one, other in zip(results, results[1:], strict=False))
    for result in results:
        assert 0 <= result.relevance <= 1
        assert result.score == result.scores[result.stage] >= thresholds[result.stage]
        assert not sections[int(result.key[1:])].get("sensitive")
        earlier = stages[: stages.index(result.stage)]
        assert all(result.scores.get(stage, -2.0) < thresholds[stage] for stage in earlier)
    places = [stages.index(result.stage) for result in results]
    assert ordering == "fused" or places == sorted(places)
    assert not stop or len(set(places)) <= 1
    for stage in report.stages:
        assert stage.hits <= stage.candidates
        assert stage.ran == (not stage.reason)
