"""Resolving the labels of an answer, and how much of what it says stands in what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from groundgraph.chains.label_gate import CODE, LABEL, label_numbers
from groundgraph.chains.sentence_index import (
    Weights,
    best_sentence,
    equal_weights,
    joined_stems,
    question_weights,
    stems_of,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.core.lexical import coverage
from groundgraph.core.text import query_stems, sentences, stems
from groundgraph.core.turn_values import Citation, Flag


@dataclass(frozen=True)
class CitedSentence:
    """A sentence of an answer without its labels, and the labels that stand in it or right behind it."""

    text: str
    labels: tuple[int, ...]


def cited_sentences(answer: str) -> list[CitedSentence]:
    """The sentences of `answer` with the labels that belong to each."""
    prose = CODE.sub("`", answer)  # not a space: the brackets around it would join to a label
    found: list[CitedSentence] = []
    for start, end in sentences(prose):
        segment = prose[start:end]
        leading = re.match(rf"(?:\s*{LABEL.pattern})+", segment)
        if leading and found:
            last = found[-1]
            found[-1] = CitedSentence(last.text, (*last.labels, *_labels(leading.group())))
            segment = segment[leading.end() :]
        text = LABEL.sub("", segment).strip()
        if any(character.isalnum() for character in text):
            found.append(CitedSentence(text, _labels(segment)))
        elif found:
            last = found[-1]
            found[-1] = CitedSentence(last.text, (*last.labels, *_labels(segment)))
    return found


def _labels(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for match in LABEL.finditer(text) for number in label_numbers(match.group(1))))


def labels_in(text: str) -> list[int]:
    """The labels of `text` outside code, in the order of first use."""
    prose = CODE.sub("`", text) if "`" in text else text
    return list(_labels(prose))


def resolve_citations(
    labels: Iterable[int], written: str, evidence: Mapping[int, SourceResult], *, question: str
) -> list[Citation]:
    """One citation per label of `labels` that is a key of `evidence`.

    Args:
        labels: in the order in which the citations are wanted.
        written: what a model wrote. The quote of a label is the sentence of its evidence that shares most words with
            the sentences that cite it here.
        evidence: by label.
        question: stands in for the citing sentences where there are none, as in the structured style.
    """
    claims: dict[int, list[str]] = {}
    for sentence in cited_sentences(written):
        for label in sentence.labels:
            claims.setdefault(label, []).append(sentence.text)
    asked = question_weights(question, (result.content for result in evidence.values()))
    return [
        _citation(label, evidence[label], equal_weights(joined_stems(claims.get(label, []))) or asked)
        for label in labels
        if label in evidence
    ]


def _citation(label: int, result: SourceResult, weights: Weights) -> Citation:
    best = best_sentence(result.content, weights)
    start, end = (best.start, best.end) if best else (0, len(result.content))
    metadata = result.metadata
    offset = metadata.get("start")
    origin = offset if isinstance(offset, int) and not isinstance(offset, bool) else None
    return {
        "label": label,
        "source_name": result.source_name,
        "source_id": result.source_id,
        "section": _text(metadata.get("section")),
        "title": _text(metadata.get("title")),
        "url": _text(metadata.get("url")),
        "quote": result.content[start:end],
        "start": None if origin is None else origin + start,
        "end": None if origin is None else origin + end,
    }


def _text(value: object) -> str | None:
    return str(value) if value not in (None, "") else None


def reference(result: SourceResult, citation_format: str) -> str:
    """What a label resolves to in a prompt or a list: the heading path, or the document."""
    metadata = result.metadata
    section = _text(metadata.get("section"))
    document = _text(metadata.get("document")) or _text(metadata.get("url"))
    title = _text(metadata.get("title"))
    if citation_format == "source":
        return document or title or result.source_id
    if not section:
        return title or document or result.source_id
    return section if not title or section.startswith(title) else f"{title} > {section}"


def lexical_support(answer: str, evidence: Mapping[int, SourceResult]) -> float:
    """The mean, over the sentences that cite, of the share of their words' stems that the cited evidence holds.

    0 when no sentence cites anything.
    """
    shares = [
        coverage(dict.fromkeys(own, 1.0), joined_stems([evidence[label].content for label in labels]))
        for sentence in cited_sentences(answer)
        if (labels := [label for label in sentence.labels if label in evidence]) and (own := stems_of(sentence.text))
    ]
    return sum(shares) / len(shares) if shares else 0.0


def answerable(question: str, evidence: Sequence[SourceResult]) -> float:
    """The largest share of the question's stems that one piece of evidence, with its title and section, holds."""
    asked = query_stems(question)
    return max((_share_held(asked, result) for result in evidence), default=0.0)


def _share_held(asked: Sequence[str], result: SourceResult) -> float:
    named = " ".join(str(result.metadata.get(name) or "") for name in ("title", "section"))
    places = (stems_of(result.content), stems_of(named))
    return sum(stem in places[0] or stem in places[1] for stem in asked) / len(asked) if asked else 0.0


def label_flags(removed: Sequence[int]) -> list[Flag]:
    """A flag for each label that referred to no evidence."""
    return [
        {"kind": "unresolved_label", "sentence": "", "detail": f"[{number}] refers to no evidence"}
        for number in dict.fromkeys(removed)
    ]


def has_claims(answer: str) -> bool:
    """Whether `answer` says anything that could be cited."""
    return any(stems(sentence.text) for sentence in cited_sentences(answer))
