"""Which style answers a turn, and whether there is anything to answer from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from groundgraph.chains.answerable import answerable, missing_words
from groundgraph.core.context import Context, Options, options_in_force
from groundgraph.core.evidence import SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_outcome import absence_outcome, asked_style
from groundgraph.core.turn_values import Ranking, Ref
from groundgraph.nodes.ranking_step import RankingInput

# The kind of source whose evidence can be judged: it is text, and was found by its words or with a known cosine. What
# a table computes, or a retriever finds by means of its own, may share no word with the question and be right.
JUDGED = "knowledge_base"


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
        results = await self.evidence.results(runtime.store, ranking["refs"], state.get("bodies"))
        known = _with_cosines(results, ranking, state)
        # A model may have put the question in other words, in the language of the documents for example.
        asked = dict.fromkeys([state["turn"]["question"], *state["intent"].get("text_queries", [])])
        chances = {question: answerable(question, known) for question in asked}
        best = max(chances, key=lambda question: chances[question])
        chance = chances[best]
        refs = ranking["refs"] if self._good_enough(results, chance) else []
        style = self._style(state, options, found=bool(refs))
        chosen: Ranking = {**ranking, "refs": refs, "answerable": round(chance, 4), "style": style}
        if not refs:
            return {**chosen, "clusters": []}
        if chance < self.settings.retrieval.doubt_threshold and _judged(results):
            chosen["doubt"] = missing_words(best, results)
        return chosen

    def _good_enough(self, results: Sequence[SourceResult], chance: float) -> bool:
        least = self.settings.retrieval.answerable_threshold
        return least is None or chance >= least or not _judged(results)

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
