"""What the page of a turn says about how the evidence was found; the template lays it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from groundgraph.report.evidence import RecordedTurn, duration_of
from groundgraph.report.room import Room, Shown
from groundgraph.report.words import Words, compact, duration, visible

# From which measure on, 0 to 1, a reader is told how much was found. Below the last, an answer carries a doubt.
_GRADES = {"most": 0.8, "much": 0.5, "little": 0.0}
# The least width of a bar, in percent of the longest.
_LEAST_BAR = 0.6


@dataclass
class ProcessView:
    """The template's view of it, within the room of one page. Texts of others are HTML already."""

    turn: RecordedTurn
    words: Words
    room: Room

    @property
    def record(self) -> Mapping[str, Any]:
        """The record."""
        return self.turn.record

    @property
    def steps(self) -> Shown[dict[str, Any]]:
        """The path: names, times, and bars in percent of the whole."""
        whole = duration_of(self.turn.path) or 1.0
        shown = self.room.some(self.turn.path)
        rows = [
            {
                "name": self._named("step_name", step.node),
                "node": self.room.short(step.node),
                "source": self.room.short(step.source),
                "status": step.status,
                "status_name": self._named("status_name", step.status),
                "time": duration(self.words, step.elapsed),
                "from": min(100 * step.start / whole, 100 - _LEAST_BAR),
                "width": max(100 * (step.elapsed or 0.0) / whole, _LEAST_BAR) if step.elapsed is not None else 0,
            }
            for step in shown
        ]
        return Shown(rows, shown.more)

    @property
    def intent(self) -> Mapping[str, Any]:
        """The stored intent; empty for a turn that searched for nothing."""
        intent: Mapping[str, Any] = self.record["intent"]
        return intent

    @property
    def mode(self) -> Markup:
        """How the queries came about."""
        alone = self.intent.get("text_queries") == [self.record["question"]]
        return self._named("mode", "message" if alone else self.intent["mode"])

    @property
    def queries(self) -> Shown[Markup]:
        """The queries."""
        return self._texts(self.intent.get("text_queries", []))

    @property
    def scope(self) -> Markup:
        """How broadly was searched."""
        return self._named("scope_name", self.intent.get("scope") or "–")

    @property
    def categories(self) -> Shown[Markup]:
        """What the question was sorted under."""
        return self._texts(self.intent.get("categories", []))

    @property
    def filters(self) -> Shown[tuple[Markup, Markup, Markup]]:
        """Source, field and condition of every filter."""
        every = [
            (source, field, condition)
            for source, conditions in self.intent.get("filters", {}).items()
            for field, condition in conditions.items()
        ]
        return self._rows(every)

    @property
    def not_believed(self) -> Shown[tuple[Markup, ...]]:
        """What a model proposed and nobody said: field, value, reason."""
        return self._rows([(one["field"], one["value"], one["reason"]) for one in self.intent.get("dropped", [])])

    @property
    def raw_data(self) -> Shown[tuple[Markup, ...]]:
        """What the intent was made from, name by name."""
        return self._rows(list((self.intent.get("raw_data") or {}).items()))

    @property
    def sources(self) -> Shown[dict[str, Any]]:
        """What was asked of every source, and what came of it."""
        shown = self.room.some(self.record["sources"].items())
        return Shown([self._source(name, report) for name, report in shown], shown.more)

    def _source(self, name: str, report: Mapping[str, Any]) -> dict[str, Any]:
        # What every source was asked alike stands above already.
        asked = list(dict.fromkeys(report.get("queries", [])))
        own = asked if asked != list(dict.fromkeys(self.intent.get("text_queries", []))) else []
        dropped = self.room.few(report.get("dropped", {}).items())
        return {
            "name": self.room.short(name),
            "status": report["status"],
            "status_name": self._named("status_name", report["status"]),
            "asked": bool(asked),
            "queries": self._texts(own, few=True),
            "found": report.get("found", 0),
            "kept": report.get("kept", 0),
            "dropped": Shown([(self._named("drop_name", kind), count) for kind, count in dropped], dropped.more),
            "attempts": report.get("attempts", 0),
            "time": duration(self.words, report.get("elapsed_ms")),
            "problems": self._problems(report),
        }

    def _problems(self, report: Mapping[str, Any]) -> list[Markup]:
        told = [
            self.words("without", part=one.get("part", ""), reason=one.get("reason", ""))
            for one in report.get("degraded", [])
        ]
        if report.get("error"):
            late = report["status"] == "timed_out"
            told.insert(0, self.words("waited", seconds=report["error"]) if late else report["error"])
        return list(self._texts(told, few=True))

    @property
    def strategies(self) -> Shown[tuple[Markup, ...]]:
        """Which strategy ran at which step, and what stages before the search did."""
        path = {"path": self.record["path"]} if "path" in self.record else {}
        ran = {**path, **self.intent.get("stages", {}), **self.record.get("strategies", {})}
        return self._rows(list(ran.items()))

    @property
    def measures(self) -> list[tuple[str, str]]:
        """What was measured of the whole turn, by name: a grade, since the figure would be read as a probability."""
        score = self.record["citation_check"].get("score")
        written = self.record.get("written") and score is not None
        support = [(self.words("support"), self._grade(score))] if written else []
        return [*support, (self.words("answerable"), self._grade(self.record.get("answerable")))]

    def _grade(self, share: float | None) -> str:
        return self.words("grade", name=next(name for name, least in _GRADES.items() if (share or 0.0) >= least))

    @property
    def models(self) -> Shown[dict[str, Any]]:
        """The calls of models."""
        shown = self.room.some(self.record.get("models", []))
        rows = [
            {
                "role": self.room.short(call.get("role", "–")),
                "model": self.room.short(call.get("model", "–")),
                "tokens_in": call.get("input_tokens", "–"),
                "tokens_out": call.get("output_tokens", "–"),
                "estimated": call.get("estimated", False),
                "attempts": call.get("attempts", "–"),
                "time": duration(self.words, call.get("elapsed_ms")),
                "error": self.room.short(call.get("error", "")),
            }
            for call in shown
        ]
        return Shown(rows, shown.more)

    @property
    def stored(self) -> Markup:
        """The record as JSON, with the length of evidence in place of its text."""
        return visible(self.room.cut(self.turn.stored, self.room.record))

    def _named(self, group: str, name: str) -> Markup:
        """What `name` is called; a name that is not known is text of others."""
        return self.room.short(self.words.named(group, name))

    def _texts(self, values: Any, *, few: bool = False) -> Shown[Markup]:
        shown = self.room.few(values) if few else self.room.some(values)
        return Shown([self.room.short(compact(value)) for value in shown], shown.more)

    def _rows(self, rows: list[tuple[Any, ...]]) -> Shown[Any]:
        shown = self.room.some(rows)
        return Shown([tuple(self.room.short(compact(value)) for value in row) for row in shown], shown.more)
