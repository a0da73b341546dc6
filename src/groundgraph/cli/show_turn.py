"""A turn as a reader sees it: text, boxes on a terminal, or JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as quoted

from groundgraph.cli.options import origin
from groundgraph.cli.output import on_terminal, printable, say, shortened

if TYPE_CHECKING:
    from groundgraph.settings.settings import Settings

# Printing an answer while it is written.


class TokenPrinter:
    """Prints the pieces of an answer as they come; does nothing unless `wanted`."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._text = ""

    def add(self, piece: str) -> None:
        """Print `piece`."""
        if self._wanted and piece:
            self._text += piece
            sys.stdout.write(printable(piece))
            sys.stdout.flush()

    def finish(self, answer: str) -> bool:
        """Whether exactly `answer` was printed; a model that failed on the way leaves another text behind."""
        if self._text:
            sys.stdout.write("\n")
        return bool(self._text) and self._text.strip() == answer.strip()


KEYS = ("answer", "outcome", "notes", "citations", "choices", "support", "provenance")
QUOTE_CHARS = 160
# What stands in addresses as it is; all else, control characters among it, is written in percents.
_OF_ADDRESSES = ":/?#[]@!$&'()*+,;=%~"
# What a line of a quotation begins with.
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_ROLES = {"human": "user", "ai": "assistant"}


def turn_json(output: Mapping[str, Any]) -> dict[str, Any]:
    """The output keys of a turn, messages as role and text."""
    messages = [
        {"role": _ROLES.get(message.type, message.type), "text": message.text} for message in output["messages"]
    ]
    return {**{key: output[key] for key in KEYS}, "messages": messages}


def print_turn(
    output: Mapping[str, Any], seconds: float, *, settings: Settings | None = None, answer_shown: bool = False
) -> None:
    """Print answer, citations, notes, findings and outcome.

    Args:
        output: of the turn.
        seconds: how long it took.
        settings: of the graph, whose folder of prompts may have words of its own.
        answer_shown: whether the answer was printed already.
    """
    if on_terminal():
        from rich.console import Console

        Console().print(_renderable(output, seconds, settings, with_answer=not answer_shown))
    else:
        say(turn_text(output, seconds, settings))


def print_panel(question: str, output: Mapping[str, Any], seconds: float) -> None:
    """Print a question with its turn, in a box on a terminal."""
    if not on_terminal():
        say(f"Question: {question}\n\n{turn_text(output, seconds)}\n")
        return
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    title = Text(printable(question), style="bold")
    Console().print(Panel(_renderable(output, seconds), title=title, title_align="left", padding=(1, 2)))


def turn_text(output: Mapping[str, Any], seconds: float, settings: Settings | None = None) -> str:
    """Answer, citations, notes, findings and outcome as plain text."""
    parts = [output["answer"].strip()]
    answer = _folded(_QUOTED.sub("", output["answer"]))
    # Two quotes that the answer shows may stand in one line.
    word = _words_of(output, settings)
    cited = dict.fromkeys(_cited(citation, answer, word) for citation in output["citations"])
    citations = "\n".join(f"  {place}" + (f"\n      {quote}" if quote else "") for place, quote, _ in cited)
    parts += [f"{word('line', name='citations', text='')}\n{citations}"] if citations else []
    parts += ["\n".join(told)] if (told := _told(output, settings)) else []
    parts.append(_outcome(output, seconds, word))
    return "\n\n".join(parts)


def print_evidence(label: int, output: Mapping[str, Any]) -> bool:
    """Print the evidence that `label` of a turn refers to, on a terminal, what is cited of it marked; whether there is
    such evidence."""
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    row = next((row for row in output["provenance"]["results"] if row["label"] == label), None)
    if row is None:
        return False
    console = Console()
    body = Text(printable(row["text"]))
    cited = [citation for citation in output["citations"] if citation["label"] == label]
    for citation in cited:
        body.highlight_words([printable(citation["quote"])], style="bold underline")
        place, _, address = _cited(citation, "", _words_of(output, None))
        console.print(Text(printable(place), style=Style(color="cyan", link=address or None)))
    if not cited:
        console.print(Text(printable(f"[{label}] {row['source_name']}: {_place(row, output)}"), style="cyan"))
    console.print(body)
    return True


def found_besides(output: Mapping[str, Any]) -> list[str]:
    """What was found and is not cited, a line for each piece with its place; the record holds all of it."""
    cited = {citation["label"] for citation in output["citations"]}
    rows = (row for row in output["provenance"]["results"] if row["label"] not in cited)
    return [f"  {row['source_name']}: {_place(row, output)}" for row in rows]


def _place(row: Mapping[str, Any], output: Mapping[str, Any]) -> str:
    """Where a piece of evidence stands, with its section."""
    from groundgraph.core.evidence import from_row
    from groundgraph.text.original import Original

    original = Original(from_row(row))
    place = original.location(0, 0, output["provenance"]["language"])["shown"]
    section = original.text("section")
    return f"{place}, {section}" if section and section != place else place


def _told(output: Mapping[str, Any], settings: Settings | None) -> list[str]:
    """What a reader must know besides the answer, a line each: the notes, and what the check of the citations found."""
    word = _words_of(output, settings)
    notes = [word("line", name="note", text=text) for text in output["notes"]]
    if not (flags := output["support"]["flags"]):
        return notes
    from groundgraph.report.turn_page import words_of
    from groundgraph.report.words import finding_lines

    found = finding_lines(flags, words_of(output["provenance"], settings, None))
    return notes + [word("line", name="finding", text=line) for line in found]


def _words_of(output: Mapping[str, Any], settings: Settings | None) -> Callable[..., str]:
    """What is said around a turn, by the name of its macro: in the language of the answer, as its notes are."""
    from groundgraph.prompts import Prompts

    prompts = Prompts.of(settings) if settings else Prompts()
    return partial(prompts.told, f"notes.{output['provenance'].get('language', 'en')}")


def _outcome(output: Mapping[str, Any], seconds: float, word: Callable[..., str]) -> str:
    text = word("line", name="outcome", text=f"{output['outcome']} ({seconds * 1000:.0f} ms)")
    # An answer may rest on one word of the question: a reader must be able to see that.
    doubtful = output["outcome"] == "answered" and output["support"]["answerable"] < 0.5
    return f"{text}; {word('little_held')}" if doubtful else text


def _cited(citation: Mapping[str, Any], answer: str, word: Callable[..., str]) -> tuple[str, str, str]:
    """Where a citation leads to, its quote, which is empty where the answer shows it already, and its address."""
    location, section = citation["location"], citation["section"]
    where = word("written_from", place=location["shown"]) if citation.get("derived") else location["shown"]
    # The section of a row is its table, which its place names; below a quote of the answer stands its section.
    if section and "table" not in location and section != location["shown"] and _folded(section) not in answer:
        where = f"{where}, {section}"
    quote = "" if _folded(citation["quote"]) in answer else f'"{shortened(citation["quote"], QUOTE_CHARS)}"'
    return f"[{citation['label']}] {citation['source_name']}: {where}", quote, _address(location)


def _address(location: Mapping[str, Any]) -> str:
    """What a terminal opens when the place is clicked: the page of the web, or the file; empty where there is none."""
    url = location.get("url", "")
    if url:
        return quoted(url, safe=_OF_ADDRESSES) if url.startswith(("http://", "https://")) else ""
    # Documents are named from the folder of the configuration, as `Settings.at` does.
    file = Path(origin.get()).parent.absolute() / location.get("file", "")
    return file.as_uri() if file.is_file() else ""


def _folded(text: str) -> str:
    """`text` as it is compared: an answer is wrapped in other places, and has backslashes before brackets."""
    return " ".join(text.replace("\\", "").split())


def _renderable(
    output: Mapping[str, Any], seconds: float, settings: Settings | None = None, *, with_answer: bool = True
) -> Any:
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.style import Style
    from rich.text import Text

    parts: list[Any] = []
    if with_answer:
        parts.append(_Marked(Markdown(printable(output["answer"]), hyperlinks=False), output["provenance"]))
    answer, word = _folded(_QUOTED.sub("", output["answer"])), _words_of(output, settings)
    for place, quote, address in dict.fromkeys(_cited(citation, answer, word) for citation in output["citations"]):
        parts += [Text(""), Text(printable(place), style=Style(color="cyan", link=address or None))]
        parts += [Text(printable(quote), style="dim italic")] if quote else []
    parts.append(Text(""))
    parts += [Text(printable(line), style="yellow") for line in _told(output, settings)]
    style = "green" if output["outcome"] in ("answered", "chat") else "yellow"
    return Group(*parts, Text(_outcome(output, seconds, word), style=style))


@dataclass(frozen=True)
class _Marked:
    """An answer on a terminal, with the words in bold that match the question of `record`."""

    answer: Any
    record: Mapping[str, Any]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment
        from rich.style import Style

        from groundgraph.report.words import matches

        bold = Style(bold=True, underline=True)
        for text, style, control in console.render(self.answer, options):
            at = 0
            for span in () if control else matches(text, self.record):
                yield Segment(text[at : span.start], style)
                yield Segment(text[span.start : span.end], (style or Style()) + bold)
                at = span.end
            yield Segment(text[at:], style, control)
