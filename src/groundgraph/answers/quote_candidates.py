"""The sentences of the evidence that can be quoted for a question, and what each is worth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

from groundgraph.answers.evidence_blocks import INTRODUCES, Block, Shape, answering_alone, quotable, sentence_blocks
from groundgraph.answers.sentence_index import (
    Sentence,
    Weights,
    question_weights,
    running_places,
    sentences_of,
    stems_of,
    weights_held,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.text.follow_up import asks_for_number, language_words, stems_asking
from groundgraph.text.numbers import holds_number
from groundgraph.text.wording import (
    TERM,
    TERM_OF_ITEM,
    code_name_stems,
    dotted_names,
    heading_names,
    held_codes,
    named_codes,
)
from groundgraph.text.words import spaced, stem

# What a stem of the question counts that the title or the heading path holds in place of the sentence.
TOPIC = 0.8
# A text tends to begin with what it is about: the first sentence gains this much, the n-th an n-th of it.
LEAD = 0.15
# What a piece gains whose own heading, or title, has the words of the question and no others; of both the share.
ABOUT = 0.3
# What it gains besides where they are all that is asked about: the rule stands under "Warranty", and under "Warranty of
# batteries" an exception that holds the same words. So does a sentence that begins with that as a term and tells of it.
HEADED = 0.25
# What the earliest piece of a document under such a heading gains besides: a document tells what a thing is where it
# is first about it, and how to keep it safe later.
FIRST = 0.1
# What each place in the ranking costs: the fourth piece of evidence counts about half of the first.
RANK_DISCOUNT = 0.3
# What a stem counts that stands only in the question on which this one leans.
BEHIND = 0.5
# What a sentence gains that holds what the question names by a code, as it is written: `NO_PROXY` has the words of
# `HTTPS_PROXY`, all but one that means nothing.
CODED = 0.3
# What a sentence gains that holds a number where nothing but a number answers.
NUMBERED = 0.15
# What a sentence gains by its cosine with the question where an embedding model was asked, times the cosine; from the
# second number on it has to do with the question though it holds none of its words.
NEAR, NEAR_ENOUGH = 1.0, 0.3
# What counts of a sentence that says something only together with its block: a line of code has words by chance.
IN_BLOCK = 0.5
_MARKER_CHARS = 8
_NUMBERING = re.compile(r"\A\s*(?:[A-Z\d]{1,3}\.)+(?:\d+\.?)?\s")


@dataclass(frozen=True)
class Asked:
    """What sentences are held against: the question's stems with their weights, these added up, its codes, and itself
    as an embedding model was asked for it."""

    weights: Weights
    stems: frozenset[str]
    total: float
    codes: tuple[str, ...] = ()
    question: str = ""

    @cached_property
    def subject(self) -> frozenset[str]:
        """The stems that do not only say how it asks, units of time among them; all where no others are."""
        return self.stems - (stems_asking(self.question) - _unit_stems()) or self.stems

    @cached_property
    def topics(self) -> frozenset[frozenset[str]]:
        """What a heading or a term says, and nothing else, that is about what is asked: the subject, a name of code."""
        names = map(frozenset, code_name_stems(self.question))
        return frozenset([self.subject, *names, *map(stems_of, self.dotted)])

    def is_topic(self, said: frozenset[str], above: frozenset[str]) -> bool:
        """Whether what is `said` is a topic, or part of the subject whose rest stands `above`."""
        return said in self.topics or bool(said and said <= self.subject <= said | above)

    @classmethod
    def of(cls, question: str, evidence: Sequence[SourceResult], behind: str = "") -> Asked:
        """What `question` asks of `evidence`; `behind` is the question that it leans on, whose words count less."""
        weights = question_weights(question, evidence)
        total = sum(weight for _, weight in weights)
        if behind:
            own = {stem for stem, _ in weights}
            weights += tuple(
                (stem, BEHIND * weight) for stem, weight in question_weights(behind, evidence) if stem not in own
            )
        return cls(weights, frozenset(stem for stem, _ in weights), total, named_codes(question), question)

    @cached_property
    def dotted(self) -> frozenset[str]:
        """What it names with a full stop, which is held as it is written: `.env` is not in `env_prefix`."""
        return dotted_names(self.question)

    @cached_property
    def is_for_number(self) -> bool:
        """Whether nothing but a number answers it."""
        return asks_for_number(self.question)

    def marked(self, text: str, heading: str) -> float:
        """What `text` gains by the codes of the question that it holds, or the `heading` that it stands under, and by
        the number that it asks for."""
        number = NUMBERED if self.is_for_number and holds_number(text) else 0.0
        names = self.codes or self.dotted
        return max(self._coded(text), self._coded(heading)) + number if names else number

    def _coded(self, text: str) -> float:
        held = len(held_codes(self.codes, text)) + len(self.dotted and self.dotted & dotted_names(text))
        return CODED * held / (len(self.codes) + len(self.dotted))

    def defined(self, saying: Saying, above: frozenset[str]) -> float:
        """What a sentence gains where it tells of a term that is one of the topics, with the words `above` it."""
        if not saying.term or saying.sentence.stems.isdisjoint(self.stems):
            return 0.0
        return HEADED if self.is_topic(saying.term, above) else 0.0

    def nearness(self, result: SourceResult, count: int) -> Sequence[float]:
        """The cosines of the `count` sentences of `result`; 0 where they are not known."""
        told = [max(0, one) / 1000 for one in result.nearness.get(self.question, ())]
        return told if len(told) == count else [0.0] * count

    def share(self, stems: frozenset[str]) -> float:
        """The share of the question that `stems` are, by weight."""
        # In the order of the weights: so every run gives the same sum.
        return sum([weight for stem, weight in self.weights if stem in stems]) / self.total


@cache
def _unit_stems() -> frozenset[str]:
    units = ("day", "week", "month", "year")
    return frozenset(stem(word) for unit in units for word in language_words("dates", "units", unit))


class Candidate(NamedTuple):
    """A sentence that can be quoted, and what it is worth beside the others. A turn has hundreds, and quotes three.

    `score` is the share of the question that it holds, discounted by `discount`, which is that of its evidence.
    """

    label: int
    sentence: Sentence
    text: str
    score: float
    worth: float
    discount: float
    holds_some: bool


def candidates_of(
    asked: Asked,
    evidence: Sequence[SourceResult],
    *,
    cut: float = 0.0,
    share: float = 0.0,
    among: Sequence[int] = (),
) -> list[Candidate]:
    """The sentences that can be quoted and have to do with the question, of equal ones the first.

    Left out is a piece of evidence of which none can be worth `cut` of the best one so far that has a score of `share`:
    most of a long list is; and with labels `among` which they stand, all other evidence.
    """
    found: dict[str, Candidate] = {}
    most = 0.0
    gains = _headed(asked, evidence)
    of_source: dict[str, list[SourceResult]] = {}
    for label, result in enumerate(evidence if asked.weights else (), 1):
        own = of_source.setdefault(result.source_name, [])
        own.append(result)
        if among and label not in among:
            continue
        for candidate in _candidates_in(label, own, asked, cut * most, gains.get(label, 0.0)):
            found.setdefault(candidate.text, candidate)
            if candidate.score >= share:
                most = max(most, candidate.worth)
    return list(found.values())


def _headed(asked: Asked, evidence: Sequence[SourceResult]) -> dict[int, float]:
    """What the pieces gain by label whose own heading is all that is asked about."""
    headed = {
        label: one
        for label, one in enumerate(evidence, 1)
        if _is_headed(asked, *_under(*_names(one), Shape.of(one).heading))
    }
    gains = dict.fromkeys(headed, HEADED)
    places = sorted(
        (one.source_name, document, position, label)
        for label, one in headed.items()
        # A row may have a column of either name.
        if isinstance(document := one.metadata.get("document"), str)
        and isinstance(position := one.metadata.get("position"), int)
    )
    for _, of_one in groupby(places, key=lambda place: place[:2]):
        gains[next(of_one)[-1]] += FIRST
    return gains


def _is_headed(asked: Asked, above: frozenset[str], headings: Sequence[frozenset[str]]) -> bool:
    return any(asked.is_topic(heading, above) for heading in headings)


def _candidates_in(
    label: int, own: Sequence[SourceResult], asked: Asked, least: float, headed: float
) -> list[Candidate]:
    result = own[-1]
    content, shape = result.content, Shape.of(result)
    under, headings = _under(*_names(result), shape.heading)
    # "How many" alone in a heading is no sign that it has what "How many suppliers?" asks for.
    named = frozenset[str]() if asked.subject.isdisjoint(under) else under & asked.stems
    weights = weights_held(content, asked.weights, shape.running)
    cosines = asked.nearness(result, len(weights))
    closest = max(cosines, default=0.0)
    if not named and not any(weights) and closest < NEAR_ENOUGH:
        return []
    discount = _discount(own)
    about = headed + (ABOUT * max(_likeness(heading, asked.stems) for heading in headings) if named else 0.0)
    held_by_one = max(weights, default=0.0) / asked.total + asked.marked(content, shape.heading)
    if (asked.share(named) + held_by_one + LEAD + about + HEADED + NEAR * closest) * discount < least:
        return []
    found = []
    for place, (saying, weight, cosine) in enumerate(zip(sayings(shape), weights, cosines, strict=True), 1):
        sentence, near = saying.sentence, cosine if cosine >= NEAR_ENOUGH else 0.0
        if (saying.shown or saying.says) and (weight or named or near):
            said = content[sentence.start : sentence.end]
            told = 1.0 if headed else TOPIC
            topic = told * asked.share(only_named) if (only_named := named - sentence.stems) else 0.0
            share = weight / asked.total + topic
            gained = about + asked.marked(said, shape.heading) + asked.defined(saying, under) + NEAR * cosine
            worth = (share + LEAD / place + gained) * (discount * saying.counts)
            score = min(1.0, max(share, near)) * discount
            found.append(Candidate(label, sentence, said, score, worth, discount, bool(weight or near)))
    return found


class Saying(NamedTuple):
    """A sentence, and what is known of it whatever is asked.

    Attributes:
        sentence: itself.
        block: that it begins in.
        shown: whether it can be quoted, by itself or with its block.
        says: whether it is no fragment, however short.
        counts: what counts of it, from 0 to 1.
        term: the stems of what it tells of as one of the terms of a list does, empty for none.
    """

    sentence: Sentence
    block: Block
    shown: bool
    says: bool
    counts: float
    term: frozenset[str]


@lru_cache(maxsize=4096)
def sayings(shape: Shape) -> tuple[Saying, ...]:
    """The sentences of a text in order."""
    alone = answering_alone(shape)
    told = zip(sentences_of(shape.text, shape.running), sentence_blocks(shape), quotable(shape), strict=True)
    return tuple(_saying(shape.text, sentence, block, block in alone, shown) for sentence, block, shown in told)


def _saying(text: str, sentence: Sentence, block: Block, alone: bool, shown: bool) -> Saying:
    # What is all there is below a heading, however short, is no fragment. Nor is an item of a list, with which it is
    # shown, or a row of a table, whose words no line of code has by chance.
    says = alone or (block.kind in ("item", "table", "figures") and not block.aside)
    whole = says or sentence.quotable or text[sentence.start : sentence.end].rstrip().endswith(INTRODUCES)
    return Saying(sentence, block, shown, says, 1.0 if whole else IN_BLOCK, _term(sentence, text))


def _term(sentence: Sentence, text: str) -> frozenset[str]:
    # In code such a line gives a value.
    if not sentence.quotable:
        return frozenset()
    # The marker of an item stands right before it.
    is_item = text[max(0, sentence.start - _MARKER_CHARS) : sentence.start].rpartition("\n")[2].strip()
    found = (TERM_OF_ITEM if is_item else TERM).match(text, sentence.start, sentence.end)
    return stems_of(found[1]) if found else frozenset()


def hidden_in(result: SourceResult) -> Iterator[tuple[int, int, bool]]:
    """What nothing is quoted of, from where to where: sentences that cannot stand alone, such as formulas, and lines at
    the head or foot of pages; and whether it only stands aside, such as where a link leads. Headings are shown anyway.
    """
    shape = Shape.of(result)
    for one in sayings(shape):
        if not (one.shown or one.block.kind == "heading"):
            yield one.sentence.start, one.sentence.end, one.block.aside
    for start, end in running_places(shape.text, shape.running):
        yield start, end, False


def _discount(own: Sequence[SourceResult]) -> float:
    """What counts of the last piece of evidence of `own`, all of one source so far: by its place among them, or by its
    score where that was close to the first one's."""
    by_place = 1 / (1 + RANK_DISCOUNT * (len(own) - 1))
    last, first = own[-1].score, own[0].score
    return by_place if not last or not first or first < 0 else min(1.0, max(by_place, last / first))


def stems_above(result: SourceResult) -> frozenset[str]:
    """The stems of the title and the headings that `result` stands under."""
    return _under(*_names(result), "")[0]


def _names(result: SourceResult) -> tuple[str, str]:
    return str(result.metadata.get("title") or ""), str(result.metadata.get("section") or "")


@lru_cache(maxsize=4096)
def _under(title: str, section: str, heading: str) -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    """The stems of all that a piece of evidence stands under, and those of its own heading: as it is written, of each
    of two names in it, and of the words that a name is made of: `FileResponse` heads what a response that is a file is.
    """
    # The number of a section says nothing of what it is about.
    own = _NUMBERING.sub("", heading or title)
    above = stems_of(title) | stems_of(section)
    return above | stems_of(spaced(section)), tuple(set(map(stems_of, (own, spaced(own), *heading_names(own)))))


def _likeness(heading: frozenset[str], asked: frozenset[str]) -> float:
    """The share of both that a heading and a question have in common."""
    return 2 * len(heading & asked) / (len(heading) + len(asked))
