"""How good rankings are, per query and on the whole, and whether evidence tells answerable questions apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from groundgraph.answers.citations import sentences_to_cite
from groundgraph.core.errors import ConfigurationError, GroundGraphError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.evals.dataset import Corpus, Judgements, Passage, Query
from groundgraph.text.words import sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# How sure a figure is: percentile bootstrap over queries (Efron and Tibshirani 1993, chapter 13).
#
# Every function draws with the same fixed seed, so a figure has the same interval on every machine.

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20260101

Interval = tuple[float, float]


def mean_interval(values: Sequence[float]) -> Interval:
    """The interval of the mean of `values`, one per query; for a difference of two runs, of the paired differences.

    Raises:
        ValueError: there are no values.
    """
    import numpy as np

    if not values:
        raise ValueError("there are no values to resample")
    array = np.asarray(values, dtype=float)
    random = np.random.default_rng(SEED)
    # As many resamples at once as stay near the processor.
    at_once = max(1, 65_000 // len(array))
    means = [
        mean
        for first in range(0, RESAMPLES, at_once)
        for mean in array[random.integers(len(array), size=(min(at_once, RESAMPLES - first), len(array)))].mean(axis=1)
    ]
    return _percentiles(means, float(array.mean()))


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a score of `positive` is above one of `negative`, ties counting half (AUC, Mann-Whitney U).

    Raises:
        ValueError: one of the two is empty.
    """
    levels = _Levels(positive, negative)
    return levels.area(levels.positive, levels.negative)


def area_interval(positive: Sequence[float], negative: Sequence[float]) -> Interval:
    """The interval of `area_under_curve`. Each class is resampled by itself, so that both keep their size.

    Raises:
        ValueError: one of the two is empty.
    """
    levels = _Levels(positive, negative)
    areas = [levels.area(levels.positive[p], levels.negative[n]) for p, n in levels.draws()]
    return _percentiles(areas, levels.area(levels.positive, levels.negative))


def area_difference_interval(
    positive: tuple[Sequence[float], Sequence[float]], negative: tuple[Sequence[float], Sequence[float]]
) -> Interval:
    """The interval of the difference of two runs' `area_under_curve`, the first minus the second.

    Args:
        positive: the scores of the same positive queries in the first and in the second run.
        negative: those of the negative queries.

    Raises:
        ValueError: there are no positive or no negative queries.
    """
    first, second = _Levels(positive[0], negative[0]), _Levels(positive[1], negative[1])
    whole = first.area(first.positive, first.negative) - second.area(second.positive, second.negative)
    return _percentiles(
        [
            first.area(first.positive[p], first.negative[n]) - second.area(second.positive[p], second.negative[n])
            for p, n in first.draws()
        ],
        whole,
    )


class _Levels:
    """Scores as their ranks among all distinct scores, which makes the area of a resample a matter of counting."""

    def __init__(self, positive: Sequence[float], negative: Sequence[float]) -> None:
        import numpy as np

        if not positive or not negative:
            raise ValueError("an area under the curve needs positive and negative scores")
        distinct, ranks = np.unique(np.asarray([*positive, *negative], dtype=float), return_inverse=True)
        self.count = len(distinct)
        self.positive: NDArray[np.intp] = ranks[: len(positive)]
        self.negative: NDArray[np.intp] = ranks[len(positive) :]

    def draws(self) -> Iterator[tuple[Any, Any]]:
        import numpy as np

        random = np.random.default_rng(SEED)
        for _ in range(RESAMPLES):
            yield (
                random.integers(len(self.positive), size=len(self.positive)),
                random.integers(len(self.negative), size=len(self.negative)),
            )

    def area(self, positive: Any, negative: Any) -> float:
        import numpy as np

        above = np.bincount(positive, minlength=self.count)
        other = np.bincount(negative, minlength=self.count)
        below = np.cumsum(other) - other
        return float((above * (below + other / 2)).sum() / (len(positive) * len(negative)))


def _percentiles(statistics: Sequence[float], whole: float) -> Interval:
    """The middle 95 % of `statistics`, never without the figure of the whole sample, which rounding could exclude."""
    import numpy as np

    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(np.asarray(statistics, dtype=float), [tail, 100 - tail])
    return min(float(low), whole), max(float(high), whole)


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


# How well the sentences of a passage that an answer rests on are found without a model.

PRECISION, RECALL = "precision", "recall"

# The places in `Passage.sentences` that are cited for an answer.
Citer = Callable[[Query, str, Passage], set[int]]


def citation_values(queries: Iterable[Query], corpora: Iterable[Corpus], citer: Citer) -> PerQuery:
    """Precision and recall of what `citer` cites, per query the mean over its reference answers.

    Precision is the share of the cited sentences that a person marked, 0 when none is cited; recall the share of the
    marked ones that are cited.

    Raises:
        ConfigurationError: no query has a reference answer with marked sentences, or a marked sentence stands in no
            passage.
    """
    passages = {passage.id: passage for corpus in corpora for passage in corpus.passages}
    values: PerQuery = {PRECISION: {}, RECALL: {}}
    for query in queries:
        # For some answers no sentence was marked, so they tell nothing.
        marked = [number for number, answer in enumerate(query.answers) if answer.selected_sentences]
        pairs = [_pair(query, number, passages, citer) for number in marked]
        if pairs:
            values[PRECISION][query.id], values[RECALL][query.id] = map(fmean, zip(*pairs, strict=True))
    if not values[PRECISION]:
        raise ConfigurationError("citations need queries with `passage` and `answers`: {answer, selected_sentences}")
    return values


def _pair(query: Query, number: int, passages: dict[str, Passage], citer: Citer) -> tuple[float, float]:
    passage = passages.get(query.passage or "")
    if passage is None or not passage.sentences:
        raise ConfigurationError(
            f"the passage '{query.passage}' of the query '{query.id}' has no `sentences` in the corpus"
        )
    answer = query.answers[number]
    marked = {place for place, text in enumerate(passage.sentences) if text in answer.selected_sentences}
    if not marked:
        raise ConfigurationError(f"no marked sentence of the query '{query.id}' stands in its passage '{passage.id}'")
    cited = citer(query, answer.text, passage)
    right = len(cited & marked)
    return right / len(cited) if cited else 0.0, right / len(marked)


def by_sentence_scores(query: Query, answer: str, passage: Passage) -> set[int]:  # noqa: ARG001 - a `Citer`
    """What the product cites for an answer: sentences that agree with one of its sentences."""
    claims = [answer[start:end] for start, end in sentences(answer)]
    cited = sentences_to_cite(claims, {1: as_evidence(passage)})
    return places_within(passage, [(one.start, one.end) for one in cited])


def as_evidence(passage: Passage) -> SourceResult:
    """`passage` as a source gives it."""
    title = passage.text.removesuffix(passage.body).strip()
    return SourceResult(passage.body, passage.id, "corpus", "knowledge_base", metadata={"title": title})


def places_within(passage: Passage, spans: Sequence[tuple[int, int]]) -> set[int]:
    """The sentences of which half lies in one of `spans`; people and our own rules cut them differently."""
    found: set[int] = set()
    at = 0
    for place, sentence in enumerate(passage.sentences):
        start = passage.body.find(sentence, at)
        if start < 0:
            raise ConfigurationError(f"the sentences of the passage '{passage.id}' are not those of its text")
        at = start + len(sentence)
        if any(min(end, at) - max(begin, start) >= len(sentence) / 2 for begin, end in spans):
            found.add(place)
    return found
