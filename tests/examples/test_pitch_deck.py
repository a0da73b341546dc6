"""The pitch deck of the examples: every page gets the practices that are meant for it, or none (K9)."""

from __future__ import annotations

import re

import pytest
from deck_model import (
    BUDGET,
    COHORTS,
    INDUSTRIES,
    MEANT_FOR,
    MILESTONES,
    PILOTS,
    PRACTICES,
    PURCHASE,
    RULES,
    SLIDES,
    STAGES,
    form,
)
from example_copy import module_at

from groundgraph import KnowledgeBase, retrieval_graph
from groundgraph.ingest.load_document import load_document
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel, openai_stub

pytestmark = pytest.mark.covers("K9")

# The practices that are right for each page of the deck.
RIGHT = [{BUDGET}, set(), {PURCHASE}, {PILOTS, COHORTS}, {MILESTONES}, set()]


@pytest.fixture
def adviser(example):
    return example("pitch_deck")


def models():
    return {"chat_model": ScriptedChatModel(rules=RULES), "embeddings": NgramEmbeddings()}


def used(turn):
    return {result["text"] for result in turn["provenance"]["results"]}


async def advise(adviser, **models_given):
    return await adviser.run.advise(adviser.folder / "deck.pdf", adviser.settings(), **models_given)


async def test_each_page_gets_the_practices_for_its_slide_stage_and_industry_and_no_other(adviser):
    turns = await advise(adviser, **models())
    assert [used(turn) for turn in turns] == RIGHT
    assert [turn["outcome"] == "answered" for turn in turns] == [bool(right) for right in RIGHT]


async def test_the_recommendation_of_a_page_cites_the_practice_that_a_model_wrote(adviser):
    first = (await advise(adviser, **models()))[0]
    assert first["answer"] == f"{BUDGET.rstrip('.')} [1]."
    [citation] = first["citations"]
    assert (citation["label"], citation["title"]) == (1, "What a problem slide is for")
    [result] = first["provenance"]["results"]
    assert result["metadata"]["derived"] is True
    assert first["support"]["flags"] == []


async def test_a_page_without_a_practice_costs_no_recommendation_and_is_no_small_talk(adviser):
    chosen = models()
    turns = await advise(adviser, **chosen)
    assert [turns[1]["outcome"], turns[5]["outcome"]] == ["insufficient", "insufficient"]
    written = [call for call in chosen["chat_model"].calls if "Write a recommendation" in call.text]
    assert len(written) == sum(map(bool, RIGHT))


async def test_below_the_cut_off_of_95_nothing_stays_although_the_form_is_the_same(adviser):
    await advise(adviser, **models())
    graph = retrieval_graph(adviser.settings(), **models())
    page = "Our solution\nOne plan that everybody sees.\nWardline - series b - software for hospitals"
    matches = await graph.resources.sources["knowledge_base"].matches(page, top_k=20)
    await graph.resources.close()
    best = max(match.match_score for match in matches)
    assert 0.5 < best < 0.95, "the usual cut-off of 0.5 would have let it through"
    assert not any(match.kept for match in matches)
    assert {match.rerank_score for match in matches} == {None}, "nothing is reranked"


async def test_articles_become_practices_found_by_the_form_alone(adviser):
    await advise(adviser, **models())
    async with KnowledgeBase.open(adviser.settings(), **models()) as base:
        rows = await base.adocuments()
        stored = {row.title: await base.achunks(row.name) for row in rows}
    texts = {title: [one.chunk.text for one in chunks] for title, chunks in stored.items()}
    assert texts == {title: list(practices) for title, practices in PRACTICES.items()}
    for chunk in (one for chunks in stored.values() for one in chunks):
        slide, stages, industries = MEANT_FOR[chunk.chunk.text]
        assert set(chunk.matching_texts) == {form(slide, stage, which) for stage in stages for which in industries}
        assert chunk.chunk.derived
        assert chunk.qualifying_text == "An article for founders about their pitch decks."


async def test_both_prompts_name_the_same_slides_stages_and_industries(adviser):
    prompts = [
        (adviser.folder / "prompts" / f"name_{which}.jinja2").read_text("utf-8") for which in ("practice", "slide")
    ]
    lists = [re.findall(r"^The (\w+) is one of: (.*)\.$", prompt, re.MULTILINE) for prompt in prompts]
    assert lists[0] == lists[1]
    named = {what: words.split(", ") for what, words in lists[0]}
    assert (named["stage"], named["industry"]) == (STAGES, INDUSTRIES)
    assert set(SLIDES.values()) <= set(named["slide"])


async def test_a_real_model_needs_only_the_two_lines_of_the_configuration(adviser, monkeypatch):
    file = adviser.folder / "groundgraph.yaml"
    with openai_stub(rules=RULES) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
        monkeypatch.setenv("GROUNDGRAPH_EMBEDDINGS__CHECK_EMBEDDING_CTX_LENGTH", "false")
        text = file.read_text("utf-8").replace("# llm:", "llm:").replace("# embeddings:", "embeddings:")
        file.write_text(text, "utf-8")
        assert [used(turn) for turn in await advise(adviser)] == RIGHT


async def test_without_a_model_pages_are_answered_from_the_articles_themselves(adviser):
    turns = await advise(adviser)
    assert not any(result["metadata"].get("derived") for turn in turns for result in turn["provenance"]["results"])
    assert turns[0]["provenance"]["models"] == []


def test_the_deck_is_what_its_script_writes(adviser):
    make_deck = module_at(adviser.folder / "make_deck.py", "make_deck")
    own, made = adviser.folder / "deck.pdf", adviser.folder / "made.pdf"
    make_deck.write_deck(made)
    deck = load_document(own, "deck.pdf")
    assert deck.text == load_document(made, "deck.pdf").text
    pages = [deck.text[part.start : part.end].split("\n") for part in deck.parts]
    assert [[line.strip() for line in page if line.strip()] for page in pages] == [
        [*lines, make_deck.FOOTER] for lines in make_deck.PAGES
    ]
