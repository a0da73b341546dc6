"""A turn as one HTML page that needs nothing else and reaches nothing else, as a notebook shows it, and as text; and
pages of figures that are made alike."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from groundgraph.core.errors import InputInvalid
from groundgraph.core.evidence import preview
from groundgraph.core.turn_values import seconds_waited
from groundgraph.prompts import Prompts
from groundgraph.report.evidence import Piece, RecordedTurn, evidence_of, path_of
from groundgraph.report.room import Room
from groundgraph.report.turn_view import TurnView
from groundgraph.report.words import Words, compact, duration, findings_of, moment, plain, visible, where_of
from groundgraph.settings.settings import Settings
from groundgraph.text.words import detect_language

MAX_BYTES = 300_000
THEME = "theme.css.jinja2"
_PAGE, _STYLE, _SCRIPT = "page.html.jinja2", "page.css.jinja2", "page.js.jinja2"


def turn_page(record: Mapping[str, Any], *, settings: Settings | None = None, language: str | None = None) -> str:
    """The page of a turn: question, answer with its citations, evidence, and how it was found.

    It is one file of at most 300 kB, for a browser with or without scripts, on a screen or on paper. Everything that
    stands in the record is shown as text, whatever it holds, and the page's own policy allows no request and no script
    but its own. Long evidence is cut around its quotes, with a note. The same record gives the same page.

    Args:
        record: as `load_provenance` gives it, or the `provenance` of a turn's output, or that output.
        settings: of the graph, when its folder of prompts has words of its own for reports.
        language: of the page's words; that of the turn when absent.

    Raises:
        InputInvalid: `record` is none of these.
        TemplateInvalid: the folder of prompts holds a file that cannot be used.
    """
    record = recorded(record)
    words, turn = words_of(record, settings, language), RecordedTurn(record)
    page = ""
    for room in Room.rooms():
        page = _rendered(TurnView(turn, words, room))
        if len(page.encode("utf-8", "surrogatepass")) <= MAX_BYTES:
            break
    return page


def recorded(given: Any) -> Mapping[str, Any]:
    """The record of a turn, of `given` in which its output holds it, with the classes of failures and not their texts.

    Raises:
        InputInvalid: `given` is neither.
    """
    record = given.get("provenance", given) if isinstance(given, Mapping) else given
    if not isinstance(record, Mapping) or "question" not in record:
        raise InputInvalid("A page is made of what load_provenance() gives, or of a turn's output['provenance'].")
    return _for_readers(record)


# Texts of exceptions name hosts and paths: they are for log and record.

# As `groundgraph.core.failure.described` writes it.
_DESCRIBED = re.compile(r"([^\W\d]\w*(?: \d{3})?): ")


def _for_readers(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: _classes(record[name]) for name in ("models", "citation_check", "strategies") if name in record}
    if "stages" in record["intent"]:
        kept["intent"] = {**record["intent"], "stages": _classes(record["intent"]["stages"])}
    return {**record, **kept, "sources": {name: _source(report) for name, report in record["sources"].items()}}


def _source(report: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(report)
    if report["status"] in ("failed", "schema_changed") and "error_type" in report:
        told["error"] = report["error_type"]
    elif report["status"] == "timed_out" and "error" in report:
        told["error"] = seconds_waited(report)
    if "degraded" in report:
        told["degraded"] = [
            {**one, "reason": one.get("error_type", one.get("reason", ""))} for one in report["degraded"]
        ]
    return told


def _classes(value: Any, *, of_failure: bool = False) -> Any:
    """`value` of a record with the class alone of each exception in it that is told with its text."""
    if isinstance(value, Mapping):
        told = ("error", "reason", "unavailable")
        return {name: _classes(inner, of_failure=of_failure or name in told) for name, inner in value.items()}
    if isinstance(value, list):
        return [_classes(inner, of_failure=of_failure) for inner in value]
    found = _DESCRIBED.match(value) if of_failure and isinstance(value, str) else None
    return found[1] if found else value


def words_of(record: Mapping[str, Any], settings: Settings | None, language: str | None) -> Words:
    """The words of the language that is asked for, of the turn's, or of its question."""
    chosen = language or record.get("language") or detect_language(record["question"])
    return Words.of(Prompts.of(settings) if settings else _shipped_prompts(), chosen)


@cache
def _shipped_prompts() -> Prompts:
    return Prompts()


def _rendered(view: TurnView) -> str:
    style, script = page_style(), static_text(_SCRIPT)
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "style": style,
        "script": script,
        "policy": policy,
        "version": version("groundgraph"),
        "limit": MAX_BYTES // 1000,
    }
    return environment().get_template(_PAGE).render(view=view, word=view.words, **parts)


@cache
def environment() -> Environment:
    """The templates of reports; those of pages escape what they are given."""
    folder = files("groundgraph.report")
    names = [entry.name for entry in folder.iterdir() if entry.name.endswith(".jinja2")]
    loader = DictLoader({name: (folder / name).read_text("utf-8") for name in names})
    return Environment(
        loader=loader,
        autoescape=lambda name: bool(name and name.endswith(".html.jinja2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_style() -> Markup:
    """How a report looks: the type and the colours of every page, and what is its own."""
    return static_text(THEME) + static_text(_STYLE)


@cache
def static_text(name: str) -> Markup:
    """The file `name` of this folder as it stands there: a style, or a script."""
    # Part of the package: nothing of a record stands in it.
    return Markup((files("groundgraph.report") / name).read_text("utf-8"))


def digest(text: str) -> str:
    """How a policy names an inline style or script by its content."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# A turn as text, with what the page shows: for a terminal, a ticket, a diff.

_TEMPLATE = "turn.txt.jinja2"
_PREVIEW_CHARS = 200
_BLANK_LINES = re.compile(r"\n{3,}")


def turn_text(record: Mapping[str, Any], *, settings: Settings | None = None, language: str | None = None) -> str:
    """The text of a turn; evidence by its beginning, cited evidence by its quote.

    Args:
        record: see `turn_page`.
        settings: see `turn_page`.
        language: see `turn_page`.

    Raises:
        InputInvalid: see `turn_page`.
        TemplateInvalid: the folder of prompts holds a file that cannot be used.
    """
    record = recorded(record)
    words = words_of(record, settings, language)
    evidence = evidence_of(record)
    text = (
        environment()
        .get_template(_TEMPLATE)
        .render(
            record=record,
            word=words,
            findings=findings_of(record["citation_check"].get("flags", []), words),
            cited=[_row(piece, words) for piece in evidence.cited],
            others=[_row(piece, words) for piece in evidence.others],
            left_out=[_row(piece, words) for piece in evidence.left_out],
            reasons=[words.reasons(piece.reasons, piece.label) for piece in evidence.left_out],
            steps=[(step, duration(words, step.elapsed)) for step in path_of(record)],
            asked_at=moment(record.get("started_at")),
            compact=compact,
        )
    )
    return _BLANK_LINES.sub("\n\n", plain(text)).rstrip() + "\n"


def _row(piece: Piece, words: Words) -> dict[str, Any]:
    row = piece.row
    metadata = row["metadata"]
    quotes = [(" ".join(one["quote"].split()), where_of(words, row, one)) for one in piece.citations]
    return {
        **row,
        "label": piece.label,
        "place": metadata.get("section") or metadata.get("title") or metadata.get("document") or row["source_id"],
        "quotes": quotes or [(preview(row["text"], _PREVIEW_CHARS), "")],
    }


# A turn as a notebook shows it.

_DISPLAY = "turn_display.html.jinja2"


class TurnDisplay:
    """A turn as the last line of a notebook's cell shows it: question, answer, citations and notes.

    ::

        TurnDisplay(graph.invoke({"question": "How often is pump 17 serviced?"}))

    All of it is shown as text, whatever markup the evidence holds. `turn_page` is the page with everything.

    Args:
        output: of a turn, or its record.

    Raises:
        InputInvalid: `output` is neither.
    """

    def __init__(self, output: Mapping[str, Any]) -> None:
        self.record = recorded(output)

    def __str__(self) -> str:
        return str(self.record["answer"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.record['outcome']}: {self.record['answer']!r})"

    def _repr_html_(self) -> str:
        return plain(environment().get_template(_DISPLAY).render(record=self.record))

    def _repr_markdown_(self) -> str:
        record = self.record
        answer = _text(record["answer"]).replace("\n", "  \n")
        parts = [f"**{_line(record['question'])}** ({record['outcome']})", answer]
        for one in record["citations"]:
            place = f"{_line(one['source_name'])}: {_line(one['location']['shown'])}"
            parts.append(f"- \\[{one['label']}\\] {_line(one['quote'])} ({place})")
        parts += [f"*{_line(note)}*" for note in record["notes"]]
        return plain("\n\n".join(parts))


def _line(text: str) -> str:
    return _text(" ".join(text.split()))


def _text(text: str) -> str:
    """`text` with everything escaped that Markdown or HTML would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>&#|~$!])", r"\\\1", text)


# What a check of a chat model found, and what two configurations make of the same questions: each as one HTML page
# that needs nothing else and reaches nothing else.


def model_page(found: Mapping[str, Any]) -> str:
    """The page of a check: each mark with its interval, what a turn takes, the advised settings, and what went wrong.

    Args:
        found: what `groundgraph check-model --json` prints.
    """
    return _page_of_figures("model_page.html.jinja2", found, "model_page.css.jinja2")


def compared_page(found: Mapping[str, Any]) -> str:
    """The page: how often people marked answers good, and both answers to each question side by side.

    Args:
        found: what `groundgraph evaluate --recorded --again FILE --json` prints.
    """
    return _page_of_figures("compared_page.html.jinja2", found, "model_page.css.jinja2", "compared_page.css.jinja2")


def _page_of_figures(template: str, found: Mapping[str, Any], *styles: str) -> str:
    # A plain text would be escaped as it enters the page, and its sign would be another one.
    style = Markup("").join([page_style(), *map(static_text, styles)])
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    parts = {"style": style, "policy": policy, "version": version("groundgraph"), "visible": visible}
    return environment().get_template(template).render(found=found, **parts)
