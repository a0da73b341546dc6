"""What the page of a turn says about question, answer, evidence and how that was found; the template lays it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from groundgraph.core.turn_values import Flag
from groundgraph.report.answer import AnswerPage
from groundgraph.report.evidence import Piece, RecordedTurn, duration_of
from groundgraph.report.room import Room, Shown
from groundgraph.report.words import Words, compact, duration, findings_of, matches, moment, plain, visible, where_of

# From which measure on, 0 to 1, a reader is told how much was found. Below the last, an answer carries a doubt.
_GRADES = {"most": 0.8, "much": 0.5, "little": 0.0}
# The least width of a bar, in percent of the longest.
_LEAST_BAR = 0.6


@dataclass
class _View:
    """A template's view of a recorded turn, within the room of one page. Texts of others are HTML already.

    Attributes:
        turn: what was recorded.
        words: of the turn's language.
        room: of the page.
    """

    turn: RecordedTurn
    words: Words
    room: Room

    @property
    def record(self) -> Mapping[str, Any]:
        """The record."""
        return self.turn.record


class ProcessView(_View):
    """How the evidence was found."""

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


# What it says about question, answer and evidence.

_FAILED = ("failed", "timed_out", "schema_changed")


class TurnView(_View):
    """The turn, and the rest of its page in `process`."""

    @property
    def process(self) -> ProcessView:
        """The rest of the page: how the evidence was found."""
        return ProcessView(self.turn, self.words, self.room)

    @property
    def title(self) -> str:
        """The page's title; plain, since a title holds no elements."""
        return plain(self.record["question"][:80]) or self.words("no_question")

    @property
    def question(self) -> Markup | str:
        """The question."""
        asked = self.record["question"]
        return self.room.short(asked, self.room.other) if asked.strip() else self.words("no_question")

    @property
    def outcome(self) -> tuple[str, Markup, str]:
        """Its name in the record, what it is called, and what it means."""
        name = self.record["outcome"]
        return name, self.room.short(self.words.named("outcome", name)), self.words.means(self.record)

    @property
    def facts(self) -> list[tuple[str, Any, bool]]:
        """What identifies the turn: name, value, and whether it is to be read letter by letter."""
        used, asked = self.record["style"]["used"], self.record["style"].get("asked")
        style = self.words.named("style_name", used)
        if asked and asked != used:
            style = self.words("style_asked", used=style, asked=self.words.named("style_name", asked))
        thread = self.record.get("thread_id")
        return [
            (self.words("asked_at"), moment(self.record.get("started_at")), False),
            (self.words("took"), duration(self.words, duration_of(self.turn.path)), False),
            (self.words("style"), self.room.short(style), False),
            (self.words("thread"), self.room.short("–" if thread is None else thread), True),
            (self.words("turn"), self.room.short(self.record["turn_id"]), True),
        ]

    @property
    def notes(self) -> Shown[Markup]:
        """The sentences that a reader must know."""
        notes = self.room.some(self.record["notes"])
        return Shown([self.room.short(note) for note in notes], notes.more)

    @property
    def source_failed(self) -> bool:
        """Whether a source that was asked could not answer."""
        return any(report["status"] in _FAILED for report in self.record["sources"].values())

    @cached_property
    def _answer(self) -> tuple[AnswerPage, Markup]:
        text, written = self.record["answer"], self.record.get("written", 0)
        page = AnswerPage(
            labels=frozenset(piece.label for piece in self._cited if piece.label),
            targets={(piece.label or 0, key): id for piece in self._cited for key, id in piece.targets.items()},
            flags=self._flags,
            written=text[:written].count("\n") + 1 if written else 0,
            found=self.words("sign_good"),
            flagged=self.words("sign_warn"),
            matches=lambda quoted: matches(quoted, self.record),
        )
        return page, page.render(self._shown)

    @cached_property
    def _shown(self) -> str:
        return self.room.cut(self.record["answer"], self.room.answer)

    @property
    def answer(self) -> Markup:
        """The answer."""
        return self._answer[1]

    @property
    def answer_cut(self) -> int:
        """How many characters of the answer are not shown."""
        return len(self.record["answer"]) - len(self._shown)

    @property
    def written(self) -> bool:
        """Whether a model wrote any of the answer."""
        return bool(self.record.get("written"))

    @cached_property
    def _flags(self) -> Shown[Flag]:
        return self.room.some(self.record["citation_check"].get("flags", []))

    @property
    def findings(self) -> Shown[dict[str, Any]]:
        """The findings of the citation check; `placed` says whether the answer shows the sentence."""
        page = self._answer[0]
        found = enumerate(findings_of(self._flags, self.words), 1)
        rows: list[dict[str, Any]] = [
            {**{name: self.room.short(text) for name, text in one.items()}, "placed": number in page.placed}
            for number, one in found
        ]
        return Shown(rows, self._flags.more)

    @cached_property
    def _cited(self) -> Shown[Piece]:
        return self.room.some(self.turn.evidence.cited)

    @property
    def cited(self) -> Shown[dict[str, Any]]:
        """The passages that the answer cites."""
        return Shown([self._card(piece, self.room.cited) for piece in self._cited], self._cited.more)

    @property
    def others(self) -> Shown[dict[str, Any]]:
        """The passages that it had and does not cite."""
        pieces = self.room.some(self.turn.evidence.others)
        return Shown([self._card(piece, self.room.other) for piece in pieces], pieces.more)

    @property
    def left_out(self) -> Shown[dict[str, Any]]:
        """What the sources gave and no answer was made from, with why."""
        pieces = self.room.some(self.turn.evidence.left_out)
        rows = [
            {**self._card(piece, self.room.other), "reason": self.words.reasons(piece.reasons, piece.label)}
            for piece in pieces
        ]
        return Shown(rows, pieces.more)

    def _card(self, piece: Piece, limit: int) -> dict[str, Any]:
        row, metadata, short = piece.row, piece.row["metadata"], self.room.short
        title = metadata.get("title") or metadata.get("document") or metadata.get("url") or row["source_id"]
        section = metadata.get("section")
        numbers = [place.partition("-")[2] for place in self._answer[0].uses.get(piece.label or 0, [])]
        return {
            "label": piece.label,
            "title": short(title),
            "section": short(section) if section and section != title else "",
            "relevance": max(0.0, min(1.0, float(row["relevance"]))),
            "score": row.get("score"),
            "facts": self._identity(row, metadata),
            "length": len(row["text"]),
            "parts": self.room.passage(row["text"], limit, piece.spans),
            "quotes": self._quotes(piece),
            "linked": any(span.id == f"q{piece.label}" for span in piece.spans),
            "uses": self.room.few(numbers),
        }

    def _identity(self, row: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[tuple[str, Markup]]:
        """What a passage is called where it came from; addresses are text, so that nothing is one click away."""
        named = [("id", row["source_id"])]
        named += [(name, metadata.get(key)) for name, key in (("document", "document"), ("address", "url"))]
        named += [("page", metadata.get("page"))]
        seen = [(self.words(name), self.room.short(value)) for name, value in named if value not in (None, "")]
        return [(self.words("source"), self.room.short(row["source_name"])), *seen]

    def _quotes(self, piece: Piece) -> Shown[tuple[Markup, Markup]]:
        """The quotes of a passage, the best first, each with where it stands."""
        quotes = self.room.some(piece.citations)
        rows = [
            (self.room.short(one["quote"], self.room.other), self.room.short(where_of(self.words, piece.row, one)))
            for one in quotes
        ]
        return Shown(rows, quotes.more)
