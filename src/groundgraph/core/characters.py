"""The only place that says which characters hide or reorder what a reader sees, and which no text may contain.

One text in place of a list of texts is refused here too: Python would take its characters for the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.errors import InputInvalid

# Characters that no text may contain.

# A lone surrogate cannot be encoded, so no checkpoint could hold it; NUL ends a text in PostgreSQL.
FORBIDDEN = re.compile("[\ud800-\udfff\x00]")


def clean_text(text: str) -> str:
    """`text` with forbidden characters replaced by U+FFFD, each by one, so that offsets stay right."""
    return text if text.isascii() and "\x00" not in text else FORBIDDEN.sub("\ufffd", text)


def on_one_line(text: str) -> str:
    """`text` with its lines joined by a blank: a value in a line `name: value` cannot add a line that looks so too."""
    lines = text.splitlines()
    return text if lines == [text] else " ".join(line.strip() for line in lines if line.strip())


_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2061-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
# Controls, overrides of the writing direction, characters without width, and the tag characters, which carry whole
# sentences unseen. Not the word joiner, which groundgraph itself puts into answers, nor the joiners within words.
HIDDEN = re.compile(f"[{_HIDDEN}]+")
# Joiners stay inside emoji and in the words of scripts that have them; behind ASCII they only hide.
_TAKEN_OUT = re.compile(f"[{_HIDDEN}\u2060]|(?<![^\x00-\x7f])[\u200c\u200d]+")
# What may have to go; almost no text holds any, and without looking behind it is found much sooner.
_SUSPECT = re.compile(f"[{_HIDDEN}\u2060\u200c\u200d]")

_SHOWN_ASCII = bytes([*b"\t\n\r", *range(0x20, 0x7F)])


def _instead(found: re.Match[str]) -> str:
    return "\n" if found.group() in ("\u2028", "\u2029") else ""


def _is_suspect(text: str) -> bool:
    """Whether something may have to go. Most of a text is ASCII that is shown, and left out sooner than looked at."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _SHOWN_ASCII)
    return bool(rest) and _SUSPECT.search(rest.decode("utf-8", "surrogatepass")) is not None


@dataclass
class HiddenGate:
    """Takes the characters that hide or reorder text out of what streams; the result does not depend on the pieces."""

    _last: str = field(default="", init=False)

    def feed(self, text: str) -> str:
        """`text`, the next piece, without them; separators of lines become line ends."""
        if not _is_suspect(text):
            self._last = text[-1:] or self._last
            return text
        shown = _TAKEN_OUT.sub(_instead, self._last + text)[len(self._last) :]
        self._last = shown.rstrip("\u200c\u200d")[-1:] or self._last
        return shown


def without_hidden(text: str) -> str:
    """A whole `text` without the characters that hide or reorder it."""
    return HiddenGate().feed(text)


def is_blank(text: str) -> bool:
    """Whether nothing of `text` is seen."""
    return not _SUSPECT.sub("", text).strip()


def refuse_lone_text(field: str) -> Callable[[Any], None]:
    """A `__post_init__` that raises `InputInvalid` when `field`, a list of texts, is one text."""

    def check(made: Any) -> None:
        given = getattr(made, field)
        if isinstance(given, str):
            raise InputInvalid(f"'{field}' are a list: {type(made).__name__}([{given[:60]!r}]).")

    return check
