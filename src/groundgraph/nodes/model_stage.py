"""A stage before the retrieval that may fail: the turn goes on with what it had, and the record says so (C8)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.chain_calls import collect_chain_calls
from groundgraph.core.context import Context
from groundgraph.core.errors import ModelError
from groundgraph.core.failure import Failure, failure_of
from groundgraph.core.intent import IntentState, StageReport
from groundgraph.core.turn_values import ModelCall, Turn
from groundgraph.prompts import Prompts

T = TypeVar("T")


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
class Attempt(Generic[T]):
    """What came of a model's work: a value or the reason why there is none, and the calls that it took.

    `reason` is for the record, `failure` for readers.
    """

    value: T | None
    reason: str
    calls: list[ModelCall]
    failure: Failure | None = None


async def attempted(work: Callable[[], Awaitable[T]]) -> Attempt[T]:
    """The result of `work`; a model that fails is a reason and no exception."""
    with collect_chain_calls() as calls:
        try:
            return Attempt(await work(), "", calls)
        except ModelError as error:
            return Attempt(None, str(error), calls, failure_of(error, "model"))


@dataclass
class StageRun:
    """One run of a stage: how long it takes is counted from here.

    Attributes:
        step: the name of the node.
        state: what it reads.
        runtime: of the run.
    """

    step: str
    state: StageInput
    runtime: Runtime[Context]

    def __post_init__(self) -> None:
        self.started = time.perf_counter()

    @property
    def question(self) -> str:
        """The question as the turn asks it: the rewritten one where there is one."""
        return asked(self.state)

    def skipped(self, reason: str) -> StageUpdate:
        """The update of a stage that has nothing to do."""
        return self._ended({"status": "skipped", "reason": reason}, {})

    def ran(self, report: StageReport, found: IntentState, calls: list[ModelCall] | None = None) -> StageUpdate:
        """The update of a stage that did its work, with what it found."""
        return self._ended({"status": "ran", **report}, found, calls or [])

    def failed(self, prompts: Prompts, note: str, attempt: Attempt[Any], found: IntentState) -> StageUpdate:
        """The update of a stage whose model failed; `note` tells the reader what was done without it."""
        told = prompts.note(note, self.state["turn"]["language"], reason=attempt.failure or attempt.reason)
        issues = [*self.state.get("intent", {}).get("issues", []), told]
        return self._ended({"status": "failed", "reason": attempt.reason}, {**found, "issues": issues}, attempt.calls)

    def _ended(self, report: StageReport, found: IntentState, calls: list[ModelCall] | None = None) -> StageUpdate:
        report["elapsed_ms"] = round((time.perf_counter() - self.started) * 1000, 3)
        earlier = self.state.get("intent", {})
        intent: IntentState = {**earlier, **found}
        intent["stages"] = {**earlier.get("stages", {}), self.step: report}
        intent["calls"] = [*earlier.get("calls", []), *(calls or [])]
        self.runtime.stream_writer({"stage": self.step, **report})
        return {"intent": intent}


def asked(state: StageInput) -> str:
    """The question of the turn as one that stands on its own, where it was rewritten; else as the user put it."""
    return state.get("intent", {}).get("rewritten") or state["turn"]["question"]
