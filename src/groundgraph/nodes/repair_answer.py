"""One more attempt of the model, told exactly what does not agree with the evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from groundgraph.answers.label_gate import at_their_places
from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.answers.write_answer import Assignment, Correction, write_answer
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Check, Draft
from groundgraph.nodes.answer_styles import AnswerInput, AnswerUpdate, Written, writing
from groundgraph.nodes.node import Node
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def repair_answer(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The node. When the model fails, the first answer stays with a note; when it finds none any more, or declines,
    that is the outcome. Either way there is no third attempt."""

    async def again(state: AnswerInput, task: Assignment) -> Written:
        first = state["draft"]
        second = await write_answer(_again(task, first, state["check"], templates), model, settings, templates)
        repaired = bool(second["written"]) and second["finish"] in ("stop", "length")
        if second["outcome"] == "insufficient" and second["finish"] != "error":
            # The second draft was taken back by its model.
            return {**second, "calls": [*first["calls"], *second["calls"]], "repaired": True}, {"repaired": False}
        merge = _merged if repaired else _kept
        draft = merge(first, second, task, templates)
        return draft, {"repaired": repaired}

    return writing("repair_answer", again, settings, evidence)


def _again(task: Assignment, first: Draft, check: Check, templates: AnswerTemplates) -> Assignment:
    """The same assignment, with the first answer under the numbers that the model knows."""
    language = task.turn["language"]
    text, written = first["text"], first["written"]
    return replace(
        task,
        prefix="" if task.evidence else templates.prompts.render("general_knowledge", language=language) + "\n\n",
        suffix=at_their_places(text[written:], first["order"]),
        calls=[*task.calls, *first["calls"]],
        correction=Correction(at_their_places(text[:written], first["order"]), check["flags"]),
    )


def _merged(first: Draft, second: Draft, task: Assignment, templates: AnswerTemplates) -> Draft:
    note, language = templates.prompts.note, task.turn["language"]
    calls = [*first["calls"], *second["calls"]]
    # What became of the first text is not true of the second.
    past = (note("abstained", language, missing=""), note("answer_truncated", language))
    notes = list(dict.fromkeys([*(one for one in first["notes"] if one not in past), *second["notes"]]))
    said = ("text", "outcome", "finish", "order", "removed", "removed_links", "written", "body")
    again: Any = {name: value for name, value in second.items() if name in said}
    # Without evidence it is none, whatever was written.
    again |= {} if task.evidence else {"outcome": first["outcome"]}
    return {**first, **again, "calls": calls, "notes": notes, "repaired": True}


def _kept(first: Draft, second: Draft, task: Assignment, templates: AnswerTemplates) -> Draft:
    calls = [*first["calls"], *second["calls"]]
    note = templates.prompts.note("repair_failed", task.turn["language"])
    return {**first, "calls": calls, "notes": [*first["notes"], note], "repaired": True}
