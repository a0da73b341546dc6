"""A stage before the retrieval that may fail: the turn goes on with what it had, and the record says so."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.errors import ModelError
from groundgraph.core.failure import failure_of
from groundgraph.core.intent import IntentState, StageFindings, StageReport
from groundgraph.core.turn_values import Turn
from groundgraph.models.call_model import collect_chain_calls
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context


class StageInput(TypedDict, total=False):
    """What such a stage reads."""

    messages: list[AnyMessage]
    metadata: dict[str, Any]
    turn: Turn
    intent: IntentState


class StageUpdate(TypedDict):
    """What such a stage writes: the intent with what it found, and a report."""

    intent: IntentState


@dataclass(frozen=True)
class Stage:
    """What a stage did.

    Attributes:
        report: for the record; its status is `ran` unless it says another.
        found: what joins the intent.
    """

    report: StageReport
    found: StageFindings = field(default_factory=StageFindings)


def skipped(reason: str) -> Stage:
    """A stage that has nothing to do."""
    return Stage({"status": "skipped", "reason": reason})


def model_stage(
    name: str,
    work: Callable[[StageInput, Runtime[Context]], Awaitable[Stage]],
    prompts: Prompts,
    *,
    without: StageFindings,
    note: str,
) -> Node[StageInput, StageUpdate]:
    """The step `name`: what `work` does; its time, its event, its model calls and its place in the record are written
    here, for every stage.

    Args:
        name: of the step.
        work: the stage; its ModelError is no error of the turn.
        prompts: hold the notes.
        without: what joins the intent when the model fails.
        note: tells the reader then what was done without it.
    """

    async def stage(state: StageInput, runtime: Runtime[Context]) -> StageUpdate:
        started = time.perf_counter()
        earlier = state["intent"]
        with collect_chain_calls() as calls:
            try:
                done = await work(state, runtime)
            except ModelError as error:
                told = prompts.note(note, state["turn"]["language"], reason=failure_of(error, "model"))
                found: StageFindings = {**without, "issues": [*earlier["issues"], told]}
                done = Stage({"status": "failed", "reason": str(error)}, found)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        report: StageReport = {"status": "ran", **done.report, "elapsed_ms": elapsed}
        intent: IntentState = {**earlier, **done.found}
        intent["stages"] = {**earlier["stages"], name: report}
        intent["calls"] = [*earlier["calls"], *calls]
        runtime.stream_writer({"stage": name, **report})
        return {"intent": intent}

    return stage


def asked(state: StageInput) -> str:
    """The question of the turn as one that stands on its own, where it was rewritten; else as the user put it."""
    return state["intent"]["rewritten"] or state["turn"]["question"]
