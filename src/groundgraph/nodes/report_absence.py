"""Nothing was found: say whether the sources do not cover the question or could not be asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from groundgraph.answers.label_gate import LabelGate
from groundgraph.answers.provenance import absence_outcome, is_out, lacks_filter
from groundgraph.answers.structured_answer import AnswerTemplates, template_variables
from groundgraph.core.errors import TemplateInvalid
from groundgraph.core.failure import LASTING
from groundgraph.core.turn_values import EMPTY_DRAFT, Outcome, Ranking, Retrieval
from groundgraph.nodes.answer_styles import AnswerInput, AnswerUpdate, style_asked_for
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import SynthesisSettings
from groundgraph.settings.context import Context, Options, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.text.small_talk import parting_words
from groundgraph.text.templates import has_branch_without

# What a template of the user's says when there are no results.


def says_absence(synthesis: SynthesisSettings) -> bool:
    """Whether the template of the structured style has words of its own for a turn that found nothing."""
    source = synthesis.template or synthesis.provenance_template
    return source is not None and any(has_branch_without(source, name) for name in ("results", "results_by_source"))


def absence_answer(templates: AnswerTemplates, variables: Mapping[str, Any], language: str) -> str:
    """These words, without anything that reads as a citation; perhaps none.

    Raises:
        TemplateInvalid: the template fails on these variables.
    """
    gate = LabelGate(allowed=())
    return gate.feed(templates.structured(variables, language), final=True).strip()


def report_absence(settings: Settings, prompts: Prompts, templates: AnswerTemplates) -> Node[AnswerInput, AnswerUpdate]:
    """The node. No model is called: it could only invent something.

    Who says thanks or goodbye, and little else, asks nothing that could be uncovered. A template of the structured
    style that has words for no results says them in place of ours; that a source was down is always said in ours, which
    no template can tell apart.
    """
    own_words = says_absence(settings.synthesis)

    async def report_absence(state: AnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        if small_talk := state["turn"]["small_talk"]:
            # Nothing came of the facts of the dialogue's state, so the reply that was ready stands.
            runtime.stream_writer({"stage": "report_absence", "outcome": small_talk["outcome"]})
            return {"draft": small_talk}
        language = state["turn"]["language"]
        retrievals = state["retrievals"].values()
        outcome = absence_outcome(retrievals)
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        style = style_asked_for(state, options)
        notes: list[str] = []
        kind = parting_words(state["turn"]["question"], settings.fast_path.recognised)
        if kind and outcome == "insufficient":
            outcome, text = "chat", prompts.render(kind, language=language)
        else:
            text = _down_or_left_out(prompts, retrievals, outcome, language)
            if not text and own_words and style == "structured":
                text = _own_text(state, templates, options, notes)
            text = text or _nothing(prompts, state["ranking"], language)
        runtime.stream_writer({"stage": "report_absence", "outcome": outcome})
        return {
            "draft": {
                **EMPTY_DRAFT,
                "text": text.strip(),
                "style": "fixed",
                "asked_style": style,
                "outcome": outcome,
                "finish": "stop",
                "notes": notes,
            },
        }

    return report_absence


def _nothing(prompts: Prompts, ranking: Ranking, language: str) -> str:
    """That nothing was found, or nothing that answers by itself what would have to be computed over rows: of that it
    would be false to say that no source covers it."""
    return (
        prompts.note("not_computed", language)
        if ranking["needs"]
        else prompts.render("nothing_found", language=language)
    )


def _down_or_left_out(prompts: Prompts, retrievals: Collection[Retrieval], outcome: Outcome, language: str) -> str:
    """That sources were down, or were left out for want of a filter; empty where all of them answered."""
    if outcome == "unavailable":
        failed = list(dict.fromkeys(entry["source"] for entry in retrievals if is_out(entry)))
        if _stays_out(retrievals):
            return prompts.note("stays_out", language, sources=", ".join(failed))
        return prompts.render(_outage(retrievals), language=language, failed=failed)
    needing = sorted({entry["source"] for entry in retrievals if lacks_filter(entry)})
    searched = any(entry["status"] == "ok" for entry in retrievals)
    return prompts.render("left_out", language=language, needing=needing, searched=searched) if needing else ""


def _stays_out(retrievals: Iterable[Retrieval]) -> bool:
    """Whether each source that could not answer stays so until somebody mends it."""
    kinds = {entry["failure"]["kind"] if entry["failure"] else "timeout" for entry in retrievals if is_out(entry)}
    return kinds <= LASTING


def _outage(retrievals: Iterable[Retrieval]) -> str:
    """The prompt that says why nothing could be looked up: later does not help where nothing was ever taken in."""
    failures = [entry["failure"] for entry in retrievals if entry["status"] != "ok"]
    unfilled = failures and all(failure and failure["kind"] == "never_ingested" for failure in failures)
    return "never_ingested" if unfilled else "unavailable"


def _own_text(state: AnswerInput, templates: AnswerTemplates, options: Options, notes: list[str]) -> str:
    language = state["turn"]["language"]
    variables = template_variables(
        [],
        message=state["turn"]["question"],
        metadata=state.get("metadata", {}),
        intent=state["intent"],
        citation_format=options.citation_format,
    )
    try:
        return absence_answer(templates, variables, language)
    except TemplateInvalid as error:
        problem = error.problems[0]
        notes.append(templates.prompts.note("template_failed", language, key=problem.key, reason=problem.message))
        return ""
