"""The structured style: the evidence itself, by template, without a model."""

from __future__ import annotations

from groundgraph.answers.answer_prompt import Assignment
from groundgraph.answers.structured_answer import AnswerTemplates, structured_draft
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Draft
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, answering
from groundgraph.nodes.node import Node
from groundgraph.settings.settings import Settings


def answer_structured(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore
) -> Node[AnswerInput, AnswerUpdate]:
    """The node."""

    async def write(task: Assignment) -> Draft:
        draft = structured_draft(
            templates,
            task.variables(templates),
            task.turn["language"],
            opening=task.opening,
            doubt=task.doubt,
            needs=task.needs,
            listed=settings.synthesis.listing or task.asked_for_style,
        )
        return {**draft, "outcome": "insufficient"} if task.insufficient else draft

    return answering("structured", write, settings, evidence)
