"""Stages of autonomous retrieval over several turns: rotation, resume, fork, streaming, small checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
from autonomous import COMPLEX, KNOWLEDGE, PARTS, asking, build, scripted, state
from category_source import CategorySource
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from ranked_source import RankedSource

from groundgraph.nodes.works.rotate_results import RECENTLY_USED
from groundgraph.settings.context import Context

THREAD = {"configurable": {"thread_id": "t"}}
TEXTS = [f"The monthly rate is {number}." for number in range(4)]
RATE = "What is the monthly rate?"


def rates() -> RankedSource:
    return RankedSource([(1.0 - place / 100, text) for place, text in enumerate(TEXTS)])


def shown(result) -> list[str]:
    return [row["text"] for row in result["provenance"]["results"]]


@pytest.mark.covers("P10")
@pytest.mark.parametrize(
    ("processing", "second"),
    [({"rotation": "shown"}, [*TEXTS[2:], *TEXTS[:2]]), ({"rotation": "suppress", "min_results": 1}, TEXTS[2:])],
)
async def test_rotation_keys_survive_a_restart(tmp_path: Path, processing, second):
    """Two processes in effect: every object is made anew over the same files."""
    results = []
    for top_k in (2, 4):
        async with (
            AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver,
            AsyncSqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store,
        ):
            await store.setup()
            graph = build(["rotation"], source=rates(), checkpointer=saver, store=store, result_processing=processing)
            results.append(await graph.ainvoke(asking(RATE), THREAD, context=Context(top_k=top_k)))
    assert shown(results[0]) == TEXTS[:2]
    assert shown(results[1]) == second
    assert len(results[1]["metadata"][RECENTLY_USED]) == 2


@pytest.mark.covers("P10")
async def test_on_the_plain_path_nothing_rotates_and_nothing_is_remembered():
    graph = build(["rotation"], source=rates(), memory=True)
    plain = Context(retrieval_path="cascade", top_k=4)
    for _ in range(2):
        result = await graph.ainvoke(asking(RATE), THREAD, context=plain)
        assert shown(result) == TEXTS
        assert RECENTLY_USED not in result["metadata"]


@pytest.mark.covers("P10")
async def test_facts_of_the_state_do_not_count_as_shown():
    graph = build(["rotation", "backfill"], source=rates(), memory=True)
    given = asking(RATE, dialogue_state=state(facts=["The demo is free."]))
    first = await graph.ainvoke(given, THREAD, context=Context(top_k=2))
    assert len(first["metadata"][RECENTLY_USED][0]) == 2
    again = await graph.ainvoke(asking(RATE), THREAD, context=Context(top_k=2))
    # The session's state holds in the next turn, too.
    assert shown(again)[-1] == "The demo is free."


@pytest.mark.covers("P10")
async def test_a_budget_is_filled_with_what_is_fresh():
    one = len(f"[4] docs-0\n{TEXTS[0]}")
    bounds = {"max_kb_chars": one * 2 + 2}
    graph = build(
        ["rotation", "budget"],
        source=rates(),
        memory=True,
        enhanced_retrieval=bounds,
        result_processing={"rotation": "shown"},
    )
    first = await graph.ainvoke(asking(RATE), THREAD)
    second = await graph.ainvoke(asking(RATE), THREAD)
    assert (shown(first), shown(second)) == (TEXTS[:2], TEXTS[2:])


@pytest.mark.covers("T3")
async def test_a_turn_that_is_resumed_keeps_its_path_its_parts_and_its_facts():
    source, model = CategorySource(KNOWLEDGE), scripted()
    graph = build(["decomposition", "backfill"], source=source, model=model, memory=True)
    named = {"name": "s", "facts": ["The demo is free."]}
    chosen = Context(dialogue_state=named, retrieval_path="enhanced")
    stop = {"interrupt_after": ["decompose_question"], "durability": "sync"}
    await graph.ainvoke(asking(COMPLEX), THREAD, context=chosen, **stop)
    assert source.asked == []
    # Without its context, and with another state in the session meanwhile.
    await graph.aupdate_state(
        THREAD, {"metadata": {"dialogue_state": state(facts=["Another."])}}, as_node="decompose_question"
    )
    result = await graph.ainvoke(None, THREAD)
    assert sorted(intent.text_queries[0] for intent in source.asked) == sorted([COMPLEX, *PARTS])
    assert "The demo is free." in shown(result)
    assert "Another." not in shown(result)
    assert len(model.calls) == 1


@pytest.mark.covers("T3")
async def test_a_fork_behind_the_search_shows_the_same_evidence_without_asking_again():
    source = CategorySource(KNOWLEDGE)
    graph = build(source=source, memory=True)
    given = asking(COMPLEX, dialogue_state=state(categories=["support"], facts=["The demo is free."]))
    whole = await graph.ainvoke(given, THREAD)
    asked = len(source.asked)
    point = next([one async for one in graph.aget_state_history(THREAD) if one.next == ("process_results",)].__iter__())
    forked = await graph.ainvoke(None, point.config)
    assert shown(forked) == shown(whole)
    assert forked["answer"] == whole["answer"]
    assert len(source.asked) == asked


STEPS = {
    "begin_turn": (3, 4), "rewrite_question": (3, 4), "resolve_intent": (2, 4), "route_categories": (2, 4),
    "decompose_question": (1, 4), "retrieve_source": (0, 4), "process_results": (0, 0),
    "answer_structured": (0, 0), "check_citations": (0, 0), "record_turn": (0, 0),
}  # fmt: skip


@pytest.mark.covers("T3")
async def test_from_every_checkpoint_the_turn_ends_alike_and_does_no_step_twice():
    """Each step with the calls of models and the questions to sources that are left when it is the next one."""
    source, model = CategorySource(KNOWLEDGE), scripted(rewrite=COMPLEX, route="pricing, features")
    graph = build(source=source, model=model, memory=True, category_router={"enabled": True})
    named = state(categories=["support"], facts=["The demo is free."])
    whole = await graph.ainvoke(asking(COMPLEX, earlier=True, dialogue_state=named), THREAD, durability="sync")
    points = [one async for one in graph.aget_state_history(THREAD) if one.next and one.next[0] in STEPS]
    assert {one.next[0] for one in points} == set(STEPS)
    for point in points:
        before = len(model.calls), len(source.asked)
        again = await graph.ainvoke(None, point.config)
        assert (len(model.calls) - before[0], len(source.asked) - before[1]) == STEPS[point.next[0]], point.next
        assert (shown(again), again["answer"], again["notes"]) == (shown(whole), whole["answer"], whole["notes"])
        roles = [call["role"] for call in again["provenance"]["models"]]
        assert roles == ["rewrite_question", "route_categories", "decompose_question"]


@pytest.mark.covers("T3")
@pytest.mark.parametrize("step", ["process_results", "record_turn"])
async def test_a_turn_goes_on_after_its_path_was_taken_out_of_the_configuration(step):
    more = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    await build(["fusion"], **more).ainvoke(asking(RATE), THREAD, interrupt_before=[step], durability="sync")
    result = await build([], **more).ainvoke(None, THREAD)
    assert result["outcome"] == "answered"
    assert "The monthly rate is 990 roubles per cash desk." in shown(result)


@pytest.mark.covers("T3")
async def test_without_a_store_the_facts_are_in_the_state_of_the_turn():
    graph = build(["backfill"], checkpointer=InMemorySaver())
    result = await graph.ainvoke(asking(RATE, dialogue_state=state(facts=["The demo is free."])), THREAD)
    assert "The demo is free." in shown(result)
    assert (await graph.aget_state(THREAD)).values["bodies"] == {}


@pytest.mark.covers("T7")
async def test_each_stage_streams_an_event_of_its_own():
    graph = build(category_router={"enabled": True}, model=scripted(rewrite=COMPLEX, route="pricing, features"))
    given = asking(COMPLEX, earlier=True, dialogue_state=state(facts=["The demo is free."]))
    events = [event async for event in graph.astream(given, stream_mode="custom")]
    told = {event["stage"]: event for event in events}
    stages = {
        "rewrite_question", "route_categories", "judge_complexity", "decompose_question", "rotate_results",
        "fit_budget", "arrange_results", "backfill_facts",
    }  # fmt: skip
    assert stages <= set(told)
    assert told["decompose_question"]["sub_queries"] == PARTS
    assert told["route_categories"]["categories"] == ["pricing", "features"]
    assert told["backfill_facts"]["facts"] == 1


@pytest.mark.covers("L8")
async def test_a_turn_with_every_stage_leaves_small_checkpoints(tmp_path: Path):
    records = [("pricing", f"rate-{number}", f"The monthly rate {number} is {'so ' * 700}") for number in range(20)]
    path = tmp_path / "threads.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        graph = build(
            source=CategorySource(records), checkpointer=saver, store=InMemoryStore(), retrieval={"top_k": 20}
        )
        facts = [f"Fact {number}. {'so ' * 200}" for number in range(20)]
        chosen = Context(dialogue_state={"name": "s", "facts": facts})
        await graph.ainvoke(asking(COMPLEX), THREAD, context=chosen)
        cursor = await saver.conn.execute("select sum(length(checkpoint) + length(metadata)) from checkpoints")
        checkpoints = (await cursor.fetchone())[0]
        cursor = await saver.conn.execute("select sum(length(value)) from writes")
        writes = (await cursor.fetchone())[0]
    # The evidence alone is 42 kB, the facts 12 kB: neither is in any of the dozen checkpoints.
    assert checkpoints + writes < 150_000


@pytest.mark.covers("T7")
async def test_only_the_answer_streams_as_tokens():
    graph = build(category_router={"enabled": True}, synthesis={"style": "conversational"})
    chunks = [
        (chunk.text, metadata["langgraph_node"])
        async for chunk, metadata in graph.astream(asking(COMPLEX, earlier=True), stream_mode="messages")
        if chunk.type == "AIMessageChunk"
    ]
    assert {node for _, node in chunks} == {"answer_conversational"}
    assert "".join(text for text, _ in chunks) == "It is 990 [1]."


@pytest.mark.covers("C8")
async def test_the_path_and_the_stages_of_a_turn_are_in_its_stored_record():
    from groundgraph import load_provenance

    graph = build(memory=True, category_router={"enabled": True})
    given = asking(COMPLEX, dialogue_state=state(facts=["The demo is free."]))
    await graph.ainvoke(given, THREAD)
    record = await load_provenance(graph, "t")
    assert (record["path"], record["state"]["name"]) == ("enhanced", "presentation")
    assert record["intent"]["sub_queries"] == PARTS
    assert record["intent"]["stages"]["route_categories"]["categories"] == ["pricing"]
    assert {"route_categories", "judge_complexity", "decompose_question", "backfill_facts"} <= set(record["timings_ms"])
