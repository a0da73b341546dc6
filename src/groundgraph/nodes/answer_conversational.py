"""The conversational style: a model writes from the evidence, its labels checked while it streams."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.core.context import Context
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, assignment, style_asked_for
from groundgraph.nodes.node import Node

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def answer_conversational(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The node. Without evidence, which happens only when general knowledge is allowed, the answer begins by saying
    so."""

    async def answer_conversational(state: AnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        # What writes with a model is loaded with the first answer of this style: structured ones come sooner (L10).
        from groundgraph.chains.write_answer import write_answer

        started = time.perf_counter()
        task = await assignment(state, runtime, settings, evidence)
        language, prompts = task.turn["language"], templates.prompts
        if not task.evidence:
            task = replace(task, prefix=prompts.render("general_knowledge", language=language) + "\n\n")
        draft = await write_answer(task, model, settings, templates)
        draft.setdefault("style", "conversational")
        draft["asked_style"] = style_asked_for(state, task.options)
        if not task.evidence:
            draft["outcome"] = "insufficient"
            draft["notes"] = [prompts.note("general_knowledge", language), *draft["notes"]]
        runtime.stream_writer({"stage": "answer_conversational", "finish": draft["finish"]})
        draft["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        return {"draft": draft}

    return answer_conversational
