"""What evidence is of, where the question names a value of the field by which passages are told apart, or its source
states what the question asks for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from groundgraph.answers.find_choices import labels_in, places_said, telling_stems
from groundgraph.core.evidence import SourceResult, changed, is_stated
from groundgraph.text.follow_up import cue_phrases, says, spoken_stems
from groundgraph.text.wording import with_ranges_listed
from groundgraph.text.words import WORD, fold, numbered, small_words, stem, words

# A shorter label, such as "A" or "17", stands in many questions for something else.
LEAST_LETTERS, LEAST_DIGITS = 2, 4


def named_labels(field: str, said: Sequence[str], evidence: Sequence[SourceResult]) -> frozenset[str]:
    """The values of `field` in `evidence` that the first of the texts `said` means which names one, of such that
    contain each other the longest; none where one before it rules one out, or compares."""
    labels = sorted({label for result in evidence for label in labels_in(result, field) if _is_telling(label)})
    for spoken in map(spoken_stems, said if labels else ()):
        if _rules_out(spoken):
            break
        if named := _whole(labels, spoken):
            return named
    return frozenset()


def _rules_out(spoken: Sequence[str]) -> bool:
    """Whether a message of the stems `spoken` rules something out or compares."""
    return says(spoken, cue_phrases("negation")) or says(spoken, cue_phrases("complexity", "comparison"))


def _whole(labels: Sequence[str], said: Sequence[str]) -> frozenset[str]:
    """Those of `labels` that the stems `said` name with all that tells them apart."""
    places, _ = places_said(labels, said)
    whole = [at for at in places if telling_stems(labels)[at].issubset(said)]
    return frozenset(labels[at] for at in whole)


def _is_telling(label: str) -> bool:
    letters, digits = sum(map(str.isalpha, label)), sum(map(str.isdecimal, label))
    return letters >= LEAST_LETTERS or digits >= LEAST_DIGITS


def left_out(fields: Sequence[str], said: Sequence[str], evidence: Sequence[SourceResult]) -> dict[int, frozenset[str]]:
    """The places, from 0, of what is of another value of one of `fields` than is meant, each with what is.

    Args:
        fields: by which passages are told apart.
        said: the question, or in front of everything said before it, the latest first.
        evidence: what was found.
    """
    out: dict[int, frozenset[str]] = {}
    for field in fields:
        if named := named_labels(field, said, evidence):
            own = [labels_in(result, field) for result in evidence]
            out |= {at: named for at, labels in enumerate(own) if labels and named.isdisjoint(labels)}
    return out


class Numbered(NamedTuple):
    """What evidence tells of the things that a question names by a word and a number, as in "valve 4".

    Attributes:
        others: the places, from 0, of what tells of valves with other numbers only, where some tells of this one.
        apart: the things of which none tells though it does of others with the same word, in the words of the question.
    """

    others: set[int]
    apart: list[str]


def of_numbered(question: str, evidence: Sequence[SourceResult]) -> Numbered:
    """See `Numbered`: "Valve 3 opens at 4 bar" tells nothing of valve 4. A list or a range of numbers behind the word
    counts, such as "pumps 17 to 19"; nothing is told where the question rules something out or compares."""
    asked = _numbers_behind(question, {word for word, _ in numbered(question)})
    if not asked or _rules_out(spoken_stems(question)):
        return Numbered(set(), [])
    told = [_numbers_behind(_text_of(result), asked.keys()) for result in evidence]
    others, apart = set[int](), list[str]()
    for word, numbers in asked.items():
        near = [one.get(word, set()) for one in told]
        if any(not numbers.isdisjoint(one) for one in near):
            others |= {at for at, one in enumerate(near) if one and numbers.isdisjoint(one)}
        elif any(near):
            said = next(one.group() for one in WORD.finditer(question) if stem(fold(one.group())) == word)
            apart += [f"{said} {number}" for number in sorted(numbers)]
    return Numbered(others, apart)


def _numbers_behind(text: str, wanted: Collection[str]) -> dict[str, set[str]]:
    """By stem of a word that is `wanted`, the numbers behind it, with nothing but small words and numbers between."""
    found: dict[str, set[str]] = {}
    current = ""
    for word in words(with_ranges_listed(text)) if wanted else ():
        if current and word.isdecimal():
            found.setdefault(current, set()).add(word)
        elif not current or word not in small_words():
            current = stem(word) if stem(word) in wanted else ""
    return found


def _text_of(result: SourceResult) -> str:
    return " . ".join([str(result.metadata.get(name) or "") for name in ("title", "section")] + [result.content])


def found_beside(evidence: Sequence[SourceResult], keys: Sequence[str], leaning: Collection[str]) -> set[int]:
    """The places, from 0, of rows that a follow-up found by its own words alone, of a source that states what it asks
    for together with what it leans on: "And Graz?" behind employees asks for no customer.

    Args:
        evidence: everything that was found.
        keys: of each.
        leaning: the keys of what was found for the follow-up behind what it leans on.
    """
    pairs = zip(evidence, keys, strict=True)
    stated = [key in leaning and is_stated(result.metadata) for result, key in pairs]
    sources = {result.source_name for result, told in zip(evidence, stated, strict=True) if told}
    return {at for at, result in enumerate(evidence) if result.source_name in sources and not stated[at]}


def with_values(fields: Sequence[str], question: str, evidence: Sequence[SourceResult]) -> list[SourceResult]:
    """`evidence` as it is judged: a value that `question` names belongs to the title of what has it, and how well the
    words fit is counted anew, since no source counts those of a field."""
    named = {field: named_labels(field, [question], evidence) for field in fields}
    own = [_named_in(result, named) for result in evidence]
    return [_titled(result, labels) if labels else result for result, labels in zip(evidence, own, strict=True)]


def _named_in(result: SourceResult, named: dict[str, frozenset[str]]) -> list[str]:
    return [label for field, labels in named.items() for label in labels_in(result, field) if label in labels]


def _titled(result: SourceResult, labels: Collection[str]) -> SourceResult:
    title = " ".join([str(result.metadata.get("title") or ""), *labels]).strip()
    scores = {name: score for name, score in result.scores.items() if name != "lexical"}
    return changed(result, metadata={**result.metadata, "title": title}, scores=scores)
