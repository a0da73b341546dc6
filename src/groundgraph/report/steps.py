"""The path that a turn took through the graph, with the time of every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Behind the search.
_FIRST_WORK = "merge_results"
# The order of the steps in records of version 0.1, which do not tell it; others stood before the answer.
_BEFORE = ("rewrite_question", "resolve_intent", "route_categories", "judge_complexity", "decompose_question")
_BEHIND = (_FIRST_WORK, "join_neighbours", "process_results", "rerank_results", "rotate_results", "fit_budget",
           "arrange_results", "backfill_facts")  # fmt: skip
_LAST = ("answer", "check_citations")
_STYLES = ("conversational", "structured", "hybrid")


@dataclass(frozen=True)
class Step:
    """One node of the graph in this turn, or one work of `process_results`.

    Attributes:
        node: its name.
        start: milliseconds from the first step that was timed to its beginning.
        elapsed: how long it took, in milliseconds; None where the record holds no time.
        source: for `retrieve_source`, which one was asked.
        status: `ok`, or how it ended otherwise.
    """

    node: str
    start: float = 0.0
    elapsed: float | None = None
    source: str = ""
    status: str = "ok"


def path_of(record: Mapping[str, Any]) -> list[Step]:
    """The steps of a full `record` in their order.

    Sources are asked at once, so their steps begin together and the next one begins when the slowest has ended.
    """
    names = _names(record)
    if "mode" not in record["intent"]:
        # A fixed reply: nothing was searched for.
        last = [name for name in _LAST if name in names]
        return [Step("begin_turn"), *_timed(record, last, 0.0), Step("record_turn")]
    at_search = names.index(_FIRST_WORK) if _FIRST_WORK in names else len(names)
    before = _timed(record, names[:at_search], 0.0)
    at = _end(before)
    asked = [
        Step("retrieve_source", at, report.get("elapsed_ms", 0.0), name, report["status"])
        for name, report in record["sources"].items()
    ]
    steps = [Step("begin_turn"), *before, *asked, *_timed(record, names[at_search:], max(at, _end(asked)))]
    end = duration_of(steps)
    steps += [Step("repair_answer", end)] if record.get("repaired") else []
    steps += [Step("refuse_answer", end)] if record["finish"] == "withheld" else []
    return [*steps, Step("record_turn", end)]


def _names(record: Mapping[str, Any]) -> list[str]:
    """The steps of a record in their order; an answer whose time is not known stands before what follows it."""
    timings = record.get("timings_ms", {})
    known = [step["step"] for step in record.get("steps", [])]
    if not known:
        others = [name for name in timings if name not in (*_BEFORE, *_BEHIND, *_LAST)]
        known = [name for name in (*_BEFORE, *_BEHIND, *others, *_LAST) if name in timings]
    if "answer" not in known:
        known.insert(known.index("check_citations") if "check_citations" in known else len(known), "answer")
    return known


def _timed(record: Mapping[str, Any], names: Sequence[str], at: float) -> list[Step]:
    """Steps one after another from `at` on."""
    stages, timings = record["intent"].get("stages", {}), record.get("timings_ms", {})
    steps: list[Step] = []
    for name in names:
        ended = stages.get(name, {}).get("status", "ran")
        node = _answering(record) if name == "answer" else name
        steps.append(Step(node, at, timings.get(name), status="ok" if ended == "ran" else ended))
        at += timings.get(name, 0.0)
    return steps


def _end(steps: Sequence[Step]) -> float:
    return max((step.start + (step.elapsed or 0.0) for step in steps), default=0.0)


def duration_of(steps: Sequence[Step]) -> float:
    """Milliseconds of all steps that were timed, on the longest way."""
    return _end(steps)


def _answering(record: Mapping[str, Any]) -> str:
    style = record["style"]["used"]
    return f"answer_{style}" if style in _STYLES else "report_absence"
