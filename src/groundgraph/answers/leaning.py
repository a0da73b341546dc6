"""Whether the evidence tells of what a short follow-up names together with what was asked before it.

"And for engineers?" after "What is the car allowance for sales?" is answered only where engineers and the allowance
stand in one piece: anywhere else the word is found by chance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from groundgraph.answers.agreement import held_in_any_form
from groundgraph.core.evidence import SourceResult
from groundgraph.text.follow_up import own_words
from groundgraph.text.words import WORD, stems

# One with full stops or commas in it, such as a version, is one; letters beside it make it part of a code.
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?!\w)")


class Apart(NamedTuple):
    """What a follow-up names that stands in no piece that fits the questions before it.

    Attributes:
        words: as they stand in the message.
        lacking: whether no piece at all holds them.
    """

    words: list[str]
    lacking: bool


class _Leaning(NamedTuple):
    """A follow-up as pieces are held against it.

    Attributes:
        own: the stems of its words that some piece holds; none where it names nothing new.
        numbers: those of it.
        behind: the stems of the words of the questions before it.
        numbers_behind: theirs.
    """

    own: frozenset[str]
    numbers: frozenset[str]
    behind: frozenset[str]
    numbers_behind: frozenset[str]

    @classmethod
    def of(cls, message: str, behind: Sequence[str], evidence: Sequence[SourceResult]) -> _Leaning:
        before = " ".join(behind)
        said, told = (frozenset(own_words(_NUMBER.sub(" ", text))) for text in (message, before))
        own = frozenset[str]().union(*(held_in_any_form(said, result) for result in evidence))
        numbers, numbers_before = (frozenset(_NUMBER.findall(text)) for text in (message, before))
        # What was named before already tells no piece from another: "And the Falke S?" after "the Falke L".
        return cls(own if numbers or own - told else frozenset(), numbers, told - said, numbers_before)

    @property
    def names_something(self) -> bool:
        """Whether the message and the questions before it both name something."""
        return bool(self.own or self.numbers) and bool(self.behind or self.numbers_behind)

    def lacking_numbers(self, evidence: Sequence[SourceResult]) -> list[str]:
        """The numbers of the message that no piece holds as they are written."""
        return [number for number in self.numbers if not any(_holds_numbers({number}, one) for one in evidence)]

    def is_answered_by(self, result: SourceResult, evidence: Sequence[SourceResult]) -> bool:
        """Whether `result` tells of what the message names together with what was asked before."""
        return self.is_named_in(result) and self.fits(result, evidence)

    def is_named_in(self, result: SourceResult) -> bool:
        """Whether `result` holds all that the message names."""
        return self.own <= held_in_any_form(self.own, result) and _holds_numbers(self.numbers, result)

    def fits(self, result: SourceResult, evidence: Sequence[SourceResult]) -> bool:
        """Whether `result` has to do with the questions before: it holds a word of them, or another number is asked
        about in the same document."""
        if held_in_any_form(self.behind, result):
            return True
        document = result.metadata.get("document")
        if not (document and self.numbers and self.numbers_behind):
            return False
        near = (one for one in evidence if one.metadata.get("document") == document)
        return any(_holds_numbers(self.numbers_behind, one) and held_in_any_form(self.behind, one) for one in near)


def stands_apart(message: str, behind: Sequence[str], evidence: Sequence[SourceResult]) -> Apart | None:
    """What the follow-up `message` names that stands in no piece that fits the questions `behind` it; None where one
    piece holds both, or one of the two names nothing that any piece holds."""
    asked = _Leaning.of(message, behind, evidence)
    if lacking := asked.lacking_numbers(evidence):
        return Apart(lacking, lacking=True)
    if not asked.names_something or any(asked.is_answered_by(result, evidence) for result in evidence):
        return None
    named = [match.group() for match in WORD.finditer(_NUMBER.sub(" ", message))]
    own = [word for word in named if not asked.own.isdisjoint(stems(word))]
    return Apart([*own, *sorted(asked.numbers)], lacking=False)


def found_elsewhere(message: str, evidence: Sequence[SourceResult], cited: Collection[tuple[str, str]]) -> set[int]:
    """The places, from 0, of what stands in another document or table than what the answer before a follow-up cites,
    where a piece of these tells as much of what `message` names: "Who developed it?" asks of the same thing.

    Args:
        message: what it asks.
        evidence: everything that was found.
        cited: the source and the id of what the answer before cites.
    """
    holders = {(source, _holder(key)) for source, key in cited}
    near = [(result.source_name, _holder(result.source_id)) in holders for result in evidence]
    own = frozenset(own_words(message))
    if not own or not any(near) or all(near):
        return set()
    told = [len(held_in_any_form(own, result)) for result in evidence]
    best = {side: max(count for count, at in zip(told, near, strict=True) if at is side) for side in (True, False)}
    return {at for at, is_near in enumerate(near) if not is_near} if best[True] and best[True] >= best[False] else set()


def _holder(key: str) -> str:
    """The document or the table of the piece with the id `key`."""
    document, mark, _ = key.rpartition("#")
    return document if mark else key.rpartition("/")[0] or key


def told_together(message: str, behind: Sequence[str], evidence: Sequence[SourceResult]) -> list[int]:
    """The labels of the pieces that hold what the follow-up `message` names and fit the questions `behind` it."""
    asked = _Leaning.of(message, behind, evidence)
    if not (asked.own or asked.numbers):
        return []
    return [label for label, result in enumerate(evidence, 1) if asked.is_answered_by(result, evidence)]


def _holds_numbers(numbers: frozenset[str] | set[str], result: SourceResult) -> bool:
    """Whether each of `numbers` stands in `result`, and not just as part of another."""
    told = result.metadata
    text = f"{result.content} {told.get('title') or ''} {told.get('section') or ''}"
    return all(re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?!\d|[.,]\d)", text) for number in numbers)
