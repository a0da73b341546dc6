"""Whatever the input, a context is within its budget, holds whole facts, and has the best two at its ends (P8, P9)."""

from __future__ import annotations

import asyncio
import threading

import pytest
from autonomous import ask, retrieval, settings, state
from category_source import CategorySource
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from ranked_source import RankedSource

from groundgraph import SourceResult, retrieve_context
from groundgraph.answers.budget import estimated_tokens
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("P9")

QUESTION = "What is the monthly rate?"
PARTS_ONLY = ["budget", "reorder", "backfill"]
SEPARATOR = {language: Prompts().render("state_separator", language=language).strip() for language in ("en", "ru")}
TEXTS = st.lists(
    st.text(alphabet="abcк лмёя\n0.[]", min_size=1, max_size=60).map(str.strip).filter(bool), max_size=8, unique=True
)


def ranked(texts: list[str]) -> RankedSource:
    return RankedSource([(1.0 - place / 100, text) for place, text in enumerate(texts)])


async def context_of(texts: list[str], facts: list[str], budget: int | None, tokens: int | None, question: str):
    bounds = {"max_kb_tokens": tokens, **({} if budget is None else {"max_kb_chars": budget})}
    more = {"enhanced_retrieval": bounds, "retrieval": {"top_k": 50}}
    graph = retrieval(PARTS_ONLY, source=ranked(texts), model=False, **more)
    chosen = Context(dialogue_state={"name": "s", "facts": facts}) if facts else None
    return await retrieve_context(graph, question, context=chosen)


def check(found, texts: list[str], facts: list[str], budget: int | None, tokens: int | None, language: str) -> None:
    assert budget is None or len(found.context) <= budget
    assert tokens is None or estimated_tokens(found.context) <= tokens
    shown = [(row["source_name"], row["text"]) for row in found.evidence]
    evidence = [text for name, text in shown if name == "docs"]
    behind = [text for name, text in shown if name == "dialogue_state"]
    # The facts stand behind what was found, whole and in their order; so does what was found, by its ranks.
    assert [text for _, text in shown] == [*evidence, *behind]
    assert [text for text in facts if text in behind] == behind
    ranks = sorted(texts.index(text) for text in evidence)
    assert [texts.index(text) for text in evidence] == [*ranks[::2], *ranks[1::2][::-1]]
    assert (SEPARATOR[language] in found.context) == bool(behind)


@limits(max_examples=30, deadline=None)
@given(
    texts=TEXTS,
    facts=TEXTS,
    budget=st.none() | st.integers(1, 400),
    tokens=st.none() | st.integers(1, 200),
    language=st.sampled_from(["en", "ru"]),
)
def test_for_every_input_the_context_is_within_budget_whole_and_best_at_the_ends(
    texts, facts, budget, tokens, language
):
    facts = [text for text in facts if text not in texts]
    question = QUESTION if language == "en" else "Сколько стоит тариф?"
    found = asyncio.run(context_of(texts, facts, budget, tokens, question))
    check(found, texts, facts, budget, tokens, language)


async def test_the_best_two_stand_at_the_two_ends_and_the_cut_takes_the_worst():
    texts = [f"Fact number {number}." for number in range(6)]
    whole = await context_of(texts, [], None, None, QUESTION)
    assert [row["text"] for row in whole.evidence] == [texts[place] for place in (0, 2, 4, 5, 3, 1)]
    four = len("\n\n".join(f"[6] docs-{number}\n{texts[number]}" for number in range(4)))
    cut = await context_of(texts, [], four, None, QUESTION)
    # A cut behind the zigzag would have dropped the second best first.
    assert [row["text"] for row in cut.evidence] == [texts[place] for place in (0, 2, 3, 1)]
    assert len((await context_of(texts, [], four - 1, None, QUESTION)).evidence) == 3


@pytest.mark.covers("C7")
@pytest.mark.parametrize(("question", "language"), [(QUESTION, "en"), ("Сколько стоит тариф?", "ru")])
async def test_the_separator_is_counted(question, language):
    found = await context_of(["found"], ["fact"], None, None, question)
    exact = f"[1] docs-0\nfound\n\n{SEPARATOR[language]}\n\n[2] s\nfact"
    assert found.context == exact
    assert (await context_of(["found"], ["fact"], len(exact), None, question)).context == exact
    short = await context_of(["found"], ["fact"], len(exact) - 1, None, question)
    assert short.context == "[1] docs-0\nfound"
    assert short.provenance["strategies"]["backfill"] == {"state": "s", "facts": 0, "left_out": 1}


@pytest.mark.covers("C7")
async def test_a_fact_that_is_too_long_leaves_room_for_the_next():
    found = await context_of(["found"], ["f" * 500, "fact"], 200, None, QUESTION)
    assert [row["text"] for row in found.evidence] == ["found", "fact"]


async def test_of_a_section_that_is_larger_than_the_budget_whole_facts_are_shown():
    facts = ["The monthly rate is 990 roubles.", "A year costs 9480 roubles.", "The first month is free."]
    section = SourceResult("\n".join(facts), "rate", "docs", "cascade", 0.9, {"facts": facts})
    for budget, shown in ((68, 2), (67, 1), (41, 1), (40, 0)):
        graph = retrieval(PARTS_ONLY, source=RankedSource([section]), enhanced_retrieval={"max_kb_chars": budget})
        found = await retrieve_context(graph, QUESTION)
        assert [row["text"] for row in found.evidence] == (["\n".join(facts[:shown])] if shown else [])
        assert len(found.context) <= budget


async def test_forty_thousand_characters_are_twice_as_many_tokens_in_russian():
    latin, cyrillic = "a word " * 1400, "у слов " * 1400
    for text, pieces in ((latin, 4), (cyrillic, 2)):
        texts = [f"{number} {text}".strip() for number in range(5)]
        found = await context_of(texts, [], None, 10_000, QUESTION)
        assert len(found.evidence) == pieces
        assert estimated_tokens(found.context) <= 10_000
        assert found.provenance["strategies"]["budget"]["tokens_by"] == "estimate"


async def test_by_default_the_budget_is_forty_thousand_characters():
    texts = [f"{number} " + "x" * 9_980 for number in range(5)]
    found = await retrieve_context(retrieval(["budget"], source=ranked(texts)), QUESTION, context=Context(top_k=50))
    assert (len(found.evidence), len(found.context) <= 40_000) == (4, True)
    assert any("did not fit the budget" in note for note in found.provenance["notes"])


def test_of_two_budgets_the_smaller_one_holds_and_the_plain_path_keeps_its_own():
    given = settings(["budget"], result_processing={"max_kb_chars": 50_000, "max_kb_tokens": 10})
    ways = given.paths
    assert (ways["enhanced"].max_kb_chars, ways["enhanced"].max_kb_tokens) == (40_000, 10)
    assert ways["cascade"].max_kb_chars == 50_000
    smaller = settings(["budget"], result_processing={"max_kb_chars": 50})
    assert smaller.paths["enhanced"].max_kb_chars == 50
    assert settings(["reorder"]).paths["enhanced"].max_kb_chars is None


@pytest.mark.covers("C7")
async def test_facts_of_categories_share_the_budget_with_what_was_found():
    records = [("pricing", "rate", "The monthly rate is 990."), ("support", "hours", "Support answers at night.")]
    graph = retrieval(source=CategorySource(records), enhanced_retrieval={"max_kb_chars": 110, "stages": PARTS_ONLY})
    found = await ask(graph, QUESTION, dialogue_state=state(categories=["support"]))
    assert [row["source_id"] for row in found["evidence"]] == ["rate", "hours"]
    assert len(found["context"]) <= 110
    tight = retrieval(source=CategorySource(records), enhanced_retrieval={"max_kb_chars": 60, "stages": PARTS_ONLY})
    found = await ask(tight, QUESTION, dialogue_state=state(categories=["support"]))
    assert [row["source_id"] for row in found["evidence"]] == ["rate"]


@pytest.mark.parametrize("budget", [900, 1000])
async def test_facts_beside_clusters_are_counted_as_they_are_shown(budget):
    """What looks like a tag is made inert there, which makes it longer."""
    texts = [f"The monthly rate of till {number} is 990 roubles." for number in range(4)]
    processing = {"cluster_strategy": "term_overlap", "cluster_threshold": 0.3}
    graph = retrieval(
        PARTS_ONLY, source=ranked(texts), enhanced_retrieval={"max_kb_chars": budget}, result_processing=processing
    )
    facts = [f"{'<passage>' * 20}{number}" for number in range(3)]
    found = await retrieve_context(graph, QUESTION, context=Context(dialogue_state={"name": "s", "facts": facts}))
    assert "<cluster" in found.context
    assert "&lt;passage>" in found.context
    assert len(found.context) <= budget


@pytest.mark.parametrize("clustering", [{}, {"cluster_strategy": "term_overlap", "cluster_threshold": 0.3}])
async def test_a_models_counter_that_hangs_is_given_up_in_every_step_and_never_holds_the_loop(clustering, monkeypatch):
    freed, loops = threading.Event(), []

    class Hanging(ScriptedChatModel):
        def get_num_tokens(self, text: str) -> int:
            try:
                loops.append(asyncio.get_running_loop())
            except RuntimeError:
                freed.wait(200)
            return 1

    monkeypatch.setattr("groundgraph.nodes.process_results.COUNTER_LIMIT", 0.1)
    texts = [f"The monthly rate of till {number} is 990 roubles." for number in range(4)]
    bounds = {"max_kb_tokens": 5000}
    model = Hanging("It is 990 [1].")
    graph = retrieval(
        PARTS_ONLY, source=ranked(texts), model=model, enhanced_retrieval=bounds, result_processing=clustering
    )
    try:
        async with asyncio.timeout(100):
            chosen = Context(dialogue_state={"name": "s", "facts": ["The demo is free."]})
            found = await retrieve_context(graph, QUESTION, context=chosen)
    finally:
        freed.set()
    assert loops == []
    assert len(found.evidence) == 5
    assert found.provenance["strategies"]["budget"]["tokens_by"] == "estimate"


async def test_the_tags_of_clusters_are_counted_too():
    texts = [f"The monthly rate of till {number} is 990 roubles." for number in range(4)]
    processing = {"cluster_strategy": "term_overlap", "cluster_threshold": 0.3}

    async def context(budget: int) -> str:
        bounds = {"max_kb_chars": budget}
        graph = retrieval(PARTS_ONLY, source=ranked(texts), enhanced_retrieval=bounds, result_processing=processing)
        return (await retrieve_context(graph, QUESTION)).context

    whole = await context(40_000)
    assert "<cluster" in whole
    assert await context(len(whole)) == whole
    shorter = await context(len(whole) - 1)
    # The tags go, and no evidence with them.
    assert "<cluster" not in shorter
    assert all(text in shorter for text in texts)
