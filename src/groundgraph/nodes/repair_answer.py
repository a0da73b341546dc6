"""One more attempt of the model, told exactly what does not agree with the evidence."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.assignment import Assignment, Correction
from groundgraph.chains.label_gate import at_their_places
from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.chains.write_answer import write_answer
from groundgraph.core.context import Context
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Check, Draft
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, assignment
from groundgraph.nodes.node import Node

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class RepairAnswerInput(AnswerInput, total=False):
    """What the step reads."""

    draft: Draft
    check: Check


def repair_answer(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[RepairAnswerInput, AnswerUpdate]:
    """The node. When the model fails, the first answer stays with a note; either way there is no third attempt."""

    async def repair_answer(state: RepairAnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        started = time.perf_counter()
        first = state["draft"]
        task = await assignment(state, runtime, settings, evidence)
        second = await write_answer(_again(task, first, state["check"], templates), model, settings, templates)
        repaired = bool(second["written"]) and second["finish"] in ("stop", "length")
        draft = _merged(first, second) if repaired else _kept(first, second, task, templates)
        draft["elapsed_ms"] = round(first["elapsed_ms"] + (time.perf_counter() - started) * 1000, 3)
        runtime.stream_writer({"stage": "repair_answer", "repaired": repaired})
        return {"draft": draft}

    return repair_answer


def _again(task: Assignment, first: Draft, check: Check, templates: AnswerTemplates) -> Assignment:
    """The same assignment, with the first answer under the numbers that the model knows."""
    language = task.turn["language"]
    text, written = first["text"], first["written"]
    return replace(
        task,
        prefix="" if task.evidence else templates.prompts.render("general_knowledge", language=language) + "\n\n",
        suffix=at_their_places(text[written:], first["order"]),
        calls=[*task.calls, *first.get("calls", [])],
        correction=Correction(at_their_places(text[:written], first["order"]), check["flags"]),
    )


def _merged(first: Draft, second: Draft) -> Draft:
    calls = [*first.get("calls", []), *second.get("calls", [])]
    notes = list(dict.fromkeys([*first["notes"], *second["notes"]]))
    return {**first, **second, "outcome": first["outcome"], "calls": calls, "notes": notes, "repaired": True}


def _kept(first: Draft, second: Draft, task: Assignment, templates: AnswerTemplates) -> Draft:
    calls = [*first.get("calls", []), *second.get("calls", [])]
    note = templates.prompts.note("repair_failed", task.turn["language"])
    return {**first, "calls": calls, "notes": [*first["notes"], note], "repaired": True}
