"""The sentences of an answer, as the checks of its citations see them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from groundgraph.answers.label_gate import LABEL, label_numbers
from groundgraph.answers.prose_gate import CODE
from groundgraph.answers.sentence_index import stems_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Flag
from groundgraph.text.words import sentences

_SENTENCE_CHARS = 200
_QUOTATION_CHARS = 1000
_CLAIM_CHARS = 4000
# Brackets in code while labels are looked for.
_HIDDEN = str.maketrans("[［【", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "[［【")
_LIST_NUMBER = re.compile(r"^([ \t>]*(?:[-*+•#]+[ \t]+)?\**)\d{1,3}[.)](?=\s)", re.MULTILINE)
_INLINE_NUMBER = re.compile(r"(?<![^\s(])(\d{1,2})[.)](?=\s)")
_LEADING_LABELS = re.compile(rf"(?:\s*{LABEL.pattern})+")


@dataclass(frozen=True)
class Claim:
    """A sentence of an answer without its labels, and the labels that stand in it or right behind it.

    `start` and `end` are where it stands in the answer.
    """

    text: str
    labels: tuple[int, ...]
    start: int = 0
    end: int = 0

    def flag(self, kind: str, detail: str) -> Flag:
        """A finding about this sentence."""
        short = self.text if len(self.text) <= _SENTENCE_CHARS else self.text[: _SENTENCE_CHARS - 1] + "…"
        return {"kind": kind, "sentence": short, "detail": detail}


def claims_of(answer: str) -> list[Claim]:
    """The sentences of `answer` with the labels that belong to each; brackets in code are no labels."""
    prose = CODE.sub(lambda code: code.group().translate(_HIDDEN), answer)
    claims: list[Claim] = []
    for start, end in _bounded(_sentences(prose)):
        segment = prose[start:end]
        leading = _LEADING_LABELS.match(segment)
        if leading and claims:
            claims[-1] = _joined(claims[-1], leading.group(), start + leading.end())
            segment = segment[leading.end() :]
        text = LABEL.sub("", segment).strip().translate(_SHOWN)
        if any(character.isalnum() for character in text):
            claims.append(Claim(text, tuple(labels_of(segment)), end - len(segment), end))
        elif claims:
            claims[-1] = _joined(claims[-1], segment, end)
    return claims


def _bounded(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """`spans` cut to a length that a check can look at; nothing that long is a sentence."""
    for start, end in spans:
        yield from ((at, min(end, at + _CLAIM_CHARS)) for at in range(start, end, _CLAIM_CHARS))


def _sentences(prose: str) -> Iterator[tuple[int, int]]:
    """The sentences of `prose`; a quotation of several sentences is not cut, as long as it stays in its paragraph."""
    open_at: int | None = None
    last = 0
    for start, end in sentences(prose):
        if open_at is not None and ("\n\n" in prose[last:start] or end - open_at > _QUOTATION_CHARS):
            yield open_at, last
            open_at = None
        first, last = start if open_at is None else open_at, end
        segment = prose[first:end]
        open_at = first if any(segment.count(a) > segment.count(b) for a, b in ("“”", "«»")) else None
        if open_at is None:
            yield first, end
    if open_at is not None:
        yield open_at, last


def _joined(claim: Claim, labels: str, end: int) -> Claim:
    """`claim` with the labels that stand behind it."""
    return replace(claim, labels=tuple(dict.fromkeys([*claim.labels, *labels_of(labels)])), end=end)


def labels_of(text: str) -> list[int]:
    """The labels of `text`, which holds no code, in order and each once."""
    return list(dict.fromkeys(number for match in LABEL.finditer(text) for number in label_numbers(match.group(1))))


@dataclass(frozen=True)
class CheckedAnswer:
    """What a check reads: what a model wrote, what it was asked, and the evidence by label.

    Attributes:
        evidence: by label; what the answer does not cite has the labels behind those that it uses.
        cited: how many labels the whole text uses.
        general: how a sentence begins that is marked as general knowledge; empty when none may be.
    """

    written: str
    question: str
    evidence: Mapping[int, SourceResult]
    cited: int = 0
    general: Sequence[str] = ()

    @cached_property
    def claims(self) -> list[Claim]:
        """The sentences that are to rest on the evidence."""
        marks = tuple(mark.lower() for mark in self.general)
        claims = claims_of(without_numbering(self.written))
        return [claim for claim in claims if not (marks and bare(claim.text).lower().startswith(marks))]

    def rests_on(self, claim: Claim) -> list[SourceResult]:
        """The evidence that `claim` cites; all of it when it cites none."""
        cited = [self.evidence[label] for label in claim.labels if label in self.evidence]
        return cited or list(self.evidence.values())

    @cached_property
    def asked(self) -> frozenset[str]:
        """The stems of the question."""
        return stems_of(self.question)


def without_numbering(text: str) -> str:
    """`text` with blanks for the numbers of its lists, also of one that runs on in a line: "1. Drugs 2. Infection"."""
    text = _LIST_NUMBER.sub(_blanks, text)
    expected, run, inline = 1, list[re.Match[str]](), list[re.Match[str]]()
    for found in _INLINE_NUMBER.finditer(text):
        number = int(found.group(1))
        if number != expected:
            inline += run if len(run) > 1 else []
            run, expected = [], 1
        if number == expected:
            run.append(found)
            expected += 1
    blanked = {found.start() for found in [*inline, *(run if len(run) > 1 else [])]}
    return _INLINE_NUMBER.sub(
        lambda found: " " * len(found.group()) if found.start() in blanked else found.group(), text
    )


def _blanks(found: re.Match[str]) -> str:
    return found.group(1) + " " * (len(found.group()) - len(found.group(1)))


def without_fences(text: str) -> str:
    """`text` without blocks of code, whose words and numbers are a program's; code within a line is stated."""
    return CODE.sub(lambda code: " " if code.group().startswith("```") else code.group(), text)


def bare(text: str) -> str:
    """`text` without what Markdown puts before a sentence."""
    return text.lstrip("#>*+-•_ \t")


def named_text(result: SourceResult) -> str:
    """The text of a piece of evidence, with the title, heading path and document that it is shown under."""
    names = (result.metadata.get(name) for name in ("title", "section", "document"))
    return "\n".join([*(str(name) for name in dict.fromkeys(names) if name), result.content])
