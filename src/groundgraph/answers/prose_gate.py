"""What every gate over a stream of text has in common: it holds back what is not decided, and leaves code alone."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

# How much of what may become something is held back until it is decided; the same holds for code within a line.
MAX_HELD = 256
# A long text is taken in pieces of this size, so that the time it takes grows with its length and no faster.
_PIECE = 2048
INLINE_CODE = re.compile(rf"`[^`\n]{{0,{MAX_HELD}}}`")
CODE = re.compile(rf"(?<!\\)(?:```.*?(?:```|$)|{INLINE_CODE.pattern})", re.DOTALL)
# Keeps apart what would join to something else when a part between is taken out: a word joiner, without width.
APART = "\u2060"


@dataclass
class Gate(ABC):
    """Reads a text in pieces of any size and gives what may pass.

    Whatever the pieces, the text that leaves is the same: a decision waits until no further input could change it.
    """

    _held: str = field(default="", init=False)

    def feed(self, text: str) -> str:
        """What can be let through after `text` arrived; the rest waits for the next piece."""
        passed = []
        for start in range(0, len(text), _PIECE):
            self._held += text[start : start + _PIECE]
            passed.append(self._passed(final=False))
        return "".join(passed)

    def flush(self) -> str:
        """What still waits, when the text has ended."""
        rest = self._passed(final=True)
        self._held = ""
        return rest

    @abstractmethod
    def _passed(self, *, final: bool) -> str:
        """What is decided of the held text, all of it when it is `final`; what is not stays held."""


@dataclass
class ProseGate(Gate):
    """A gate for which text between backticks is code and stays as it is; so does a character behind a backslash."""

    special: ClassVar[re.Pattern[str]]
    """Where ordinary text may end; must find backticks and backslashes too."""

    _in_code: str = field(default="", init=False)
    _tail: str = field(default="", init=False)

    @abstractmethod
    def _decide(self, special: str, *, final: bool) -> tuple[str, bool]:
        """What passes of the held text, which is white space and then `special`, and whether more input is needed."""

    def _is_swallowing(self) -> bool:
        """Whether the gate stands inside something that is taken out until it ends."""
        return False

    def _swallow(self, *, final: bool) -> bool:  # noqa: ARG002 - for those that swallow
        """Take out what can be; whether it has ended."""
        return True

    def _passed(self, *, final: bool) -> str:
        pieces: list[str] = []
        for piece in self._pass(final=final):
            pieces.append(piece)
            self._leaves(piece)
        return "".join(pieces)

    def _leaves(self, piece: str) -> None:
        """Note what has passed; `_tail` is the end of it."""
        self._tail = (self._tail + piece)[-MAX_HELD:]

    def _pass(self, *, final: bool) -> Iterator[str]:
        while self._held:
            if self._is_swallowing():
                if not self._swallow(final=final):
                    return
            elif self._in_code:
                yield from self._code(final=final)
                if self._in_code:
                    return
            else:
                piece, stop = self._prose(final=final)
                yield piece
                if stop:
                    return

    def _code(self, *, final: bool) -> Iterator[str]:
        at = self._held.find(self._in_code)
        if at >= 0:
            end = at + len(self._in_code)
            self._in_code = ""
        else:
            end = len(self._held) if final else max(0, len(self._held) - len(self._in_code) + 1)
        yield self._take(end)

    def _prose(self, *, final: bool) -> tuple[str, bool]:
        """The next piece of ordinary text, and whether more input is needed before anything else can pass."""
        found = self.special.search(self._held)
        at = found.start() if found else len(self._held)
        # White space waits too: it goes with a label that goes.
        end = max(len(self._held[:at].rstrip(" \t")), at - MAX_HELD) if found or not final else at
        if end:
            return self._take(end), False
        special = self._held.lstrip(" \t")
        if not special:
            return (self._take(len(self._held)), True) if final else ("", True)
        if special[0] == "`":
            return self._backtick(special, final=final)
        if special[0] == "\\":
            return self._backslash(special, final=final)
        return self._decide(special, final=final)

    def _take(self, length: int) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def _take_with_space(self, special: str, length: int) -> str:
        """The white space before `special` and its first `length` characters."""
        return self._take(len(self._held) - len(special) + length)

    def _backslash(self, special: str, *, final: bool) -> tuple[str, bool]:
        run = len(special) - len(special.lstrip("\\"))
        if run == len(special) and not final:
            return ("", True) if run == 1 else (self._take(len(self._held) - 1), True)
        return self._take_with_space(special, run + 1), False

    def _backtick(self, special: str, *, final: bool) -> tuple[str, bool]:
        length = len(special[:3]) - len(special[:3].lstrip("`"))
        if not final and length == len(special) < 3:
            return "", True
        self._in_code = "```" if length == 3 else ""
        if length == 1:
            code = INLINE_CODE.match(special)
            if not code and not final and "\n" not in special and len(special) <= MAX_HELD + 1:
                return "", True
            length = code.end() if code else 1
        return self._take_with_space(special, length), False
