"""Each way in which a turn went has a record of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import turns
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from parents import in_a_row
from turns import QUESTION, QUOTING, ask, asking, docs, notes, settings_in, thread

from groundgraph import load_provenance, open_graph, prune_checkpoints, resume_turn, retrieval_graph
from groundgraph.answers.provenance import provenance_namespace
from groundgraph.core.errors import InputInvalid
from groundgraph.graph.turn_runner import TurnRunner

pytestmark = pytest.mark.covers("F18", "fault 93")

HYBRID = {"style": "hybrid"}
EDITED = {"text_queries": ["pump 17"]}


def build(*, saver: Any = None, **sections: Any) -> TurnRunner:
    memory = {"checkpointer": saver or InMemorySaver(), "store": InMemoryStore()}
    return turns.build(base=QUOTING, sources=[docs()], **memory, **sections)


def records(graph: TurnRunner) -> dict[str, Any]:
    """What the store holds of the thread, by id."""
    return {item.key: item.value for item in graph.store.search(provenance_namespace("t"), limit=100)}


async def before(graph: TurnRunner, step: str, nth: int = 0) -> Any:
    """The state before a step, the newest first."""
    return [one async for one in graph.aget_state_history(thread()) if step in one.next][nth]


async def fork(graph: TurnRunner, point: Any, **run: Any) -> dict[str, Any]:
    """Go on from an earlier state with other queries."""
    place = await graph.aupdate_state(point.config, {"intent": {**point.values["intent"], **EDITED}})
    result: dict[str, Any] = await graph.ainvoke(None, place, **run)
    return result


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_fork_leaves_the_record_of_the_turn_that_it_was_forked_from_as_it_was(durability: Any) -> None:
    graph = build()
    result = await graph.ainvoke(asking(), thread(), durability="sync")
    before_fork = records(graph)
    [original] = before_fork
    forked = await fork(graph, await before(graph, "retrieve_source"), durability=durability)
    after = records(graph)
    assert after[original] == before_fork[original]
    assert len(after) == 2
    record = await load_provenance(graph, "t")
    assert record["forked_from"] == original
    assert record["edited"]["intent"]["text_queries"] == {"was": [QUESTION], "is": ["pump 17"]}
    assert record["intent"]["text_queries"] == ["pump 17"]
    assert record["turn_id"] == forked["messages"][-1].response_metadata["turn_id"] != original
    assert [other["turn_id"] for other in record["other_records"]] == [original]
    told = await load_provenance(graph, "t", original)
    assert [other["turn_id"] for other in told.pop("other_records")] == [record["turn_id"]]
    assert told == result["provenance"], "its evidence is there as well"
    assert {row["text"] for row in record["results"]} != {row["text"] for row in told["results"]}
    assert (await resume_turn(graph, "t"))["answer"] == forked["answer"]


async def test_a_turn_that_was_kept_only_at_its_end_keeps_its_record_too() -> None:
    graph = build()
    await graph.ainvoke(asking(), thread(), durability="exit")
    [original] = before_fork = records(graph)
    point = [one async for one in graph.aget_state_history(thread())][0]
    place = await graph.aupdate_state(point.config, {"intent": {**point.values["intent"], **EDITED}}, "resolve_intent")
    await graph.ainvoke(None, place, durability="exit")
    assert records(graph)[original] == before_fork[original]
    record = await load_provenance(graph, "t")
    assert record["forked_from"] == original
    assert record["edited"]["intent"]["text_queries"]["is"] == ["pump 17"]


async def test_every_fork_has_its_own_record_and_names_the_one_that_it_left() -> None:
    graph = build()
    await ask(graph, on="t")
    [original] = records(graph)
    point = await before(graph, "retrieve_source")
    one = (await fork(graph, point))["provenance"]
    other = (await fork(graph, point))["provenance"]
    assert one["forked_from"] == other["forked_from"] == original
    # A fork of the second one, and the original run again as it was.
    third = (await fork(graph, await before(graph, "retrieve_source")))["provenance"]
    assert third["forked_from"] == other["turn_id"]
    replayed = (await graph.ainvoke(None, point.config))["provenance"]
    assert (replayed["forked_from"], replayed["edited"]) == (original, {})
    ids = [original, one["turn_id"], other["turn_id"], third["turn_id"], replayed["turn_id"]]
    assert list(records(graph)) == ids
    assert [entry["turn_id"] for entry in (await load_provenance(graph, "t"))["other_records"]] == ids[:-1]


async def test_the_same_question_asked_again_from_an_earlier_state_has_a_record_of_its_own() -> None:
    graph = build()
    result = await ask(graph, on="t")
    [original] = before_fork = records(graph)
    start = [one async for one in graph.aget_state_history(thread())][-1]
    again = {"messages": [result["messages"][0]]}
    await graph.ainvoke(again, {"configurable": {**start.config["configurable"]}})
    after = records(graph)
    assert after[original] == before_fork[original]
    assert all(key == original or record["forked_from"] == original for key, record in after.items())


async def test_what_is_recorded_again_behind_its_own_end_is_another_record() -> None:
    graph = build()
    await ask(graph, on="t")
    [original] = before_fork = records(graph)
    point = await before(graph, "record_turn")
    end = await graph.aget_state(thread())
    values = {name: point.values[name] for name in ("retrievals", "ranking", "draft", "check")}
    await graph.aupdate_state(
        end.config, {**values, "draft": {**values["draft"], "text": "Five [1]."}}, "check_citations"
    )
    result = await graph.ainvoke(None, thread())
    assert result["answer"] == "Five [1]."
    assert records(graph)[original] == before_fork[original]
    assert result["provenance"]["edited"]["draft"]["text"]["is"] == "Five [1]."


async def test_another_decision_about_an_answer_that_a_person_decided_about_is_another_record() -> None:
    review = {"support_below": 0.6}
    graph = turns.build("The moon orbits a cheese [1].", sources=[docs()], memory=True, human_review=review)
    await ask(graph, on="t")
    await graph.ainvoke(Command(resume={"decision": "approve"}), thread())
    [original] = before_fork = records(graph)
    waiting = await before(graph, "review_answer")
    assert "__interrupt__" in await graph.ainvoke(None, waiting.config)
    await graph.ainvoke(Command(resume={"decision": "refuse"}), thread())
    after = records(graph)
    assert after[original] == before_fork[original]
    assert sorted(record["review"]["decision"] for record in after.values()) == ["approve", "refuse"]


@pytest.mark.covers("fault 42")
@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("stop", ["retrieve_source", "answer_structured", "record_turn"])
async def test_a_turn_that_was_stopped_or_edited_before_its_end_has_one_record(stop: str, durability: Any) -> None:
    graph = build()
    await graph.ainvoke(asking(), thread(), interrupt_before=[stop], durability=durability)
    await graph.aupdate_state(thread(), {"metadata": {"mine": 1}})
    await graph.ainvoke(None, thread(), interrupt_before=["record_turn"], durability=durability)
    if (await graph.aget_state(thread())).next:
        await graph.ainvoke(None, thread(), durability=durability)
    assert len(records(graph)) == 1
    assert "forked_from" not in await load_provenance(graph, "t")


OTHER = "How often is pump 17 serviced?"


@pytest.mark.covers("V1", "fault 93")
@pytest.mark.parametrize("channel", ["messages", "question"])
@pytest.mark.parametrize("step", ["begin_turn", "resolve_intent", "retrieve_source", "check_citations", "record_turn"])
async def test_a_question_that_was_edited_in_a_fork_is_the_one_that_is_answered(step: str, channel: str) -> None:
    graph = build()
    result = await ask(graph, on="t")
    [original] = before_fork = records(graph)
    point, asked = await before(graph, step), result["messages"][0]
    edit = {"question": OTHER} if channel == "question" else {"messages": [HumanMessage(OTHER, id=asked.id)]}
    # As Studio sends it: as the step before, with everything else that the state holds.
    values = {**point.values, **edit} if step == "record_turn" else edit
    place = await graph.aupdate_state(point.config, values, "check_citations" if step == "record_turn" else None)
    forked = await graph.ainvoke(None, place)
    assert [message.text for message in forked["messages"]] == [OTHER, forked["answer"]]
    assert "every 90 days" in forked["answer"]
    record = await load_provenance(graph, "t")
    assert record["question"] == OTHER
    assert records(graph)[original] == before_fork[original]
    if step != "begin_turn":
        assert record["forked_from"] == original
        assert record["edited"] == {"messages": {asked.id: {"was": QUESTION, "is": OTHER}}}


@pytest.mark.covers("V1")
async def test_a_new_question_in_an_edit_is_answered_and_what_asks_nothing_new_changes_no_turn() -> None:
    graph = build()
    await graph.ainvoke(asking(), thread(), interrupt_before=["retrieve_source"])
    same = (await graph.aget_state(thread())).values["messages"]
    await graph.aupdate_state(thread(), {"messages": same, "metadata": {"mine": 1}})
    assert (await graph.aget_state(thread())).next == ("retrieve_source",)
    graph.update_state(thread(), {"messages": [("user", OTHER)]})
    assert "every 90 days" in (await graph.ainvoke(None, thread()))["answer"]
    # A moderator's edit of what was said asks nothing; a question behind the end of a turn does.
    done = (await graph.aget_state(thread())).values["messages"]
    await graph.aupdate_state(thread(), {"messages": [HumanMessage("Removed.", id=done[0].id)]})
    assert (await graph.aget_state(thread())).next == ()
    await graph.aupdate_state(thread(), {"question": QUESTION})
    assert "four grant types" in (await graph.ainvoke(None, thread()))["answer"]


@pytest.mark.covers("V1")
async def test_a_question_that_was_edited_below_a_parent_is_the_one_that_is_answered() -> None:
    inner = turns.build(base=QUOTING, sources=[docs()])
    parent = in_a_row(turn=inner).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    inner.interrupt_before_nodes = ["retrieve_source"]
    await parent.ainvoke(asking(), thread())
    inner.interrupt_before_nodes = []
    state = await parent.aget_state(thread(), subgraphs=True)
    below = state.tasks[0].state
    await parent.aupdate_state(below.config, {"messages": [HumanMessage(OTHER, id=below.values["messages"][0].id)]})
    assert "every 90 days" in (await parent.ainvoke(None, thread()))["messages"][-1].text


@pytest.mark.covers("V1", "fault 57")
@pytest.mark.parametrize("step", ["check_citations", "record_turn"])
@pytest.mark.parametrize(("text", "shown", "flags"), [
    ("Four [9].", "Four.", ["unresolved_label", "no_citation"]),
    ("Four grant [types](data:a,) [1].", r"Four grant [types]\(data[:]a,) [1].", ["link_removed"]),
    ("It has nine grant types [1].", "It has nine grant types [1].", ["number_unsupported"]),
])  # fmt: skip
async def test_an_answer_that_was_edited_in_a_state_passes_the_gate_and_the_check(
    step: str, text: str, shown: str, flags: list[str]
) -> None:
    graph = turns.build("OAuth has four grant types [1].", sources=[docs()], memory=True)
    await ask(graph, on="t")
    point = await before(graph, step)
    place = await graph.aupdate_state(point.config, {"draft": {**point.values["draft"], "text": text}})
    result = await graph.ainvoke(None, place)
    assert result["answer"] == result["messages"][-1].text == shown
    assert [flag["kind"] for flag in result["support"]["flags"]] == flags
    assert result["provenance"]["edited"]["draft"]["text"]["is"] == text


@pytest.mark.covers("V1")
async def test_the_listing_below_an_edited_answer_keeps_what_its_labels_refer_to() -> None:
    graph = turns.build("OAuth has four grant types [1].", sources=[docs(), notes()], memory=True, synthesis=HYBRID)
    whole = (await ask(graph, on="t"))["answer"]
    point = await before(graph, "record_turn")
    draft = {**point.values["draft"], "text": whole.replace("has four grant types [1]", "has grant types [2, 1]")}
    result = await graph.ainvoke(None, await graph.aupdate_state(point.config, {"draft": draft}))
    assert result["answer"].startswith("OAuth has grant types [1, 2].")
    # What the new words use first is the second of the listing.
    assert "[1] OAuth > Grants" in whole
    assert "[2] OAuth > Grants" in result["answer"]
    assert result["support"]["flags"] == []


class Broken(InMemorySaver):
    """Loses the checkpoint behind the last step, once, as a process does that is killed there."""

    def __init__(self, kills: list[str]) -> None:
        super().__init__()
        # LangGraph uses a copy of the saver.
        self.kills = kills

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if self.kills and "outcome" in (checkpoint.get("updated_channels") or ()):
            self.kills.pop()
            raise ConnectionError("killed")
        return await super().aput(config, checkpoint, metadata, new_versions)


@pytest.mark.covers("fault 42")
async def test_a_turn_and_a_fork_that_were_killed_behind_their_record_are_recorded_once() -> None:
    kills = ["the turn"]
    graph = build(saver=Broken(kills))
    with pytest.raises(ConnectionError):
        await graph.ainvoke(asking(), thread(), durability="sync")
    [first] = records(graph)
    await resume_turn(graph, "t")
    assert list(records(graph)) == [first]
    kills.append("the fork")
    with pytest.raises(ConnectionError):
        await fork(graph, await before(graph, "retrieve_source"), durability="sync")
    assert len(records(graph)) == 2
    result = await resume_turn(graph, "t")
    assert len(records(graph)) == 2
    assert result["provenance"]["forked_from"] == first
    history = (await graph.aget_state(thread())).values["metadata"]["retrieval_provenance_history"]
    assert len(history) == 1


async def test_a_fork_in_a_file_is_kept_and_pruned_with_its_turn(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with open_graph(settings, sources=[docs()]) as graph:
        await ask(graph, "Who uses the authorization code grant of OAuth?", "t")
        await ask(graph, on="t")
        forked = (await fork(graph, await before(graph, "retrieve_source")))["provenance"]
        assert (await prune_checkpoints(graph, keep_turns=1)).records == 1
        record = await load_provenance(graph, "t")
        assert record["turn_id"] == forked["turn_id"]
        [original] = record["other_records"]
        assert original["turn_id"] == record["forked_from"]
        assert (await load_provenance(graph, "t", original["turn_id"]))["results"][0]["text"]


async def test_a_parent_that_runs_a_turn_again_from_an_earlier_state_leaves_its_record() -> None:
    store = InMemoryStore()
    inner = turns.build(base=QUOTING, sources=[docs()])
    parent = in_a_row(turn=inner).compile(checkpointer=InMemorySaver(), store=store)
    await ask(parent, on="t")
    kept = {item.key: item.value for item in store.search(provenance_namespace("t"))}
    [original] = kept
    earlier = [one async for one in parent.aget_state_history(thread()) if "turn" in one.next][0]
    await parent.ainvoke(None, earlier.config)
    after = {item.key: item.value for item in store.search(provenance_namespace("t"))}
    assert after.pop(original) == kept[original]
    assert [record["forked_from"] for record in after.values()] == [original]


async def stopped(step: str, **sections: Any) -> tuple[TurnRunner, dict[str, Any]]:
    """A turn that was stopped before a step, and the values of its state."""
    graph = build(**sections)
    await graph.ainvoke(asking(), thread(), interrupt_before=[step])
    return graph, (await graph.aget_state(thread())).values


IN_PLACE = {
    "intent": ("retrieve_source", lambda intent: {**intent, **EDITED}, ("text_queries", [QUESTION], ["pump 17"])),
    "ranking": ("answer_structured", lambda ranking: {**ranking, "answerable": 0.1}, ("answerable", None, 0.1)),
    "turn": ("retrieve_source", lambda turn: {**turn, "language": "de"}, ("language", "en", "de")),
    "draft": ("record_turn", lambda draft: {**draft, "text": "Four [1]."}, ("text", None, "Four [1].")),
}


@pytest.mark.covers("V1")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("channel", IN_PLACE)
async def test_what_was_edited_in_place_stands_in_the_record(channel: str, durability: Any) -> None:
    step, edit, (name, was, now) = IN_PLACE[channel]
    graph, values = await stopped(step)
    # Twice, and with the whole state, as Studio sends it: what was there before the first edit is told.
    for _ in range(2):
        await graph.aupdate_state(thread(), {**values, channel: edit(values[channel])})
    result = await graph.ainvoke(None, thread(), durability=durability)
    record = await load_provenance(graph, "t")
    told = record["edited"][channel][name]
    assert told == {"was": values[channel][name] if was is None else was, "is": now}
    assert list(record["edited"]) == [channel]
    assert result["provenance"]["edited"] == record["edited"]
    assert "forked_from" not in record
    assert "edited" not in (await ask(graph, on="t"))["provenance"]


async def test_what_was_edited_in_place_stands_in_the_record_of_a_retrieval() -> None:
    graph = retrieval_graph(QUOTING, sources=[docs()], checkpointer=InMemorySaver(), store=InMemoryStore())
    await graph.ainvoke(asking(), thread(), interrupt_before=["retrieve_source"])
    intent = (await graph.aget_state(thread())).values["intent"]
    await graph.aupdate_state(thread(), {"intent": {**intent, **EDITED}, "metadata": {"mine": 1}})
    edited = (await graph.ainvoke(None, thread()))["provenance"]["edited"]
    assert edited["intent"] == {"text_queries": {"was": [QUESTION], "is": ["pump 17"]}}
    assert edited["metadata"] == {"mine": {"was": None, "is": 1}}


@pytest.mark.covers("V1")
@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("step", ["resolve_intent", "retrieve_source", "answer_structured", "record_turn"])
async def test_the_question_of_a_turn_that_was_edited_begins_it_again(step: str, durability: Any) -> None:
    graph, values = await stopped(step)
    await graph.aupdate_state(thread(), {**values, "turn": {**values["turn"], "question": OTHER}})
    result = await graph.ainvoke(None, thread(), durability=durability)
    assert [message.text for message in result["messages"]] == [OTHER, result["answer"]]
    assert "every 90 days" in result["answer"]
    record = await load_provenance(graph, "t")
    assert record["question"] == OTHER
    asked = values["messages"][0].id
    assert record["edited"] == {"messages": {asked: {"was": QUESTION, "is": OTHER}}}


@pytest.mark.covers("V3")
async def test_what_was_noted_about_an_answer_is_not_said_of_other_words() -> None:
    graph = turns.build(sources=[docs()], memory=True)
    await graph.ainvoke(asking(), thread(), interrupt_before=["record_turn"])
    draft = (await graph.aget_state(thread())).values["draft"]
    assert "No language model" in draft["notes"][0]
    edit = {**draft, "text": "Four grant types [1].", "notes": [*draft["notes"], "See the minutes."]}
    await graph.aupdate_state(thread(), {"draft": edit})
    result = await graph.ainvoke(None, thread())
    assert result["notes"] == ["See the minutes.", "A person changed this answer after it was written."]


@pytest.mark.covers("fault 19")
@pytest.mark.parametrize("text", ["", " \n", "[9]"])
async def test_an_edited_answer_that_says_nothing_is_told_and_can_be_edited_again(text: str) -> None:
    graph, values = await stopped("record_turn")
    await graph.aupdate_state(thread(), {"draft": {**values["draft"], "text": text}})
    with pytest.raises(InputInvalid, match=r"says nothing.*'draft'"):
        await graph.ainvoke(None, thread())
    await graph.aupdate_state(thread(), {"draft": {**values["draft"], "text": "Four [1]."}})
    assert (await graph.ainvoke(None, thread()))["answer"] == "Four [1]."


@pytest.mark.parametrize(("edit", "told"), [
    ({"text_queries": []}, "its 'text_queries' are empty"),
    ({"sources": []}, "its 'sources' are empty"),
    ({"sources": ["doc"]}, "no source 'doc'. Did you mean 'docs'?"),
])  # fmt: skip
async def test_an_edit_that_leaves_nothing_to_ask_is_refused_and_no_outage(edit: Any, told: str) -> None:
    graph, values = await stopped("retrieve_source")
    with pytest.raises(InputInvalid, match="known: docs") as refused:
        await graph.aupdate_state(thread(), {"intent": {**values["intent"], **edit}})
    assert told in str(refused.value)
    assert (await graph.ainvoke(None, thread()))["outcome"] == "answered"


@pytest.mark.parametrize("step", ["answer_structured", "check_citations", "record_turn"])
async def test_an_answer_is_written_anew_from_evidence_that_was_edited_and_none_without(step: str) -> None:
    graph, values = await stopped(step)
    refs = values["ranking"]["refs"]
    edit = {"ranking": {**values["ranking"], "refs": []}}
    await graph.aupdate_state(thread(), edit)
    assert edit["ranking"]["style"] == "structured"
    result = await graph.ainvoke(None, thread())
    assert (result["outcome"], result["citations"]) == ("insufficient", [])
    assert "does not cover" in result["answer"]
    assert result["provenance"]["edited"]["ranking"]["refs"] == {"was": refs, "is": []}
