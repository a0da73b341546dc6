"""The hybrid style: a model's answer, then the evidence it rests on."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.core.context import Context
from groundgraph.core.errors import TemplateInvalid
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, assignment, style_asked_for
from groundgraph.nodes.node import Node

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def answer_hybrid(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The node. The appendix is the last piece of the stream, so that what was streamed is the whole answer."""

    async def answer_hybrid(state: AnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        # What writes with a model is loaded with the first answer of this style: structured ones come sooner (L10).
        from groundgraph.chains.write_answer import write_answer

        started = time.perf_counter()
        task = await assignment(state, runtime, settings, evidence)
        language = task.turn["language"]
        notes: list[str] = []
        try:
            appendix = templates.provenance(task.variables, language)
        except TemplateInvalid as error:
            problem = error.problems[0]
            notes = [templates.prompts.note("template_failed", language, key=problem.key, reason=problem.message)]
            appendix = templates.built_in().provenance(task.variables, language)
        draft = await write_answer(replace(task, suffix=f"\n\n{appendix}"), model, settings, templates)
        draft.setdefault("style", "hybrid")
        draft["asked_style"] = style_asked_for(state, task.options)
        draft["notes"] = [*notes, *draft["notes"]]
        runtime.stream_writer({"stage": "answer_hybrid", "finish": draft["finish"]})
        draft["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        return {"draft": draft}

    return answer_hybrid
