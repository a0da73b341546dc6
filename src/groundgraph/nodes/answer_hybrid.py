"""The hybrid style: a model's answer, then the evidence it rests on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from groundgraph.answers.answer_prompt import Assignment
from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.core.errors import TemplateInvalid
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Draft
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, answering
from groundgraph.nodes.node import Node
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def answer_hybrid(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The node. The appendix is the last piece of the stream, so that what was streamed is the whole answer."""

    async def write(task: Assignment) -> Draft:
        # What writes with a model is loaded with the first answer of this style: structured ones come sooner.
        from groundgraph.answers.write_answer import write_answer

        language = task.turn["language"]
        notes: list[str] = []
        try:
            appendix = templates.provenance(task.variables(templates), language)
        except TemplateInvalid as error:
            problem = error.problems[0]
            notes = [templates.prompts.note("template_failed", language, key=problem.key, reason=problem.message)]
            appendix = templates.built_in().provenance(task.variables(templates), language)
        draft = await write_answer(replace(task, suffix=f"\n\n{appendix}"), model, settings, templates)
        draft["notes"] = [*notes, *draft["notes"]]
        return draft

    return answering("hybrid", write, settings, evidence)
