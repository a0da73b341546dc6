"""A reference is no key to evidence of another scope."""

from __future__ import annotations

from typing import Any

import pytest
import turns
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from turns import QUOTING, thread

from groundgraph import Context, InMemorySource, load_provenance, resume_turn
from groundgraph.core.errors import EvidenceMissing, ScopeMissing
from groundgraph.core.schema import SourceSchema
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.turn_runner import TurnRunner

pytestmark = pytest.mark.covers("F19", "fault 94")

ACME, GLOBEX = Context(scope={"tenant": "acme"}), Context(scope={"tenant": "globex"})
QUESTION = {"question": "What is the secret budget of the plant?"}


def build(saver: InMemorySaver, store: InMemoryStore | None, **sections: Any) -> TurnRunner:
    rows = [
        {"id": name, "content": f"The secret budget of the plant of {name}.", "tenant": name}
        for name in ("acme", "globex")
    ]
    shared = InMemorySource(["The budget of a plant is no secret to its owner."], name="shared")
    schema = SourceSchema("notes", {"tenant": {"type": "string"}})
    parts = {"sources": [InMemorySource(rows, name="notes", schema=schema), shared], "checkpointer": saver}
    scoped = {"scope_filters": {"notes": {"tenant": "context.tenant"}}}
    return turns.build("It is secret [1].", base=QUOTING, retrieval=scoped, store=store, **parts, **sections)


async def stopped(graph: TurnRunner, name: str, context: Context, step: str) -> dict[str, Any]:
    """The state of a turn before a step."""
    await graph.ainvoke(QUESTION, thread(name), context=context, interrupt_before=[step])
    return dict((await graph.aget_state(thread(name))).values)


@pytest.mark.parametrize("same_process", [True, False])
@pytest.mark.parametrize(
    ("channel", "step", "before"),
    [
        ("retrievals", "retrieve_source", "process_results"),
        ("ranking", "process_results", "answer_structured"),
        ("ranking", "answer_structured", "record_turn"),
    ],
)
async def test_a_reference_of_another_scope_in_a_state_leads_to_no_text(
    channel: str, step: str, before: str, same_process: bool
) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    graph = build(saver, store)
    stolen = (await stopped(graph, "victim", ACME, before))[channel]
    graph = graph if same_process else build(saver, store)
    await stopped(graph, "thief", GLOBEX, before)
    await graph.aupdate_state(thread("thief"), {channel: stolen}, as_node=step)
    with pytest.raises(EvidenceMissing, match="another scope"):
        await graph.ainvoke(None, thread("thief"), context=GLOBEX)
    with pytest.raises(EvidenceMissing, match="another scope"):
        await resume_turn(graph, "thief")
    # Whoever may read it goes on with it; who gives another scope than the turn began in does not.
    with pytest.raises(ScopeMissing, match="another scope"):
        await graph.ainvoke(None, thread("victim"), context=GLOBEX)
    assert "of acme" in (await resume_turn(graph, "victim"))["answer"]
    assert "of acme" in str((await load_provenance(graph, "victim"))["results"])


@pytest.mark.parametrize("result_processing", [{}, {"max_kb_chars": 40}, {"normalize_strategy": "min_max"}])
async def test_each_step_that_makes_evidence_keeps_it_in_the_scope_of_the_turn(
    result_processing: dict[str, Any],
) -> None:
    store = InMemoryStore()
    graph = build(InMemorySaver(), store, result_processing=result_processing)
    result = await graph.ainvoke(QUESTION, thread(), context=ACME)
    assert result["outcome"] == "answered"
    kept = [item.value for item in store.search(("groundgraph", "evidence"))]
    assert len({record["scope"] for record in kept}) == 1
    assert "scope" not in str(result["provenance"]["results"])
    graph = build(InMemorySaver(), store, result_processing=result_processing)
    again = await graph.ainvoke(QUESTION, thread(), context=ACME)
    assert again["provenance"]["results"] == result["provenance"]["results"]
    assert len(store.search(("groundgraph", "evidence"))) == len(kept)


async def test_what_one_scope_forgets_stays_in_another() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    graph = build(saver, store)
    for name, context in [("of acme", ACME), ("of globex", GLOBEX)]:
        await graph.ainvoke(QUESTION, thread(name), context=context)
    # The text of the shared source stands there once for each of them.
    assert len(store.search(("groundgraph", "evidence"))) == 4
    assert (await forget_thread(graph, "of acme")).bodies == 2
    kept = [item.value["content"] for item in store.search(("groundgraph", "evidence"))]
    assert len(kept) == 2
    assert "acme" not in str(kept)
    assert len((await load_provenance(graph, "of globex"))["results"]) == 2
    assert len((await load_provenance(build(saver, store), "of globex"))["results"]) == 2


async def test_a_turn_without_a_store_goes_on_in_its_scope() -> None:
    graph = build(InMemorySaver(), None)
    await stopped(graph, "t", ACME, "answer_structured")
    elsewhere = build(graph.checkpointer, None)
    assert "of acme" in (await elsewhere.ainvoke(None, thread(), context=ACME))["answer"]
