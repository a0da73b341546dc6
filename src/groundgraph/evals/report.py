"""What an evaluation found: as JSON, as text, saved for a later comparison, and compared to a saved one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundgraph.core.errors import ConfigurationError
from groundgraph.evals.measures import (
    REFUSAL_MEASURE,
    Interval,
    PerQuery,
    area_difference_interval,
    area_under_curve,
    by_class,
    mean_interval,
    mean_intervals,
    means,
    refusal_area,
)

NO_DIFFERENCE = "no difference shown"
FORMAT = 1
# Of fewer pairs not even the sign test calls it a difference when all point one way, and resamples hardly scatter.
FEWEST = 6
_DIGITS = 6


@dataclass(frozen=True)
class Evaluation:
    """The figures of one run.

    Attributes:
        dataset: its name.
        measure: `retrieval`, `refusal`, `citations` or `outcomes`.
        values: per measure the value of each query, or conversation; for `refusal` what `support.answerable` was.
        answerable: for `refusal`, which queries are.
        measures: the figures.
        intervals: the 95 % interval of each.
        failures: `{query, reason}` of each query that a source could not be asked about.
        wrong: for `outcomes`, each message that did not get what it must get.
    """

    dataset: str
    measure: str
    values: PerQuery
    measures: dict[str, float]
    intervals: dict[str, Interval]
    answerable: dict[str, bool] = field(default_factory=dict)
    failures: Sequence[Mapping[str, str]] = ()
    wrong: Sequence[Mapping[str, Any]] | None = None

    @property
    def n(self) -> int:
        """How many queries, or conversations, count."""
        return len(next(iter(self.values.values())))

    @property
    def unit(self) -> str:
        """What is counted."""
        return "conversations" if self.measure == "outcomes" else "queries"

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as `groundgraph evaluate --json` prints it."""
        shown: dict[str, Any] = {
            "dataset": self.dataset,
            "n": self.n,
            "measures": {name: round(value, _DIGITS) for name, value in self.measures.items()},
            "intervals": {name: _rounded(interval) for name, interval in self.intervals.items()},
        }
        told = {} if self.wrong is None else {"wrong": list(self.wrong)}
        return {**shown, "failed": list(self.failures), **told}


@dataclass(frozen=True)
class Difference:
    """A figure of this run minus that of a saved one, its 95 % interval, and `over` how many queries of both."""

    value: float
    interval: Interval
    over: int = FEWEST

    @property
    def verdict(self) -> str:
        """`higher` or `lower`; while the interval covers 0, and over fewer than six, no difference is shown."""
        low, high = self.interval
        if low <= 0 <= high or self.over < FEWEST:
            return NO_DIFFERENCE
        return "higher" if low > 0 else "lower"

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON."""
        return {
            "difference": round(self.value, _DIGITS),
            "interval": _rounded(self.interval),
            "verdict": self.verdict,
        }


def retrieval_evaluation(dataset: str, values: PerQuery, failures: Sequence[Mapping[str, str]] = ()) -> Evaluation:
    """The evaluation of rankings; `values` as `retrieval_values` gives them."""
    return Evaluation(dataset, "retrieval", values, means(values), mean_intervals(values), failures=failures)


def citation_evaluation(dataset: str, values: PerQuery) -> Evaluation:
    """The evaluation of cited sentences; `values` as `citation_values` gives them."""
    return Evaluation(dataset, "citations", values, means(values), mean_intervals(values))


def refusal_evaluation(
    dataset: str,
    scores: Mapping[str, float],
    answerable: dict[str, bool],
    failures: Sequence[Mapping[str, str]] = (),
) -> Evaluation:
    """The evaluation of `support.answerable`."""
    own = {query: scores[query] for query in answerable}
    area, interval = refusal_area(own, answerable)
    figures, intervals = {REFUSAL_MEASURE: area}, {REFUSAL_MEASURE: interval}
    return Evaluation(dataset, "refusal", {REFUSAL_MEASURE: own}, figures, intervals, answerable, failures)


def save(evaluation: Evaluation, file: Path) -> None:
    """Write `evaluation` with its values per query, for `load`."""
    saved = {
        "format": FORMAT,
        **evaluation.to_dict(),
        "measure": evaluation.measure,
        "values": evaluation.values,
        "answerable": evaluation.answerable,
    }
    file.write_text(json.dumps(saved, ensure_ascii=False, indent=1) + "\n", "utf-8")


def load(file: Path) -> Evaluation:
    """What `save` wrote.

    Raises:
        ConfigurationError: the file is missing or was not written by `save`.
    """
    try:
        saved = json.loads(file.read_text("utf-8"))
        if saved["format"] != FORMAT:
            raise ValueError(f"its format is {saved['format']}, not {FORMAT}")
        values = {name: {key: float(value) for key, value in own.items()} for name, own in saved["values"].items()}
        intervals = {name: (float(low), float(high)) for name, (low, high) in saved["intervals"].items()}
        return Evaluation(
            saved["dataset"],
            saved["measure"],
            values,
            saved["measures"],
            intervals,
            saved["answerable"],
            saved["failed"],
        )
    except FileNotFoundError as error:
        raise ConfigurationError(f"there is no file '{file}'") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{file} is no evaluation that --save wrote: {error}"
        raise ConfigurationError(message) from error


def compare(new: Evaluation, old: Evaluation) -> tuple[int, dict[str, Difference]]:
    """How many queries both have, and the difference of each measure over them (paired bootstrap).

    Raises:
        ConfigurationError: they measured different things or share no queries.
    """
    if new.measure != old.measure:
        raise ConfigurationError(f"one run measured {new.measure}, the other {old.measure}")
    if new.measure == "refusal":
        return _compared_areas(new, old)
    after, before = (next(iter(one.values.values()), {}) for one in (new, old))
    all_shared = _shared(after, before, new.unit)
    differences: dict[str, Difference] = {}
    for name, values in new.values.items():
        # A tag of conversations may be new.
        known = old.values.get(name, {})
        if paired := [values[query] - known[query] for query in values if query in known]:
            differences[name] = Difference(sum(paired) / len(paired), mean_interval(paired), len(paired))
    return len(all_shared), differences


def _compared_areas(new: Evaluation, old: Evaluation) -> tuple[int, dict[str, Difference]]:
    after, before = new.values[REFUSAL_MEASURE], old.values.get(REFUSAL_MEASURE, {})
    shared = _shared(after, before, new.unit)
    answerable = {query: new.answerable[query] for query in shared}
    positive, negative = zip(by_class(after, answerable), by_class(before, answerable), strict=True)
    if not positive[0] or not negative[0]:
        raise ConfigurationError("the two runs share no answerable or no unanswerable queries")
    value = area_under_curve(positive[0], negative[0]) - area_under_curve(positive[1], negative[1])
    interval = area_difference_interval(positive, negative)
    return len(shared), {REFUSAL_MEASURE: Difference(value, interval, len(shared))}


def _shared(new: Mapping[str, float], old: Mapping[str, float], unit: str) -> list[str]:
    shared = [query for query in new if query in old]
    if not shared:
        raise ConfigurationError(f"the two runs share no {unit}, so they cannot be compared")
    return shared


def evaluation_lines(evaluation: Evaluation) -> list[str]:
    """The evaluation for a reader."""
    unit = evaluation.unit
    lines = [f"{evaluation.dataset}: {evaluation.n} {unit}"]
    width = max(8, *map(len, evaluation.measures))
    for name, value in evaluation.measures.items():
        low, high = evaluation.intervals[name]
        count = len(evaluation.values[name])
        over = f"  over {count}" if count < evaluation.n else ""
        lines.append(f"  {name:<{width}} {value:.4f}  [{low:.4f}, {high:.4f}]{over}")
    few = f" Over fewer than {FEWEST} it says nothing." if min(map(len, evaluation.values.values())) < FEWEST else ""
    return [*lines, f"In brackets: 95 % percentile bootstrap over the {unit}, 2 000 resamples.{few}"]


def comparison_lines(differences: Mapping[str, Difference], shared: int, file: Path, unit: str) -> list[str]:
    """The comparison for a reader."""
    lines = [f"Difference to {file}, over the {shared} {unit} of both:"]
    width = max(8, *map(len, differences))
    for name, difference in differences.items():
        low, high = difference.interval
        lines.append(f"  {name:<{width}} {difference.value:+.4f}  [{low:+.4f}, {high:+.4f}]  {difference.verdict}")
    return lines


def _rounded(interval: Interval) -> list[float]:
    return [round(limit, _DIGITS) for limit in interval]
