"""The only place where a label is taken out of an answer.

A label is a number in brackets that refers to a piece of evidence: `[1]`, `[1, 3]`, `[1-3]`, or with full-width
brackets. The gate reads a text in pieces of any size, lets labels through that resolve, drops those that do not, and
drops the model's thinking. Whatever the pieces, the text that leaves it is the same, so a streamed answer equals the
final one. Text between backticks is code and stays as it is; so does a bracket behind a backslash, which is how
evidence that holds numbers in brackets of its own is shown (`escape_labels`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

_OPENERS = "[［【"
_SPECIAL = re.compile(r"[<`\\\[［【]")
# No longer than _MAX_HELD, which is how much of one is held back until it closes; the same holds for code within a
# line.
LABEL = re.compile(r"(?<!\\)[\[［【]\s{0,2}(\d{1,3}(?:\s{0,2}[-–,;，、]\s{0,2}\d{1,3}){0,30})\s{0,2}[\]］】]")
_MAX_HELD = 256
_INLINE_CODE = re.compile(rf"`[^`\n]{{0,{_MAX_HELD}}}`")
CODE = re.compile(rf"(?<!\\)(?:```.*?(?:```|$)|{_INLINE_CODE.pattern})", re.DOTALL)
_LABEL_OR_CODE = re.compile(f"{CODE.pattern}|{LABEL.pattern}", re.DOTALL)
_LABEL_PREFIX = re.compile(r"[ \t]*(?:[\[［【](?:\s*\d{1,3}\s*[-–,;，、]?){0,32}\s*)?$")
_THINK_OPEN = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_THINK_TAGS = tuple(f"<{name}>" for name in ("think", "thinking", "reasoning"))
# What would join to a label or to code when something behind it is taken out, and what keeps it apart: a word joiner.
_OPEN_END = re.compile(r"(?:[\[［【][\s\d,;，、–-]*|`)\Z")
_APART = "\u2060"


def label_numbers(inside: str) -> list[int]:
    """The numbers of one label, ranges spelled out: "1, 3-5" gives 1, 3, 4, 5. A range counts at most 99 numbers."""
    if inside.isdigit():
        return [int(inside)]
    numbers: list[int] = []
    for part in re.split(r"\s*[,;，、]\s*", inside.strip()):
        ends = [int(end) for end in re.split(r"\s*[-–]\s*", part)]
        numbers += range(ends[0], min(ends[-1], ends[0] + 98) + 1) if ends[-1] >= ends[0] else ends
    return list(dict.fromkeys(numbers))


def escape_labels(text: str) -> str:
    """`text` with a backslash before everything that would read as a label, as Markdown escapes a bracket."""
    if "[" not in text and "［" not in text and "【" not in text:
        return text
    return _LABEL_OR_CODE.sub(lambda found: found.group() if found.group()[0] == "`" else "\\" + found.group(), text)


@dataclass
class LabelGate:
    """Passes text through and removes labels that are not in `allowed`.

    Attributes:
        allowed: the labels that resolve in this turn.
        removed: the numbers that were taken out, in the order of the text.
        used: the numbers that were let through, in the order of their first use.
    """

    allowed: Collection[int]
    removed: list[int] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    _held: str = ""
    _thinking: str = ""
    _in_code: str = ""
    _after_thought: bool = False
    _tail: str = ""

    def feed(self, text: str) -> str:
        """What can be let through after `text` arrived; the rest waits for the next piece."""
        self._held += text
        return self._passed(final=False)

    def flush(self) -> str:
        """What still waits, when the text has ended. A label or a thought that never closed is dropped."""
        rest = self._passed(final=True)
        self._held = ""
        return rest

    def _passed(self, *, final: bool) -> str:
        pieces: list[str] = []
        for piece in self._pass(final=final):
            pieces.append(piece)
            self._tail = (self._tail + piece)[-_MAX_HELD:]
        return "".join(pieces)

    def _apart(self) -> str:
        return _APART if _OPEN_END.search(self._tail) else ""

    def _pass(self, *, final: bool) -> Iterator[str]:
        while self._held:
            if self._after_thought:
                self._held = self._held.lstrip()
                self._after_thought = not self._held
            elif self._thinking:
                if not self._skip_thought(final=final):
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

    def _skip_thought(self, *, final: bool) -> bool:
        closing = f"</{self._thinking}>"
        at = self._held.lower().find(closing)
        if at < 0:
            self._held = "" if final else self._held[-len(closing) :]
            return False
        self._held = self._held[at + len(closing) :]
        self._thinking = ""
        self._after_thought = True
        return True

    def _code(self, *, final: bool) -> Iterator[str]:
        at = self._held.find(self._in_code)
        if at >= 0:
            end = at + len(self._in_code)
            self._in_code = ""
        else:
            end = len(self._held) if final else max(0, len(self._held) - len(self._in_code) + 1)
        yield self._held[:end]
        self._held = self._held[end:]

    def _prose(self, *, final: bool) -> tuple[str, bool]:
        """The next piece of ordinary text, and whether more input is needed before anything else can pass."""
        found = _SPECIAL.search(self._held)
        at = found.start() if found else len(self._held)
        before = self._held[:at].rstrip(" \t") if at < len(self._held) or not final else self._held
        if before:
            self._held = self._held[len(before) :]
            return before, False
        special = self._held.lstrip(" \t")
        if not special:
            return (self._take(len(self._held)), True) if final else ("", True)
        handler = {"<": self._angle, "`": self._backtick, "\\": self._backslash}.get(special[0])
        if handler is None:
            return self._bracket(final=final) if special[0] in _OPENERS else (self._take_space(special), False)
        return handler(special, final=final)

    def _take(self, length: int) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def _take_space(self, special: str) -> str:
        return self._take(len(self._held) - len(special))

    def _angle(self, special: str, *, final: bool) -> tuple[str, bool]:
        opening = _THINK_OPEN.match(special)
        if opening:
            self._thinking = opening.group(1).lower()
            space = self._take_space(special)
            self._held = self._held[opening.end() :]
            return space or self._apart(), False
        if not final and any(tag.startswith(special.lower()) for tag in _THINK_TAGS):
            return "", True
        return self._take(len(self._held) - len(special) + 1), False

    def _backslash(self, special: str, *, final: bool) -> tuple[str, bool]:
        run = len(special) - len(special.lstrip("\\"))
        if run == len(special) and not final:
            return ("", True) if run == 1 else (self._take(len(self._held) - 1), True)
        return self._take(len(self._held) - len(special) + run + 1), False

    def _backtick(self, special: str, *, final: bool) -> tuple[str, bool]:
        length = min(3, len(special) - len(special.lstrip("`")))
        if not final and length == len(special) < 3:
            return "", True
        self._in_code = "```" if length == 3 else ""
        if length == 1:
            code = _INLINE_CODE.match(special)
            if not code and not final and "\n" not in special and len(special) <= _MAX_HELD + 1:
                return "", True
            length = code.end() if code else 1
        return self._take(len(self._held) - len(special) + length), False

    def _bracket(self, *, final: bool) -> tuple[str, bool]:
        space = len(self._held) - len(self._held.lstrip(" \t"))
        found = LABEL.match(self._held, space)
        if found:
            label = self._resolved(found.group(1))
            piece = self._held[:space] + label if label else self._apart()
            self._held = self._held[found.end() :]
            return piece, False
        if _LABEL_PREFIX.fullmatch(self._held) and len(self._held) - space < _MAX_HELD:
            self._held = "" if final else self._held
            return "", True
        return self._take(space + 1), False

    def _resolved(self, inside: str) -> str:
        numbers = label_numbers(inside)
        good = [number for number in numbers if number in self.allowed]
        self.removed += [number for number in numbers if number not in self.allowed]
        self.used += [number for number in good if number not in self.used]
        return f"[{', '.join(map(str, good))}]" if good else ""
