"""TurnHarness: a thread of a turn graph with scripted models (U7), and document 000's own example of one."""

from __future__ import annotations

import pytest

from groundgraph import Context, InMemorySource
from groundgraph.core.errors import ConfigurationError
from groundgraph.testing import GroundedConfigBuilder, ScriptedChatModel, TurnHarness, UnscriptedPrompt, text_response

pytestmark = pytest.mark.covers("U7")

FACT = "OAuth has four grant types."


def docs() -> InMemorySource:
    return InMemorySource([{"content": FACT, "title": "OAuth"}], name="docs")


async def test_document_000s_example_runs_with_our_names():
    config = (
        GroundedConfigBuilder()
        .intent(mode="extract", num_queries=2)
        .retrieval(top_k=3)
        .synthesis(require_citations=True)
        .build()
    )
    async with await TurnHarness.create(
        bot_config=config,
        main_responses=[
            text_response("OAuth grant types\ngrant types of OAuth"),  # the queries
            text_response("Based on the KB content, there are four [1]."),  # the answer
        ],
        sources=[docs()],
    ) as harness:
        result = await harness.chat("What are OAuth grant types?")
    assert "KB content" in result.response
    assert result.provenance["intent"]["text_queries"][1:] == ["OAuth grant types", "grant types of OAuth"]


async def test_document_000s_extractor_is_a_model_of_its_own():
    config = GroundedConfigBuilder().intent(mode="extract").build()
    extraction = '{"text_queries": ["OAuth grant types", "auth code flow"], "scope": "focused"}'
    async with await TurnHarness.create(
        config, ["Four [1]."], extractor_responses=[extraction], sources=[docs()]
    ) as harness:
        result = await harness.chat("What are OAuth grant types?")
    assert result.provenance["intent"]["text_queries"][1:] == ["OAuth grant types", "auth code flow"]
    assert len(harness.extractor_model.calls) == 1


async def test_a_harness_is_one_thread_whose_prompts_and_results_can_be_looked_at():
    config = GroundedConfigBuilder().intent(mode="static").build()
    async with await TurnHarness.create(config, ["Four [1].", "They are old [1]."], sources=[docs()]) as harness:
        await harness.chat("Which grant types has OAuth?")
        second = await harness.chat("Are OAuth grant types old?", metadata={"tenant": "a"}, context=Context(top_k=1))
    assert [one.response for one in harness.results] == ["Four [1].", "They are old [1]."]
    assert harness.results[1] is second
    assert "Which grant types has OAuth?" in harness.main_model.calls[1].text, "the conversation is in the prompt"
    assert (await harness.metadata())["tenant"] == "a"
    assert len((await harness.metadata())["retrieval_provenance_history"]) == 2


async def test_a_stream_gives_the_answer_piece_by_piece():
    config = GroundedConfigBuilder().intent(mode="static").build()
    async with await TurnHarness.create(config, ["OAuth has four grant types [1]."], sources=[docs()]) as harness:
        pieces = [piece async for piece in harness.stream_chat("Which grant types has OAuth?")]
    assert "".join(pieces) == "OAuth has four grant types [1]."
    assert len(pieces) > 3


async def test_without_responses_there_is_no_model_and_without_sources_nothing_to_find():
    async with await TurnHarness.create() as harness:
        result = await harness.chat("Which grant types has OAuth?")
    assert (harness.main_model, result.output["outcome"]) == (None, "insufficient")


async def test_a_script_that_is_used_up_is_seen_in_the_answers_notes():
    config = GroundedConfigBuilder().intent(mode="static").build()
    async with await TurnHarness.create(config, [], sources=[docs()]) as harness:
        result = await harness.chat("Which grant types has OAuth?")
    assert any("UnscriptedPrompt" in note for note in result.output["notes"])
    with pytest.raises(UnscriptedPrompt):
        await ScriptedChatModel([]).ainvoke("anything")


@pytest.mark.covers("U3")
async def test_a_turn_that_waits_for_a_person_is_decided_in_the_test():
    config = {"intent": {"mode": "static"}, "human_review": {"support_below": 0.9}}
    async with await TurnHarness.create(config, ["Bananas are yellow [1]."], sources=[docs()]) as harness:
        waiting = await harness.chat("Which grant types has OAuth?")
        assert waiting.response == ""
        assert waiting.output["__interrupt__"][0].value["answer"] == "Bananas are yellow [1]."
        decided = await harness.decide({"decision": "replace", "text": f"{FACT} [1]"})
    assert decided.response == f"{FACT} [1]"
    assert harness.results == [waiting, decided]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((5,), "a configuration is a file, a mapping or None, and this is a value of type int"),
        (([],), "a value of type list"),
        (({}, 5), "main_responses: a list of replies is needed, and this is a value of type int"),
        (({}, "Yes [1]."), "main_responses: a list of replies is needed, and this is a value of type str"),
    ],
)
async def test_a_harness_of_what_is_none_is_refused_by_name(given, told):
    with pytest.raises(ConfigurationError, match=told):
        await TurnHarness.create(*given)
