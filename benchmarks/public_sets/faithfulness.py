"""How well the citation check tells faithful answers from others: against human marks, and on planted faults.

The data is `mtrag_faithfulness` (Katsis et al., TACL 2025): answers with the passages that they were to rest on and the
mean of three human marks from 1 to 4.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from groundgraph.answers.answer_gate import AnswerGate
from groundgraph.answers.check_support import lexical_support
from groundgraph.answers.citations import CheckedAnswer, Claim, claims_of
from groundgraph.answers.sentence_index import sentences_of, stems_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import EMPTY_DRAFT, Draft, Flag
from groundgraph.evals.measures import Interval, area_difference_interval, area_interval, area_under_curve
from groundgraph.nodes.check_citations import check_answer
from groundgraph.settings.answers import CitationCheckSettings
from groundgraph.text.words import words

FAITHFUL, UNFAITHFUL = 3.6, 3.0
_LEFT_OUT = frozenset({"UNANSWERABLE", "CONVERSATIONAL"})
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])(?![.)]\s)")
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|must|should|may|has|have|does|do)\b")
_EVERYTHING = CitationCheckSettings()


@dataclass(frozen=True)
class MarkedAnswer:
    """One answer with its question, its passages and the mean of its marks."""

    text: str
    question: str
    passages: tuple[SourceResult, ...]
    mark: float

    @cached_property
    def checked(self) -> CheckedAnswer:
        """The answer as the check reads it; it cites nothing, so every sentence is held against all passages."""
        return CheckedAnswer(self.text, self.question, dict(enumerate(self.passages, 1)))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of all passages."""
        return frozenset[str]().union(*(stems_of(passage.content) for passage in self.passages))


def read_answers(file: Path) -> list[MarkedAnswer]:
    """The answers of `answers.jsonl` to questions that the passages answer."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [
        MarkedAnswer(
            row["answer"],
            row["conversation"][-1]["text"],
            tuple(SourceResult(one["text"], one["id"], "passages", "memory") for one in row["passages"]),
            row["faithfulness"],
        )
        for row in rows
        if row["answerability"] not in _LEFT_OUT
    ]


def auc(answers: Sequence[MarkedAnswer], score: Callable[[MarkedAnswer], float]) -> float:
    """The probability that a faithful answer scores higher than an unfaithful one, equal scores counting half."""
    return area_under_curve(*_scores(answers, score))


def auc_interval(answers: Sequence[MarkedAnswer], score: Callable[[MarkedAnswer], float]) -> Interval:
    """The bootstrap interval of `auc`."""
    return area_interval(*_scores(answers, score))


def auc_difference_interval(
    answers: Sequence[MarkedAnswer], score: Callable[[MarkedAnswer], float], other: Callable[[MarkedAnswer], float]
) -> Interval:
    """The bootstrap interval of the difference of two scores' `auc` on the same answers, the first minus the second."""
    (good, bad), (other_good, other_bad) = _scores(answers, score), _scores(answers, other)
    return area_difference_interval((good, other_good), (bad, other_bad))


def _scores(answers: Sequence[MarkedAnswer], score: Callable[[MarkedAnswer], float]) -> tuple[list[float], list[float]]:
    """Those of the faithful answers, and those of the unfaithful ones."""
    good = [score(answer) for answer in answers if answer.mark >= FAITHFUL]
    return good, [score(answer) for answer in answers if answer.mark <= UNFAITHFUL]


def support_score(answer: MarkedAnswer) -> float:
    """`support.score`."""
    return lexical_support(answer.checked)


def word_overlap(answer: MarkedAnswer) -> float:
    """The baseline: the share of the answer's distinct stems that the passages hold."""
    own = stems_of(answer.text)
    return len(own & answer.vocabulary) / len(own) if own else 1.0


def sentence_overlap(answer: MarkedAnswer, sentence: str) -> float:
    """The baseline for one sentence."""
    own = stems_of(sentence)
    return len(own & answer.vocabulary) / len(own) if own else 1.0


@dataclass(frozen=True)
class Planted:
    """A fault in a faithful answer: what was written, the answer with it, and the text it stands in."""

    before: MarkedAnswer
    after: MarkedAnswer
    sentence: str
    changed: str = ""

    def is_flagged(self, kinds: frozenset[str] | None = None) -> bool:
        """Whether the check says something, of one of `kinds`, that it does not say without the fault."""
        before = {(flag["kind"], flag["detail"], flag["sentence"]) for flag in flags_of(self.before)}
        return any(
            (kinds is None or flag["kind"] in kinds) and (flag["kind"], flag["detail"], flag["sentence"]) not in before
            for flag in flags_of(self.after)
        )


def flags_of(answer: MarkedAnswer) -> list[Flag]:
    """What the whole check says about `answer`, as if a model had just written it."""
    gate = AnswerGate(answer.passages, len(answer.passages))
    text = gate.feed(answer.text, final=True)
    places = dict.fromkeys([*gate.order, *range(1, len(answer.passages) + 1)])
    evidence = {label: answer.passages[place - 1] for label, place in enumerate(places, 1)}
    draft: Draft = {**EMPTY_DRAFT, "finish": "stop", "removed": gate.removed, "removed_links": gate.removed_links}
    checked = CheckedAnswer(text, answer.question, evidence)
    return check_answer(checked, draft, _EVERYTHING, require_citations=False)[0]


def seconds_of_check(answer: MarkedAnswer) -> float:
    """How long the check of `answer` takes, score and gate included."""
    started = time.process_time()
    flags_of(answer)
    support_score(replace(answer))
    return time.process_time() - started


def plant_labels(answers: Sequence[MarkedAnswer]) -> Iterator[Planted]:
    """A label that refers to no passage, behind a sentence."""
    for answer, chance in _faithful(answers):
        number = len(answer.passages) + chance.randint(1, 9)
        at = chance.choice([sentence.end for sentence in sentences_of(answer.text)])
        yield Planted(answer, _with(answer, answer.text[:at] + f" [{number}]" + answer.text[at:]), "", str(number))


def plant_quotes(answers: Sequence[MarkedAnswer], *, altered: bool = True) -> Iterator[Planted]:
    """A sentence of a passage in quotation marks, one of its words replaced by another of the passage."""
    for answer, chance in _faithful(answers):
        label = chance.randint(1, len(answer.passages))
        content = answer.passages[label - 1].content
        quotable = [one for one in sentences_of(content) if one.quotable and '"' not in content[one.start : one.end]]
        if not quotable:
            continue
        span = chance.choice(quotable)
        quoted = " ".join(content[span.start : span.end].split())
        if altered:
            quoted = _with_one_word_replaced(quoted, sorted(stems_of(content)), chance)
        text = f"{answer.text}\n\nThe source says: “{quoted}” [{label}]"
        yield Planted(answer, _with(answer, text), quoted)


def plant_numbers(answers: Sequence[MarkedAnswer], each: int = 3) -> Iterator[Planted]:
    """One digit changed in a number that the passages hold."""
    for answer, chance in _faithful(answers):
        passages = " ".join(passage.content for passage in answer.passages)
        numbers = [found for found in _NUMBER.finditer(answer.text) if found.group() in passages]
        for found in chance.sample(numbers, min(each, len(numbers))):
            at = chance.choice([i for i in range(found.start(), found.end()) if answer.text[i].isdigit()])
            digit = chance.choice([one for one in "123456789" if one != answer.text[at]])
            text = answer.text[:at] + digit + answer.text[at + 1 :]
            yield Planted(answer, _with(answer, text), "", text[found.start() : found.end()])


def plant_sentences(answers: Sequence[MarkedAnswer], each: int = 2) -> Iterator[Planted]:
    """A sentence of an answer about something else."""
    for answer, chance in _faithful(answers):
        ids = {passage.source_id for passage in answer.passages}
        others = [one for one in answers if not ids & {passage.source_id for passage in one.passages}]
        for _ in range(each):
            said = [claim.text for claim in statements(chance.choice(others))]
            if said:
                sentence = chance.choice(said)
                yield Planted(answer, _with(answer, f"{answer.text}\n\n{sentence}"), sentence)


def plant_negations(answers: Sequence[MarkedAnswer]) -> Iterator[Planted]:
    """A "not" behind the first verb that takes one."""
    for answer, chance in _faithful(answers):
        verbs = list(_AUXILIARY.finditer(answer.text))
        if verbs:
            at = chance.choice(verbs).end()
            text = f"{answer.text[:at]} not{answer.text[at:]}"
            yield Planted(answer, _with(answer, text), _sentence_at(text, at))


def plant_swaps(answers: Sequence[MarkedAnswer]) -> Iterator[Planted]:
    """Two words of a sentence in each other's place."""
    for answer, chance in _faithful(answers):
        spans = [(one.start, one.end) for one in sentences_of(answer.text)]
        start, end = chance.choice(spans)
        found = [one for one in re.finditer(r"[a-z]{4,}", answer.text[start:end]) if stems_of(one.group())]
        if len(found) < 2:
            continue
        first, last = found[0], found[-1]
        own = answer.text[start:end]
        swapped = (
            own[: first.start()] + last.group() + own[first.end() : last.start()] + first.group() + own[last.end() :]
        )
        yield Planted(answer, _with(answer, answer.text[:start] + swapped + answer.text[end:]), swapped)


def statements(answer: MarkedAnswer) -> list[Claim]:
    """The sentences of an answer that say enough to be measured."""
    return [claim for claim in claims_of(answer.text) if len(stems_of(claim.text)) >= 3]


def _faithful(answers: Sequence[MarkedAnswer]) -> Iterator[tuple[MarkedAnswer, random.Random]]:
    """Each faithful answer, with a source of chance that gives the same in every run."""
    for number, answer in enumerate(answers):
        if answer.mark >= FAITHFUL:
            yield answer, random.Random(number)


def _with(answer: MarkedAnswer, text: str) -> MarkedAnswer:
    return replace(answer, text=text)


def _with_one_word_replaced(quoted: str, vocabulary: Sequence[str], chance: random.Random) -> str:
    parts = quoted.split(" ")
    at = chance.choice([i for i, part in enumerate(parts) if part.isalpha()] or [0])
    parts[at] = chance.choice([word for word in vocabulary if word not in words(parts[at])])
    return " ".join(parts)


def _sentence_at(text: str, at: int) -> str:
    return next(text[one.start : one.end] for one in sentences_of(text) if one.start <= at <= one.end)
