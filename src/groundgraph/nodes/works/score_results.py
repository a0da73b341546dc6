"""Relevances on one scale, the user's own words in them, and the weak results dropped."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from groundgraph.answers.sentence_index import stems_of
from groundgraph.answers.strategy_chain import Ran, Strategy, first_available
from groundgraph.core.evidence import EvidenceRecord, Hit
from groundgraph.nodes.process_results import Change, View, Work, WorkParts, hits_of, ref_of
from groundgraph.text.words import query_stems

# Relevances of different sources on one scale.


def min_max(scores: Sequence[float]) -> list[float]:
    """(x - min) / (max - min): the best score becomes 1 and the worst 0; equal scores, or a single one, become 1."""
    values = finite(scores)
    low, high = min(values, default=0.0), max(values, default=0.0)
    # Halved, so that the span between two very large numbers stays a number.
    span = high / 2 - low / 2
    return [min(1.0, (value / 2 - low / 2) / span) if span > 0 else 1.0 for value in values]


def z_score(scores: Sequence[float]) -> list[float]:
    """The standard normal distribution function at (x - mean) / deviation, so an average score becomes 0.5.

    The deviation is that of the population. Equal scores, or a single one, become 0.5.
    """
    values = finite(scores)
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    scaled = [value / largest for value in values]
    mean = math.fsum(scaled) / len(scaled) if scaled else 0.0
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in scaled) / len(scaled)) if scaled else 0.0
    if deviation < 1e-12:
        return [0.5] * len(values)
    return [0.5 * (1 + math.erf((value - mean) / deviation / math.sqrt(2))) for value in scaled]


def rank(scores: Sequence[float]) -> list[float]:
    """1 - (rank - 1) / n, rank 1 being the best of n (the Borda count, scaled); equal scores share the better rank."""
    values = finite(scores)
    first: dict[float, int] = {}
    for place, value in enumerate(sorted(values, reverse=True)):
        first.setdefault(value, place)
    return [1 - first[value] / len(values) for value in values]


def finite(scores: Iterable[float]) -> list[float]:
    """`scores` with infinities as the largest numbers there are, and what is no number as the least of the others."""
    bound = 1.7e308
    kept = [None if math.isnan(score) else min(bound, max(-bound, float(score))) for score in scores]
    least = min((score for score in kept if score is not None), default=0.0)
    return [least if score is None else score for score in kept]


METHODS: dict[str, Callable[[Sequence[float]], list[float]]] = {"min_max": min_max, "z_score": z_score, "rank": rank}


def normalize(hits: Sequence[Hit], method: str, weights: Mapping[str, int]) -> list[Hit]:
    """The hits of all sources by their normalised relevance, best first; ties keep their order.

    Each source's scores are normalised by themselves, and count by the share of the source's weight in the largest
    weight, so that a weight means the same as in the merge.
    """
    scale = METHODS[method]
    most = max((weights.get(hit.source_name, 1) for hit in hits), default=1)
    relevance: dict[int, float] = {}
    for name in dict.fromkeys(hit.source_name for hit in hits):
        places = [place for place, hit in enumerate(hits) if hit.source_name == name]
        share = weights.get(name, 1) / most
        for place, value in zip(places, scale([hits[place].score for place in places]), strict=True):
            relevance[place] = round(value * share, 6)
    rated = [hit._replace(relevance=relevance[place], score=relevance[place]) for place, hit in enumerate(hits)]
    return sorted(rated, key=lambda hit: -hit.relevance)


# Dropping what is far below the best result.


def relative_threshold(hits: Sequence[Hit], share: float, min_results: int = 3) -> list[Hit]:
    """The hits whose relevance is at least `share` of the best one, in their order.

    Where fewer than `min_results` are, the most relevant `min_results` stay; of equals the earlier one. The best result
    itself always stays. A relevance outside 0 to 1 counts as the nearest of the two, what is no number as less than 0.
    """
    values = [-1.0 if math.isnan(hit.relevance) else min(1.0, max(0.0, hit.relevance)) for hit in hits]
    cut = share * max(values, default=0.0)
    kept = {place for place, value in enumerate(values) if value >= cut}
    best_first = sorted(range(len(hits)), key=lambda place: -values[place])
    kept |= set(best_first[: max(1, min_results)]) if len(kept) < max(1, min_results) else set()
    return [hit for place, hit in enumerate(hits) if place in kept]


# The user's own words in the relevance of a result.


def query_overlap(asked: Collection[str], record: EvidenceRecord) -> float:
    """The share of the stems `asked` that a record holds in its text, title or section, 0 to 1; 0 for no stems."""
    named = " ".join(str(record["metadata"].get(name) or "") for name in ("title", "section"))
    text, names = stems_of(record["content"]), stems_of(named)
    return sum(stem in text or stem in names for stem in asked) / len(asked) if asked else 0.0


def blend_query_overlap(
    hits: Sequence[Hit], records: Mapping[str, EvidenceRecord], message: str, weight: float
) -> list[Hit]:
    """The hits by (1 - weight) * relevance + weight * share of the user's words held, best first.

    Words are compared by their stems, in any script, without stop words. A message without any word changes nothing.
    Ties keep their order.
    """
    asked = query_stems(message)
    if not asked:
        return list(hits)
    values = [min(1.0, max(0.0, value)) for value in finite(hit.relevance for hit in hits)]
    blended = [
        round((1 - weight) * value + weight * query_overlap(asked, records[hit.key]), 6)
        for hit, value in zip(hits, values, strict=True)
    ]
    rated = [hit._replace(relevance=value, score=value) for hit, value in zip(hits, blended, strict=True)]
    return sorted(rated, key=lambda hit: -hit.relevance)


def score_results(parts: WorkParts) -> Work:
    """The work; each part of it runs only when it is configured."""
    wanted = parts.settings.result_processing
    weights = {entry.name: entry.weight for entry in parts.settings.sources}

    async def score_results(view: View) -> Change:
        records = await view.records()
        hits, change = hits_of(view.refs, records), Change([], why="relative_threshold")
        if wanted.normalize_steps:
            ran = await _normalized(hits, [step.method for step in wanted.normalize_steps], weights)
            change.ran["normalize"] = ran.record()
            hits = hits if ran.value is None else ran.value
            if ran.value is None:
                change.notes = [view.note("step_failed", step="normalize_strategy", reason=ran.classes)]
        if wanted.query_rerank_weight is not None:
            hits = blend_query_overlap(hits, records, view.turn["question"], wanted.query_rerank_weight)
            change.ran["query_rerank"] = {"weight": wanted.query_rerank_weight}
        if wanted.relative_threshold is not None:
            kept = relative_threshold(hits, wanted.relative_threshold, wanted.min_results)
            dropped, hits = len(hits) - len(kept), kept
            change.ran["relative_threshold"] = {"threshold": wanted.relative_threshold, "dropped": dropped}
        change.refs = [ref_of(hit) for hit in hits]
        return change

    return score_results


async def _normalized(hits: Sequence[Hit], methods: Sequence[str], weights: Mapping[str, int]) -> Ran[list[Hit]]:
    def strategy(method: str) -> Strategy[list[Hit]]:
        async def run() -> list[Hit]:
            return normalize(hits, method, weights)

        return method, run

    return await first_available([strategy(method) for method in methods])
