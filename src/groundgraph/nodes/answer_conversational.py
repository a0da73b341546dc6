"""The conversational style: a model writes from the evidence, its labels checked while it streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from groundgraph.answers.answer_prompt import Assignment
from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Draft
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, answering
from groundgraph.nodes.node import Node
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def answer_conversational(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The node. Without evidence, which happens only when general knowledge is allowed, the answer begins by saying
    so."""

    async def write(task: Assignment) -> Draft:
        # What writes with a model is loaded with the first answer of this style: structured ones come sooner.
        from groundgraph.answers.write_answer import write_answer

        language, prompts = task.turn["language"], templates.prompts
        if not task.evidence:
            task = replace(task, prefix=prompts.render("general_knowledge", language=language) + "\n\n")
        draft = await write_answer(task, model, settings, templates)
        if not task.evidence:
            draft["outcome"] = "insufficient"
            draft["notes"] = [prompts.note("general_knowledge", language), *draft["notes"]]
        return draft

    return answering("conversational", write, settings, evidence)
