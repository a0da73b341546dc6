"""What an answer passes on its way to whoever reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from groundgraph.chains.label_gate import LabelGate
from groundgraph.chains.link_gate import LinkGate
from groundgraph.chains.link_targets import LinkTargets
from groundgraph.core.evidence import SourceResult
from groundgraph.core.hidden_text import HiddenGate, without_hidden


@dataclass
class AnswerGate:
    """Labels that resolve, numbered by first use; links and images that lead to the evidence; nothing unseen.

    Attributes:
        evidence: all of the turn, in the order of the ranking: the n-th piece was shown to the model as [n].
        shown: how many of them the model was shown.
        order: the n-th entry is the number, in the ranking, of what the label n of the text refers to.
    """

    evidence: Sequence[SourceResult]
    shown: int
    order: list[int] = field(default_factory=list)

    @cached_property
    def _labels(self) -> LabelGate:
        return self._label_gate(range(1, self.shown + 1))

    @cached_property
    def _hidden(self) -> HiddenGate:
        return HiddenGate()

    @cached_property
    def _links(self) -> LinkGate:
        return LinkGate(LinkTargets.of(self.evidence))

    def _label_gate(self, allowed: Collection[int]) -> LabelGate:
        return LabelGate(allowed, renumber=True, used=self.order)

    @property
    def removed(self) -> list[int]:
        """The labels that were taken out, each once."""
        return list(dict.fromkeys(self._labels.removed))

    @property
    def removed_links(self) -> list[str]:
        """Where the links and images led that do not work any more, defanged, each once."""
        return list(dict.fromkeys(self._links.removed))

    def feed(self, text: str) -> str:
        """What can be let through after `text` arrived; the rest waits for the next piece."""
        return self._links.feed(self._labels.feed(self._hidden.feed(text)))

    def flush(self) -> str:
        """What still waits, when the text has ended."""
        return self._links.feed(self._labels.flush()) + self._links.flush()

    def below(self, listing: str) -> str:
        """A listing of the evidence as it stands below what passed, its labels numbered on."""
        gate = self._label_gate(range(1, len(self.evidence) + 1))
        return gate.feed(without_hidden(listing)) + gate.flush()
