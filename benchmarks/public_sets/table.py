"""The table of all public sets: what was measured, what was to be reached, and which differences are shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.public_sets.citers import by_quotes, by_shared_words, by_word_overlap
from benchmarks.public_sets.search_ways import Searched
from benchmarks.public_sets.sets import HYBRID, LEXICAL, VECTORS, PublicSet
from groundgraph.evals.measures import (
    Citer,
    Interval,
    by_sentence_scores,
    citation_values,
    classes,
    mean_interval,
    mean_intervals,
    means,
    refusal_area,
    retrieval_values,
)
from groundgraph.evals.report import Difference
from groundgraph.evals.run_queries import Answered
from groundgraph.settings.search import RetrievalSettings

DEFAULTS = RetrievalSettings()
LEAST = DEFAULTS.least_chance(read=False)
FIRST = 10


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % interval, and for how many queries."""

    value: float
    interval: Interval
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        title: the set or the task.
        measure: what is measured.
        figures: by way of searching, or by `product` and `baseline`.
        reach: the figure to reach, by the same keys.
        remarks: differences, each with its interval and verdict.
    """

    title: str
    measure: str
    figures: Mapping[str, Figure]
    reach: Mapping[str, float] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def lines(self) -> list[str]:
        """The row for a reader."""
        lines = [f"{self.title}: {self.measure} (n = {max(figure.n for figure in self.figures.values())})"]
        for name, figure in self.figures.items():
            wanted = self.reach.get(name)
            reached = "" if wanted is None else f"  to reach {wanted:.3f}: {'yes' if figure.value >= wanted else 'NO'}"
            lines.append(f"  {name:<9} {figure}{reached}")
        return [*lines, *(f"  {remark}" for remark in self.remarks)]

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON."""
        figures = {
            name: {"value": round(one.value, 4), "interval": [round(limit, 4) for limit in one.interval], "n": one.n}
            for name, one in self.figures.items()
        }
        return {
            "set": self.title,
            "measure": self.measure,
            "figures": figures,
            "reach": dict(self.reach),
            "remarks": list(self.remarks),
        }


def retrieval_rows(wanted: PublicSet, searched: Searched) -> list[Row]:
    """A row per measure of the set."""
    values = {way: _values(searched, way) for way in searched.found}
    rows = []
    for number, measure in enumerate(wanted.measures):
        own = {way: value[measure] for way, value in values.items()}
        remarks = [_against_better_list(own)] if HYBRID in own else []
        reach = wanted.reach if number == 0 else {}
        rows.append(Row(wanted.title, measure, {way: _mean(value) for way, value in own.items()}, reach, remarks))
    return rows


def pair_row(first: tuple[PublicSet, Searched], second: tuple[PublicSet, Searched]) -> Row:
    """The difference of two sets with the same questions, by words."""
    measure = first[0].measures[0]
    after, before = (_values(one, LEXICAL)[measure] for _, one in (first, second))
    shown = _difference(f"{first[0].title} minus {second[0].title}", after, before)
    figures = {"first": _mean(after), "second": _mean(before)}
    return Row(f"{first[0].title} against {second[0].title}", measure, figures, remarks=[shown])


def threshold_row(wanted: PublicSet, searched: Searched) -> Row:
    """The share of the relevant passages among the first ten that the default `score_threshold` keeps."""
    kept: dict[str, Figure] = {}
    for way, answered in searched.found.items():
        if way != VECTORS:
            kept[way] = _mean(_kept(answered, searched.dataset.judged))
    measure = f"share of relevant passages that score_threshold {DEFAULTS.score_threshold} keeps"
    return Row(wanted.title, measure, kept, dict.fromkeys(kept, 0.97))


def refusal_rows(wanted: PublicSet, searched: Searched) -> list[Row]:
    """How well `support.answerable` tells questions with an answer from others, what the defaults refuse, and where an
    answer says that it may be none."""
    answerable = classes(searched.dataset.queries)
    areas: dict[str, Figure] = {}
    refused: dict[str, Figure] = {}
    doubted: dict[str, Figure] = {}
    for way, answered in searched.found.items():
        if way == VECTORS:
            continue
        scores = {one.query: one.answerable for one in answered}
        area, interval = refusal_area(scores, {query: own for query, own in answerable.items() if query in scores})
        areas[way] = Figure(area, interval, len(scores))
        for kind, name in ((False, "unanswerable"), (True, "answerable")):
            own = [one for one in answered if answerable.get(one.query) is kind]
            refused[f"{way}, {name}"] = _mean({one.query: float(_is_refused(one)) for one in own})
            doubted[f"{way}, {name}"] = _mean({one.query: float(_is_doubted(one)) for one in own})
    measure = f"share of questions refused by default (answerable < {LEAST}, or nothing kept)"
    told = (
        f"share of questions whose answer without a model says it may be none (answerable < {DEFAULTS.doubt_threshold})"
    )
    best = HYBRID if HYBRID in areas else LEXICAL
    doubts = _doubts(answerable, searched.strangers)
    return [
        Row(wanted.title, "AUC of support.answerable", areas, {best: 0.88}, doubts),
        Row(wanted.title, measure, refused),
        Row(wanted.title, told, doubted),
    ]


def citation_rows(title: str, searched: Searched) -> list[Row]:
    """Cited sentences and quotes, each beside plain overlap of words."""
    tasks: tuple[tuple[str, Citer, Citer, dict[str, float]], ...] = (
        ("cited sentences", by_sentence_scores, by_word_overlap, {"precision": 0.85, "recall": 0.86}),
        ("quotes for the question alone", by_quotes, by_shared_words, {}),
    )
    rows = []
    for name, product, baseline, reach in tasks:
        own = citation_values(searched.dataset.queries, searched.dataset.corpora, product)
        other = citation_values(searched.dataset.queries, searched.dataset.corpora, baseline)
        for measure in own:
            figures = {"product": _mean(own[measure]), "baseline": _mean(other[measure])}
            remark = _difference("product minus baseline", own[measure], other[measure])
            wanted = {"product": reach[measure]} if measure in reach else {}
            rows.append(Row(title, f"{name}: {measure}", figures, wanted, [remark]))
    return rows


def _values(searched: Searched, way: str) -> dict[str, dict[str, float]]:
    return retrieval_values(searched.dataset.judged, {one.query: one.documents for one in searched.found[way]})


def _mean(values: Mapping[str, float]) -> Figure:
    one = {"": dict(values)}
    return Figure(means(one)[""], mean_intervals(one)[""], len(values))


def _against_better_list(values: Mapping[str, Mapping[str, float]]) -> str:
    """The hybrid against the better one of the single lists; more than .01 below it is marked."""
    better = max((LEXICAL, VECTORS), key=lambda way: sum(values[way].values()))
    below = sum(values[HYBRID][query] - values[better][query] for query in values[HYBRID]) / len(values[HYBRID])
    mark = "  BELOW THE BETTER LIST" if below < -0.01 else ""
    return _difference(f"hybrid minus {better}", values[HYBRID], values[better]) + mark


def _difference(name: str, after: Mapping[str, float], before: Mapping[str, float]) -> str:
    paired = [after[query] - before[query] for query in after]
    shown = Difference(sum(paired) / len(paired), mean_interval(paired))
    low, high = shown.interval
    return f"{name}: {shown.value:+.3f} [{low:+.3f}, {high:+.3f}] {shown.verdict}"


def _kept(answered: Sequence[Answered], judged: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """By query and document: 1 for each relevant document among the first ten that the threshold keeps, else 0."""
    return {
        f"{one.query} {document}": float(relevance >= DEFAULTS.score_threshold)
        for one in answered
        for document, relevance in list(zip(one.documents, one.relevances, strict=True))[:FIRST]
        if judged.get(one.query, {}).get(document, 0) > 0
    }


def _doubts(answerable: Mapping[str, bool], strangers: Collection[str]) -> list[str]:
    """A remark for each class of questions most of whose vectors seem to be those of other texts."""
    remarks: list[str] = []
    for kind, name in ((True, "answerable"), (False, "unanswerable")):
        own = [query for query, given in answerable.items() if given is kind]
        strange = sum(query in strangers for query in own)
        if strange > len(own) / 2:
            remarks.append(
                f"DO NOT TRUST the figures with vectors: for {strange} of {len(own)} {name} questions the nearest "
                "passage shares no word; the stored vectors seem to be those of other texts"
            )
    return remarks


def _is_refused(one: Answered) -> bool:
    kept = any(relevance >= DEFAULTS.score_threshold for relevance in one.relevances)
    return not kept or one.answerable < LEAST


def _is_doubted(one: Answered) -> bool:
    return not _is_refused(one) and one.answerable < DEFAULTS.doubt_threshold
