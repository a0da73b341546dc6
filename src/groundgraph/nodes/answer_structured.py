"""The structured style: the evidence itself, by template, without a model."""

from __future__ import annotations

import time

from langgraph.runtime import Runtime

from groundgraph.chains.structured_answer import AnswerTemplates, structured_draft
from groundgraph.core.context import Context
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, assignment, style_asked_for
from groundgraph.nodes.node import Node


def answer_structured(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore
) -> Node[AnswerInput, AnswerUpdate]:
    """The node."""

    async def answer_structured(state: AnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        started = time.perf_counter()
        task = await assignment(state, runtime, settings, evidence)
        draft = structured_draft(
            templates, task.variables, task.turn["language"], opening=task.opening, doubt=task.doubt, needs=task.needs
        )
        draft["asked_style"] = style_asked_for(state, task.options)
        runtime.stream_writer({"stage": "answer_structured", "characters": len(draft["text"])})
        draft["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        return {"draft": draft}

    return answer_structured
