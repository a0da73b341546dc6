"""The settings that a check advises for its model, each with the figure that it rests on."""

from __future__ import annotations

import json

from groundgraph.evals.model_check.figures import ModelCheck, Share
from groundgraph.evals.model_check.run_cases import BY_DOCUMENT, FORMS, REPAIRED
from groundgraph.settings.services import ModelSettings

# A stage in which a model errs more often does more harm than good.
_TRUSTED = 0.75
# What a profile of LangChain says of a model whose best form it is; JSON mode and text are what is left.
_PROFILES = {
    "json_schema": {"structured_output": True},
    "function_calling": {"structured_output": False, "tool_calling": True},
    "json_mode": {"structured_output": False, "tool_calling": False},
    "text": {"structured_output": False, "tool_calling": False},
}


def advised_settings(check: ModelCheck, model: ModelSettings | None) -> str:
    """A piece of `groundgraph.yaml` for the model, without its secrets.

    Args:
        check: what was found.
        model: the section `llm` that was checked; None for a model from Python, which is left out.
    """
    return "\n".join([*_model(check, model), *_queries(check), *_citations(check), *_repair(check), *_judge(check), ""])


def _model(check: ModelCheck, model: ModelSettings | None) -> list[str]:
    best = best_form(check)
    profile = None if best == check.form else _PROFILES.get(best)
    told = [f"# Objects filled in by {FORMS[best]}: {_of(check.share(best))}."]
    if model is None:
        return told
    named = {"provider": model.provider, "model": model.model, "profile": profile}
    shown = ", ".join(f"{key}: {json.dumps(value)}" for key, value in named.items() if value is not None)
    return [*told, f"llm: {{{shown}}}"]


def best_form(check: ModelCheck) -> str:
    """The form in which the model filled in the most objects; of equal ones that in which it is asked already."""
    return max(FORMS, key=lambda form: (check.share(form).right, form == check.form))


def _queries(check: ModelCheck) -> list[str]:
    share = check.share("queries")
    mode = "extract" if share.value >= _TRUSTED else "static"
    meaning = "it writes queries" if mode == "extract" else "the message itself is searched for"
    return [f"# Right queries: {_of(share)}, so {meaning}.", f"intent: {{mode: {mode}}}"]


def _citations(check: ModelCheck) -> list[str]:
    sections = Share(
        sum(not (one.marks["form"] or one.marks["passage"]) for one in check.counting if one.case.skill == "citing"),
        sum(one.case.skill == "citing" for one in check.counting),
    )
    documents = check.share(BY_DOCUMENT)
    chosen = "source" if documents.right > sections.right else "section"
    told = f"# Cited rightly: {_of(sections)} by section, {_of(documents)} by document."
    return [told, f"synthesis: {{require_citations: true, citation_format: {chosen}}}"]


def _repair(check: ModelCheck) -> list[str]:
    mended = check.share(REPAIRED)
    policy = "repair" if mended.n and mended.right * 2 >= mended.n else "annotate"
    told = f"# Wrong citations mended when told of them: {_of(mended)}." if mended.n else "# No citation was to mend."
    second, cost = check.share("entailment"), check.per_sentence()["tokens"]
    opinion = ", entailment: annotate" if second.value >= _TRUSTED else ""
    trusted = f"# Denials and swaps told from what evidence says: {_of(second)}, for about {cost} tokens a sentence"
    return [
        told,
        f"{trusted}{', so it can give a second opinion.' if opinion else ': ask another model for a second opinion.'}",
        f"citation_check: {{labels: {policy}, uncited: {policy}, support: {policy}{opinion}}}",
    ]


def _judge(check: ModelCheck) -> list[str]:
    judged = [one for one in check.counting if one.case.skill == "judging"]
    wrong = [len(one.case.read) for one in judged if not one.right]
    sizes = sorted({len(one.case.read) for one in judged if len(one.case.read) < min(wrong, default=1_000)})
    if not sizes:
        return ["# It lost count of four passages or misjudged them: leave reranking to something else."]
    told = f"# It graded {sizes[-1]} passages without a mistake; should you want it as a reranker:"
    return [told, f"# reranker: {{enabled: true, type: judge, candidates_count: {sizes[-1]}}}"]


def _of(share: Share) -> str:
    return f"{share.right} of {share.n}"
