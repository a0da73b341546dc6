"""A tool call that a model wrote as the text of its answer: nobody made it, and it tells a reader nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from groundgraph.answers.label_gate import Gate

# How much of what begins like one waits for its end; no call of a tool that searches is as long.
MAX_CALL_CHARS = 4000
_TAG, _END = "<tool_call>", "</tool_call>"
_FENCED = r"```\w{0,12}\s*+"
_BEGUN = re.compile(
    rf"\s*+(?:`{{0,3}}\Z|(?:{_FENCED})?(?:\{{|\Z|{_TAG}|(?:"
    + "|".join(_TAG[:length] for length in range(1, len(_TAG)))
    + r")\Z)|```\w{0,12}\Z)"
)
# A label in its arguments was taken out before, so that it need not be JSON any more.
_NAMED = re.compile(r'"name"\s*:\s*"[^"\n]{1,200}"')
_GIVEN = re.compile(r'"(?:arguments|parameters)"\s*:\s*["{]')
_OPENING = re.compile(_FENCED)


def is_tool_call(text: str) -> bool:
    """Whether `text` is as a whole an object with a name and arguments, or tagged as a call; in a block of code too."""
    said = text.strip()
    if fence := _OPENING.match(said):
        said = said[fence.end() :].removesuffix("```").rstrip()
    if said.startswith(_TAG):
        return said.endswith(_END)
    return said.startswith("{") and said.endswith("}") and bool(_NAMED.search(said) and _GIVEN.search(said))


@dataclass
class ToolCallGate(Gate):
    """Lets everything pass but a text that is as a whole such a call."""

    _decided: bool = field(default=False, init=False)

    def _passed(self, *, final: bool) -> str:
        held = self._held
        if not self._decided and not final and len(held) <= MAX_CALL_CHARS and _BEGUN.match(held):
            return ""
        taken = final and not self._decided and is_tool_call(held)
        self._decided, self._held = True, ""
        return "" if taken else held
