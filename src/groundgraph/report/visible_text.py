"""Text of others as HTML: escaped, and with nothing in it that hides or reorders what a reader sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from groundgraph.core.hidden_text import HIDDEN


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
