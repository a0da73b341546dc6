"""How good rankings are, per query and on the whole, and whether evidence tells answerable questions apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groundgraph.core.errors import ConfigurationError, GroundGraphError, Problem
from groundgraph.evals.bootstrap import Interval, area_interval, area_under_curve, mean_interval
from groundgraph.evals.dataset import Judgements, Query

# nDCG: Järvelin and Kekäläinen 2002, gain over log2(rank + 1). R: the share of the relevant documents found.
# MRR: the mean of 1 / rank of the first relevant document among all that were returned, 0 without one.
RETRIEVAL_MEASURES = ("nDCG@5", "nDCG@10", "R@5", "R@10", "MRR")
REFUSAL_MEASURE = "AUC"
INSTALL = 'pip install "groundgraph[eval]"'
_TREC_NAMES = {"MRR": "RR"}

PerQuery = dict[str, dict[str, float]]
"""Per measure the value of each query."""


class MeasuresMissing(GroundGraphError):
    """The package that calculates the measures is not installed."""


def require_ir_measures() -> Any:
    """The module `ir_measures`.

    Raises:
        MeasuresMissing: it is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MeasuresMissing(
            f"Measuring retrieval needs the package ir-measures ({error}). Install it: {INSTALL}"
        ) from error
    return ir_measures


def scored_queries(judged: Judgements) -> list[str]:
    """The queries that have a relevant document; only they count."""
    return [query for query, gains in judged.items() if any(gain > 0 for gain in gains.values())]


def retrieval_values(judged: Judgements, rankings: Mapping[str, Sequence[str]]) -> PerQuery:
    """Each measure of each query that counts.

    Args:
        judged: per query the gains of documents.
        rankings: per query the documents found, the best first; a query without a ranking found nothing.

    Raises:
        MeasuresMissing: see `require_ir_measures`.
    """
    ir_measures = require_ir_measures()
    names = {ir_measures.parse_measure(_TREC_NAMES.get(name, name)): name for name in RETRIEVAL_MEASURES}
    scored = scored_queries(judged)
    run = {query: {document: -float(rank) for rank, document in enumerate(rankings.get(query, ()))} for query in scored}
    values: PerQuery = {name: dict.fromkeys(scored, 0.0) for name in RETRIEVAL_MEASURES}
    for metric in ir_measures.iter_calc(list(names), {query: judged[query] for query in scored}, run):
        values[names[metric.measure]][metric.query_id] = float(metric.value)
    return values


def means(values: PerQuery) -> dict[str, float]:
    """The mean of each measure."""
    return {name: sum(own.values()) / len(own) for name, own in values.items()}


def mean_intervals(values: PerQuery) -> dict[str, Interval]:
    """The interval of each mean."""
    return {name: mean_interval(list(own.values())) for name, own in values.items()}


def classes(queries: Iterable[Query]) -> dict[str, bool]:
    """Whether each query is answerable, for those whose label says so.

    Raises:
        ConfigurationError: there are no answerable queries, or no unanswerable ones.
    """
    known = {"ANSWERABLE": True, "UNANSWERABLE": False}
    found = {query.id: known[query.label] for query in queries if query.label in known}
    if len(set(found.values())) < 2:
        raise ConfigurationError(
            [Problem("", "refusal needs queries with the label ANSWERABLE and others with the label UNANSWERABLE")]
        )
    return found


def refusal_area(scores: Mapping[str, float], answerable: Mapping[str, bool]) -> tuple[float, Interval]:
    """The AUC of `scores` for the answerable queries against the others, and its interval."""
    split = by_class(scores, answerable)
    return area_under_curve(*split), area_interval(*split)


def by_class(scores: Mapping[str, float], answerable: Mapping[str, bool]) -> tuple[list[float], list[float]]:
    """The scores of the answerable queries and those of the others, in the order of `answerable`."""
    return (
        [scores[query] for query, answer in answerable.items() if answer],
        [scores[query] for query, answer in answerable.items() if not answer],
    )
