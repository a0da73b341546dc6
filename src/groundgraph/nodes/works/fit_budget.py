"""What a turn shows has to fit its budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from groundgraph.answers.budget import Budget, cut_to, fit, fits_all
from groundgraph.answers.structured_answer import CONTEXT_SEPARATOR, context_piece
from groundgraph.core.evidence import EvidenceRecord, SourceResult, evidence_key, to_record
from groundgraph.core.turn_values import Ref
from groundgraph.nodes.process_results import Change, View, Work, WorkParts, counted, parts_of


def fit_budget(parts: WorkParts) -> Work:
    """The work.

    Where even the best piece is larger than the budget, its beginning is shown: cut between words, or with the stages
    of autonomous retrieval between the facts that it consists of.
    """
    counter, budgets = parts.counter, parts.budgets
    whole_facts = "budget" in parts.settings.stages and parts.path != "cascade"

    async def fit_budget(view: View) -> Change:
        refs, results = view.refs, await view.results()
        form = Form(view.options.citation_format, whole_facts=whole_facts, scope=view.scope)
        chosen = await counted(counter, partial(choose, refs, results, budgets, form))
        left_out = len(refs) - len(chosen.refs)
        told = {"tokens_by": counter.method} if any(one.size is counter for one in budgets) else {}
        ran = {"budget": {"left_out": left_out, "shortened": len(chosen.cut), **told}}
        change = Change(chosen.refs, ran, records=chosen.cut, why="budget")
        if lost := left_out + len(chosen.cut):
            change.notes = [view.note("budget_cut", count=lost)]
        for key in chosen.cut:
            joined = {**view.ranking["joined"], key: parts_of(view.ranking, refs[0][0])}
            change.ranking = {**view.ranking, "joined": joined}
        return change

    return fit_budget


@dataclass(frozen=True)
class Form:
    """How a piece is shown: what its label resolves to, and whether it is cut between its facts only; and the scope
    that it is kept in."""

    citation_format: str
    whole_facts: bool = False
    scope: str = ""


@dataclass(frozen=True)
class Chosen:
    """What fits: references, and the record of a piece that was shortened to fit, by its key."""

    refs: Sequence[Ref]
    cut: dict[str, EvidenceRecord] = field(default_factory=dict)


def choose(refs: Sequence[Ref], results: Sequence[SourceResult], budgets: Sequence[Budget], form: Form) -> Chosen:
    """The pieces that fit together, each as a context shows it with the widest label."""
    pieces = [context_piece(len(results), result, form.citation_format) for result in results]
    kept = [refs[place] for place in fit(pieces, budgets, CONTEXT_SEPARATOR)]
    if kept or not refs:
        return Chosen(kept)

    def fits(text: str) -> bool:
        piece = context_piece(1, replace(results[0], content=text), form.citation_format)
        return fits_all(piece, budgets)

    beginning = first_facts(results[0], fits) if form.whole_facts else cut_to(results[0].content, fits)
    if not beginning:
        return Chosen([])
    record = _shortened(to_record(results[0], form.scope), beginning)
    key = evidence_key(record)
    return Chosen([[key, *refs[0][1:]]], {key: record})


def first_facts(result: SourceResult, fits: Callable[[str], bool]) -> str:
    """The longest beginning of a piece that ends with a whole fact and `fits`; empty when the piece is one fact."""
    facts = result.metadata.get("facts")
    if not isinstance(facts, list) or "\n".join(map(str, facts)) != result.content:
        return ""
    beginnings = ("\n".join(map(str, facts[:count])) for count in range(len(facts) - 1, 0, -1))
    return next((text for text in beginnings if fits(text)), "")


def _shortened(record: EvidenceRecord, beginning: str) -> EvidenceRecord:
    metadata = {**record["metadata"], "shortened": True}
    start = metadata.get("start")
    if isinstance(start, int) and "end" in metadata:
        metadata["end"] = start + len(beginning)
    return {**record, "content": beginning, "metadata": metadata}
