"""Whether the evidence can answer the question, and which style answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from groundgraph.chains.answerable import answerable, missing_words
from groundgraph.core.evidence import SourceResult
from groundgraph.core.follow_up import own_words
from groundgraph.core.settings import Settings
from groundgraph.core.turn_outcome import absence_outcome, asked_style
from groundgraph.core.turn_values import Needs, Ranking, Ref
from groundgraph.nodes.works.work import Change, RankingInput, View, Work, WorkParts

# The kind of source whose evidence can be judged: it is text, and was found by its words or with a known cosine. What
# a table computes, or a retriever finds by means of its own, may share no word with the question and be right.
JUDGED = "knowledge_base"
# What a source gives in place of a number that would have to be computed.
NEEDS = "needs_computation"
# With this chance some other evidence states what one source says would have to be computed.
STATED = 0.5


def judge_evidence(parts: WorkParts) -> Work:
    """The work: all evidence stays, or none."""
    return Judge(parts.settings, has_model=parts.chat_model is not None)


@dataclass(frozen=True)
class Judge:
    """See `judge_evidence`.

    Attributes:
        settings: what the graph was built with.
        has_model: whether a model could answer from general knowledge.
    """

    settings: Settings
    has_model: bool

    async def __call__(self, view: View) -> Change:
        """The style that writes the answer, and no evidence when that is not good enough."""
        found = await view.results()
        told = [bool(result.metadata.get(NEEDS)) for result in found]
        needs = [_needs(result) for result, needed in zip(found, told, strict=True) if needed]
        known = _with_cosines(found, view.ranking, view.state)
        results = [result for result, needed in zip(known, told, strict=True) if not needed]
        refs = [ref for ref, needed in zip(view.refs, told, strict=True) if not needed]
        asked, leans = _judged_questions(view.state)
        if leans:
            # How relevant they are to words of the conversation is no sign of an answer.
            results = [replace(result, relevance=0.0) for result in results]
        chances = {question: answerable(question, results) for question in asked}
        best = max(chances, key=lambda question: chances[question])
        chance = chances[best]
        judged = _judged(results) or (leans and not any(result.metadata.get("computed") for result in results))
        stay = refs if not judged or self._good_enough(chance) else []
        values: Ranking = {"answerable": round(chance, 4), "style": self._style(view, found=bool(stay))}
        if needs and chance < STATED:
            # A model could only make the number up.
            values |= {"needs": needs, "style": "structured" if stay else None}
        if not stay:
            values["clusters"] = []
        elif judged and chance < self.settings.retrieval.doubt_threshold:
            values["doubt"] = missing_words(best, results)
        why = {ref[0]: "needs_computation" for ref, needed in zip(view.refs, told, strict=True) if needed}
        return Change(stay, values=values, why={**{ref[0]: "answerable" for ref in refs}, **why})

    def _good_enough(self, chance: float) -> bool:
        least = self.settings.retrieval.answerable_threshold
        return least is None or chance >= least

    def _style(self, view: View, *, found: bool) -> str | None:
        """The style; None when there is nothing to write from.

        Without evidence nothing is written, unless a model may answer from general knowledge and it is certain that the
        sources do not cover the question. None is asked to greet from it.
        """
        if found:
            return asked_style(view.state["intent"], view.state.get("metadata", {}), view.options)
        if "small_talk" in view.turn:
            return None
        may_invent = self.has_model and view.options.allow_parametric is True
        uncovered = absence_outcome(view.state["retrievals"].values()) == "insufficient"
        return "conversational" if may_invent and uncovered else None


def _judged_questions(state: RankingInput) -> tuple[list[str], bool]:
    """The forms of the question against which the evidence is held, and whether others were searched beside them.

    A model may have put the question in other words, in the language of the documents for example. What was only asked
    before may add evidence, but never makes an answer, unless the message has no words of its own.
    """
    intent = state["intent"]
    question = state["turn"]["question"]
    queries = intent.get("text_queries", [])
    asked = intent.get("rewritten") or question
    own = [query for query in queries if query in asked]
    if intent.get("mode") == "message" and len(own) < len(queries) and own_words(asked):
        return list(dict.fromkeys([asked, *own])), True
    return list(dict.fromkeys([question, *queries])), False


def _needs(result: SourceResult) -> Needs:
    """What a result says would have to be computed."""
    return {"function": str(result.metadata["needs"]), "tables": list(result.metadata["tables"])}


def _judged(results: Sequence[SourceResult]) -> bool:
    return all(result.source_type == JUDGED for result in results)


def _with_cosines(results: Sequence[SourceResult], ranking: Ranking, state: RankingInput) -> list[SourceResult]:
    """The evidence with the cosine of question and text where a source gave one; a joined piece has its best."""
    cosines: dict[str, float] = {}
    for retrieval in state["retrievals"].values():
        for key, cosine in retrieval.get("cosines", {}).items():
            cosines[key] = max(cosine, cosines.get(key, cosine))
    if not cosines:
        return list(results)
    return [
        replace(result, scores={**result.scores, **_best(ref, ranking, cosines)})
        for result, ref in zip(results, ranking["refs"], strict=True)
    ]


def _best(ref: Ref, ranking: Ranking, cosines: Mapping[str, float]) -> dict[str, float]:
    parts = ranking.get("joined", {}).get(ref[0], [ref[0]])
    known = [cosines[part] for part in parts if part in cosines]
    return {"vector": max(known)} if known else {}
