"""What a model writes in place of an answer, or around the whole of one: a line that says it has none, the call of a
tool, a fence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from groundgraph.answers.label_gate import LABEL, Gate, LabelGate
from groundgraph.answers.link_gate import LinkGate
from groundgraph.answers.links import LinkTargets

# The one line by which a model says that the evidence answers nothing; it never reaches a reader.

# As the prompt has it; what is missing stands behind it.
ABSTENTION = "NO_ANSWER:"
MISSING_CHARS = 300
# Models write a line as a heading, a quotation, bold or code.
_DECORATED = r"[ \t*_#>`\"'\[-]{0,80}+"
_QUOTED = r"[*_`\"'\]]{0,4}"
_WORD = ABSTENTION.rstrip(":")
# Also in other letters, and in two words, which only a colon tells from the beginning of a sentence.
_JOINED, _SPACED = _WORD.replace("_", r"\\?_"), _WORD.replace("_", "[ -]")
_LINE = re.compile(
    rf"{_DECORATED}(?:{_JOINED}\b{_QUOTED}[ \t]?:?{_QUOTED}|{_SPACED}{_QUOTED}[ \t]?:{_QUOTED})", re.IGNORECASE
)
_PARTS = [*(r"(?:\\?_|[ -]|\\)" if letter == "_" else letter for letter in _WORD), rf"{_QUOTED}[ \t]?"]
_BEGUN = re.compile(_DECORATED + "".join(f"(?:{part}" for part in _PARTS) + ")?" * len(_PARTS), re.IGNORECASE)


@dataclass
class AbstentionGate(Gate):
    """Takes lines that say so out of a text.

    Attributes:
        said: what stands behind the line, as the model wrote it; None without such a line.
    """

    said: str | None = field(default=None, init=False)
    _opens_line: bool = field(default=True, init=False)
    _taking: bool = field(default=False, init=False)

    @property
    def missing(self) -> str | None:
        """What is missing for an answer, fit to be read, perhaps empty; None when the model does not abstain."""
        if self.said is None:
            return None
        gates = LabelGate(allowed=()), LinkGate(LinkTargets())
        text = self.said
        for gate in gates:
            text = gate.feed(text) + gate.flush()
        return " ".join(text.split())[:MISSING_CHARS].strip(" *_`\"'")

    def _passed(self, *, final: bool) -> str:
        passed = []
        while self._held:
            if self._opens_line and not self._taking:
                found = _LINE.match(self._held)
                # The last letter of the line may be followed by another one.
                if not final and (_BEGUN.fullmatch(self._held) or (found and found.end() == len(self._held))):
                    break
                if found:
                    self._taking, self.said = True, self.said or ""
                    self._held = self._held[found.end() :]
                    continue
            line, end, rest = self._held.partition("\n")
            self._held, self._opens_line = rest, bool(end)
            if self._taking:
                self.said = f"{self.said}{line}"[: 4 * MISSING_CHARS]
            else:
                passed.append(line + end)
            self._taking = self._taking and not end
        return "".join(passed)


# A tool call that a model wrote as the text of its answer: nobody made it, and it tells a reader nothing.

# How much of what begins like one waits for its end; no call of a tool that searches is as long.
_MAX_CALL_CHARS = 4000
_CALL_TAG, _CALL_END = "<tool_call>", "</tool_call>"
_FENCE_BEFORE = r"```\w{0,12}\s*+"
_CALL_BEGUN = re.compile(
    rf"\s*+(?:`{{0,3}}\Z|(?:{_FENCE_BEFORE})?(?:\{{|\Z|{_CALL_TAG}|(?:"
    + "|".join(_CALL_TAG[:length] for length in range(1, len(_CALL_TAG)))
    + r")\Z)|```\w{0,12}\Z)"
)
# A label in its arguments was taken out before, so that it need not be JSON any more.
_CALL_NAME = re.compile(r'"name"\s*:\s*"[^"\n]{1,200}"')
_CALL_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*["{]')
_CALL_FENCE = re.compile(_FENCE_BEFORE)


def _is_tool_call(text: str) -> bool:
    """Whether `text` is as a whole an object with a name and arguments, or tagged as a call; in a block of code too."""
    said = text.strip()
    if fence := _CALL_FENCE.match(said):
        said = said[fence.end() :].removesuffix("```").rstrip()
    if said.startswith(_CALL_TAG):
        return said.endswith(_CALL_END)
    return (
        said.startswith("{") and said.endswith("}") and bool(_CALL_NAME.search(said) and _CALL_ARGUMENTS.search(said))
    )


@dataclass
class ToolCallGate(Gate):
    """Lets everything pass but a text that is as a whole such a call."""

    _decided: bool = field(default=False, init=False)

    def _passed(self, *, final: bool) -> str:
        held = self._held
        if not self._decided and not final and len(held) <= _MAX_CALL_CHARS and _CALL_BEGUN.match(held):
            return ""
        taken = final and not self._decided and _is_tool_call(held)
        self._decided, self._held = True, ""
        return "" if taken else held


# A fence around a whole answer, as small models write it: what stands in it would be code, in which no label is read
# and nothing is checked.

# So much of what begins like one waits for its end.
_MAX_FENCED = 8000
_OPENS = re.compile(r"\s*```(markdown|md|text|txt|plaintext|)[ \t]*\n", re.IGNORECASE)
_MAY_OPEN = re.compile(r"\s*(?:`{0,3}|```[a-z]{0,9}[ \t]*)", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*```([^\s`]*)[ \t]*$", re.MULTILINE)
# Without a name a fence may hold a program, in which no label stands behind a space.
_LABELS_ONLY = re.compile(r"[\s\d,;\[\]［］【】-]*")
_LABELLED = re.compile(rf"(?<!\w){LABEL.pattern}")


@dataclass
class FenceGate(Gate):
    """Takes the fence away that stands around a whole text: one of Markdown or plain text, or a nameless one around
    labels. One that never ends is taken away too."""

    _decided: bool = field(default=False, init=False)

    def _passed(self, *, final: bool) -> str:
        held = self._held
        if not self._decided and not final and self._waits(held):
            return ""
        fenced = _within_fence(held) if final and not self._decided else None
        self._decided, self._held = True, ""
        return held if fenced is None else fenced

    @staticmethod
    def _waits(held: str) -> bool:
        """Whether `held` may still be a fence as a whole."""
        if not (opening := _OPENS.match(held)):
            return _MAY_OPEN.fullmatch(held) is not None
        closing = _closing(held, opening.end())
        return len(held) <= _MAX_FENCED and (closing is None or not _says_more(held, closing))


def _within_fence(text: str) -> str | None:
    """What stands in the fence that `text` is as a whole, with labels behind it; None where it is none."""
    opening = _OPENS.match(text)
    if opening is None:
        return None
    closing = _closing(text, opening.end())
    if closing and _says_more(text, closing):
        return None
    inside = text[opening.end() : closing.start() if closing else len(text)]
    behind = text[closing.end() :] if closing else ""
    return inside.rstrip() + behind.rstrip() if opening.group(1) or _LABELLED.search(inside) else None


def _says_more(text: str, closing: re.Match[str]) -> bool:
    """Whether `text` says anything but labels, perhaps half of one, behind the fence that ends in `closing`."""
    return _LABELS_ONLY.fullmatch(text, closing.end()) is None


def _closing(text: str, start: int) -> re.Match[str] | None:
    """The line that ends the fence which began before `start`; one within it has a name and an end of its own."""
    inner = False
    for line in _FENCE_LINE.finditer(text, start):
        if not line.group(1) and not inner:
            return line
        inner = bool(line.group(1))
    return None
