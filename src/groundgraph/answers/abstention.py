"""The one line by which a model says that the evidence answers nothing; it never reaches a reader."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from groundgraph.answers.label_gate import LabelGate
from groundgraph.answers.link_gate import LinkGate
from groundgraph.answers.links import LinkTargets
from groundgraph.answers.prose_gate import Gate

# As the prompt has it; what is missing stands behind it.
ABSTENTION = "NO_ANSWER:"
MISSING_CHARS = 300
# Models write a line as a heading, a quotation, bold or code.
_DECORATED = r"[ \t]{0,8}(?:[*_#>`\"'\[-][ \t]?){0,6}+"
_WORD = ABSTENTION.rstrip(":")
_LINE = re.compile(rf"{_DECORATED}{_WORD}\b[*_`\"'\]]{{0,4}}[ \t]?:?[*_`\"'\]]{{0,4}}")
_BEGUN = re.compile(_DECORATED + "".join(f"(?:{letter}" for letter in _WORD) + ")?" * len(_WORD))


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
        gates = LabelGate(allowed=()), LinkGate(LinkTargets.of([]))
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
