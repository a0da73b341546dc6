"""Which style answers a turn, and whether there is anything to answer from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from groundgraph.chains.answerable import answerable, missing_words
from groundgraph.core.context import Context, Options, options_in_force
from groundgraph.core.evidence import SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.follow_up import own_words
from groundgraph.core.settings import Settings
from groundgraph.core.turn_outcome import absence_outcome, asked_style
from groundgraph.core.turn_values import Needs, Ranking, Ref
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.ranking_step import RankingInput

# The kind of source whose evidence can be judged: it is text, and was found by its words or with a known cosine. What
# a table computes, or a retriever finds by means of its own, may share no word with the question and be right.
JUDGED = "knowledge_base"
# What a source gives in place of a number that would have to be computed.
NEEDS = "needs_computation"
# With this chance some other evidence states what one source says would have to be computed.
STATED = 0.5


@dataclass(frozen=True)
class AnswerChoice:
    """What the last step of the retrieval does at its end; see `Ending`.

    Attributes:
        settings: what the graph was built with.
        evidence: where the texts are.
        has_model: whether a model could answer from general knowledge.
    """

    settings: Settings
    evidence: EvidenceStore
    has_model: bool

    async def __call__(self, state: RankingInput, runtime: Runtime[Context], ranking: Ranking) -> Ranking:
        """`ranking` with the style that writes the answer, and without evidence when that is not good enough."""
        options = options_in_force(self.settings, state["turn"]["options"], runtime.context)
        scope = evidence_scope(self.settings, runtime, state["turn"]["options"])
        found = await self.evidence.results(runtime.store, ranking["refs"], state.get("bodies"), scope=scope)
        known = _with_cosines(found, ranking, state)
        ranking, needs = _without_needs(ranking, found)
        results = [result for result in known if not result.metadata.get(NEEDS)]
        asked, leans = _judged_questions(state)
        if leans:
            # How relevant they are to words of the conversation is no sign of an answer.
            results = [replace(result, relevance=0.0) for result in results]
        chances = {question: answerable(question, results) for question in asked}
        best = max(chances, key=lambda question: chances[question])
        chance = chances[best]
        judged = _judged(results) or (leans and not any(result.metadata.get("computed") for result in results))
        refs = ranking["refs"] if not judged or self._good_enough(chance) else []
        style = self._style(state, options, found=bool(refs))
        chosen: Ranking = {**ranking, "refs": refs, "answerable": round(chance, 4), "style": style}
        if needs and chance < STATED:
            # A model could only make the number up.
            chosen |= {"needs": needs, "style": "structured" if refs else None}
        if not refs:
            return {**chosen, "clusters": []}
        if judged and chance < self.settings.retrieval.doubt_threshold:
            chosen["doubt"] = missing_words(best, results)
        return chosen

    def _good_enough(self, chance: float) -> bool:
        least = self.settings.retrieval.answerable_threshold
        return least is None or chance >= least

    def _style(self, state: RankingInput, options: Options, *, found: bool) -> str | None:
        """The style; None when there is nothing to write from.

        Without evidence nothing is written, unless a model may answer from general knowledge and it is certain that the
        sources do not cover the question.
        """
        if found:
            return asked_style(state["intent"], state.get("metadata", {}), options)
        may_invent = self.has_model and options.allow_parametric is True
        uncovered = absence_outcome(state["retrievals"].values()) == "insufficient"
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


def _without_needs(ranking: Ranking, found: Sequence[SourceResult]) -> tuple[Ranking, list[Needs]]:
    """The ranking without what only says that something would have to be computed, and what that is."""
    told = zip(ranking["refs"], found, strict=True)
    needs: list[Needs] = []
    refs: list[Ref] = []
    for ref, result in told:
        if result.metadata.get(NEEDS):
            needs.append({"function": str(result.metadata["needs"]), "tables": list(result.metadata["tables"])})
        else:
            refs.append(ref)
    return ({**ranking, "refs": refs} if needs else ranking), needs


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
