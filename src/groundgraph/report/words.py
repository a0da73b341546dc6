"""The words, figures and texts of a report: in the language of its turn, and as a reader may safely see them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from groundgraph.answers.citations import bare
from groundgraph.core.characters import HIDDEN
from groundgraph.core.turn_values import Flag
from groundgraph.prompts import Prompts
from groundgraph.text.words import LANGUAGES, WORD, query_stems, stems

# Text of others as HTML: escaped, and with nothing in it that hides or reorders what a reader sees.


@dataclass(frozen=True)
class Span:
    """A part of a text that is to be pointed out: offsets in characters, and the id that links lead to."""

    start: int
    end: int
    id: str = ""


def visible(text: str) -> Markup:
    """`text` as HTML, hidden characters as their code points."""
    return Markup(HIDDEN.sub(lambda found: f"<i class=hc>{hidden_name(found.group())}</i>", str(escape(text))))


def hidden_name(run: str) -> str:
    """What stands for a run of hidden characters: its first code point, and how many there are."""
    times = f" ×{len(run)}" if len(run) > 1 else ""
    return f"U+{ord(run[0]):04X}{times}"


def plain(text: str) -> str:
    """`text` for a terminal or a file of text, hidden characters as their code points."""
    return HIDDEN.sub(lambda found: f"⟨{hidden_name(found.group())}⟩", text)


def marked(text: str, start: int, end: int, spans: Sequence[Span]) -> Markup:
    """The part of `text` from `start` to `end` as HTML, with what lies in `spans` marked.

    Args:
        text: the whole text.
        start: where the part begins.
        end: where it ends.
        spans: in order, without overlaps; offsets in `text`.
    """
    parts: list[Markup] = []
    at = start
    for span in spans:
        low, high = max(span.start, start), min(span.end, end)
        if low >= high:
            continue
        # The id stands where the marked text begins, once, also when a cut divides it.
        name = Markup(' id="{}" tabindex="-1"').format(span.id) if span.id and low == span.start else Markup("")
        parts += [visible(text[at:low]), Markup("<mark{}>{}</mark>").format(name, visible(text[low:high]))]
        at = high
    return Markup("").join([*parts, visible(text[at:end])])


def matches(text: str, record: Mapping[str, Any]) -> list[Span]:
    """The words of `text` that the question of a recorded turn has too; none where a model wrote the answer."""
    asked = set() if record.get("written") else set(query_stems(record["question"]))
    found = WORD.finditer(text) if asked else ()
    return [Span(*one.span()) for one in found if not asked.isdisjoint(stems(one.group()))]


def joined(spans: Sequence[Span]) -> list[Span]:
    """`spans` in order, those that overlap or touch as one that has the id of the first that has any."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if joined and span.start <= joined[-1].end:
            last = joined[-1]
            joined[-1] = Span(last.start, max(last.end, span.end), last.id or span.id)
        else:
            joined.append(span)
    return joined


_DEFAULT = "en"


@dataclass(frozen=True)
class Words:
    """The macros of `prompts/report.LANGUAGE.jinja2`, which a user's folder of prompts may replace.

    Attributes:
        prompts: where the files are.
        language: one that has a file; English takes the place of any other.
    """

    prompts: Prompts
    language: str

    @classmethod
    def of(cls, prompts: Prompts, language: str) -> Words:
        """The words of `language`, or of English where there are none."""
        return cls(prompts, language if language in LANGUAGES else _DEFAULT)

    def __call__(self, kind: str, **variables: object) -> str:
        """The text of the macro `kind`: plain, so it is escaped where it is shown."""
        return self.prompts.told(f"report.{self.language}", kind, **variables)

    def named(self, group: str, name: str) -> str:
        """What `name` of the record is called, in English where the language has no word; the name itself without any.

        Outcomes, statuses, steps and findings are open sets: a record may hold one that this version does not know.
        """
        return self(group, name=name) or Words(self.prompts, _DEFAULT)(group, name=name) or name

    def detail(self, flag: Flag) -> str:
        """What a finding of the citation check says beside its kind; empty where the kind says all."""
        return self("finding_detail", name=flag["kind"], detail=flag["detail"])

    def means(self, record: Mapping[str, Any]) -> str:
        """What the outcome of a recorded turn means; of an answer in which the check found something, that it did."""
        name, flags = record["outcome"], record["citation_check"].get("flags")
        doubted = self("outcome_means", name="answered_doubted") if name == "answered" and flags else ""
        return doubted or self("outcome_means", name=name)

    def reasons(self, steps: Sequence[str], label: int | None) -> str:
        """Why a result did not reach the answer.

        Args:
            steps: those that may have left it out.
            label: of the passage that it is part of.
        """
        names = [self.named("left_out_by", step) for step in steps]
        if label:
            return f"{'; '.join(names)} ({self('left_out_into', label=label)})"
        if len(names) > 1:
            return self("left_out_one_of", names="; ".join(names))
        return names[0] if names else self("left_out_unknown")


# What the citation check found, as a reader is told.

# White space before a punctuation mark.
_GAP = re.compile(r"(?<!\s)\s++(?=[.,;:!?…](?:\s|$))")


def findings_of(flags: Iterable[Flag], words: Words) -> list[dict[str, str]]:
    """The findings of the citation check in a reader's words: `kind`, `sentence`, which may be empty, and `detail`."""
    return [
        {
            "kind": words.named("finding", flag["kind"]),
            "sentence": _GAP.sub("", bare(flag["sentence"])),
            "detail": words.detail(flag),
        }
        for flag in flags
    ]


# Those that a note of the answer tells already.
_NOTED = frozenset({"unresolved_label", "link_removed", "truncated", "incomplete", "refusal"})
_MOST_LINES = 10


def finding_lines(flags: Sequence[Flag], words: Words) -> list[str]:
    """What the check found and no note of the answer tells, a line each, for whoever reads an answer as text."""
    found = findings_of([flag for flag in flags if flag["kind"] not in _NOTED], words)
    lines = [
        ": ".join(filter(None, (one["kind"], one["detail"]))) + (f" (“{one['sentence']}”)" if one["sentence"] else "")
        for one in found[:_MOST_LINES]
    ]
    more = [words("more", count=len(found) - _MOST_LINES)] if len(found) > _MOST_LINES else []
    return [" ".join(line.split()) for line in (*lines, *more)]


# Times, shares and moments as a reader sees them.


def duration(words: Words, milliseconds: float | None) -> str:
    """A time in the unit that suits it; a dash for one that is not known."""
    if milliseconds is None:
        return "–"
    if milliseconds < 999.5:
        return words("milliseconds", value=f"{milliseconds:.0f}" if milliseconds >= 9.95 else f"{milliseconds:.1f}")
    return words("seconds", value=f"{milliseconds / 1000:.2f}")


def moment(seconds: float | None) -> str:
    """A moment in seconds since the epoch as date and time of day, UTC; a dash for none."""
    if not seconds:
        return "–"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def compact(value: Any) -> str:
    """A value of the record on one line: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# Where a quote stands, as a report says it.


def where_of(words: Words, row: Mapping[str, Any], citation: Mapping[str, Any]) -> str:
    """The place of the quote that `citation` has from `row`, and which characters it is, there or in the passage.

    A record of before places were known says which characters; one of a PDF has its page in the metadata of the row.
    """
    location = citation.get("location") or {}
    shown = location.get("shown")
    # What is no file is named above the passage already.
    return "; ".join(filter(None, [shown if len(location) > 1 else "", _characters(words, row, citation)]))


def _characters(words: Words, row: Mapping[str, Any], citation: Mapping[str, Any]) -> str:
    start, end, quote = citation.get("start"), citation.get("end"), citation["quote"]
    if start is None:
        at = row["text"].find(quote)
        return words("offsets_here", start=at, end=at + len(quote)) if at >= 0 else ""
    kind = "offsets_derived" if citation.get("derived") else "offsets"
    page = citation.get("location", row["metadata"]).get("page")
    return words(kind, start=start, end=end, page=page)
