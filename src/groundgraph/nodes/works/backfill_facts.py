"""Facts of the dialogue's state fill what the evidence leaves of the budget, behind a separator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from groundgraph.answers.budget import facts_that_fit
from groundgraph.answers.structured_answer import CONTEXT_SEPARATOR, context_piece, context_text
from groundgraph.core.turn_values import Ref, StateValue
from groundgraph.nodes.process_results import Change, View, Work, WorkParts, counted, parts_of
from groundgraph.nodes.works.judge_evidence import judge_evidence
from groundgraph.prompts import fenced


def backfill_facts(parts: WorkParts) -> Work:
    """The work. Each fact is a piece of evidence with a label of its own, so that a reader can check what it says.

    What was found has been judged by itself before, since facts of the state must not carry it; with the facts it is
    judged once more.
    """
    judge = judge_evidence(parts)

    async def backfill_facts(view: View) -> Change:
        named, closest = view.turn["state"], view.refs
        if view.ranking["insufficient"]:
            # What only comes closest says nothing beside facts, though it be one of them.
            view = replace(view, ranking={**view.ranking, "refs": []})
        facts = _facts(view, named) if named else []
        if named is None or not facts:
            return Change(closest)
        refs = view.refs
        separator = parts.prompts.render("state_separator", language=view.turn["language"]).strip()
        kept = await _fitting(parts, view, facts, separator)
        ran = {"state": named["name"], "facts": len(kept), "left_out": len(facts) - len(kept)}
        change = Change([*refs, *kept], {"backfill": ran}, told=ran)
        if kept:
            change.ranking = {**view.ranking, "divider": {"at": len(refs), "text": separator}}
        judged = await judge(view.after(change))
        return replace(change, refs=judged.refs, ranking=judged.ranking)

    return backfill_facts


async def _fitting(parts: WorkParts, view: View, facts: list[Ref], separator: str) -> list[Ref]:
    """The facts that fit behind what was found."""
    refs, form, clusters = view.refs, view.options.citation_format, view.ranking["clusters"]
    results = await view.results([*refs, *facts])
    context = context_text(results[: len(refs)], form, clusters)
    pieces = [context_piece(label, result, form) for label, result in enumerate(results, 1)]
    # As they are shown beside the tags of clusters.
    pieces = [fenced(piece) for piece in pieces] if clusters else pieces
    measured = (context, pieces[len(refs) :], separator, parts.budgets, CONTEXT_SEPARATOR)
    return [facts[place] for place in await counted(parts.counter, partial(facts_that_fit, *measured))]


def _facts(view: View, named: StateValue) -> list[Ref]:
    """What the state names: the facts that were given, then those of its categories in the order of the sources; none
    that the evidence holds already."""
    shown = {part for ref in view.refs for part in (ref[0], *parts_of(view.ranking, ref[0]))}
    given: list[Ref] = [[key, 1.0, 1.0] for key in named["facts"]]
    listed = [
        ref
        for _, entry in sorted(view.state["retrievals"].items())
        if entry["kind"] == "state_facts"
        for ref in entry["refs"]
    ]
    unique: dict[str, Ref] = {}
    for ref in (*given, *listed):
        if ref[0] not in shown:
            unique.setdefault(ref[0], ref)
    return list(unique.values())
