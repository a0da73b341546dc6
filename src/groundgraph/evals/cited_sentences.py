"""How well the sentences of a passage that an answer rests on are found without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from groundgraph.chains.sentence_scores import sentences_to_cite
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.core.text import sentences
from groundgraph.evals.dataset import Corpus, Passage, Query
from groundgraph.evals.measures import PerQuery

PRECISION, RECALL = "precision", "recall"

# The places in `Passage.sentences` that are cited for an answer.
Citer = Callable[[Query, str, Passage], set[int]]


def citation_values(queries: Iterable[Query], corpora: Iterable[Corpus], citer: Citer) -> PerQuery:
    """Precision and recall of what `citer` cites, per query the mean over its reference answers.

    Precision is the share of the cited sentences that a person marked, 0 when none is cited; recall the share of the
    marked ones that are cited.

    Raises:
        ConfigurationError: no query has a reference answer with marked sentences, or a marked sentence stands in no
            passage.
    """
    passages = {passage.id: passage for corpus in corpora for passage in corpus.passages}
    values: PerQuery = {PRECISION: {}, RECALL: {}}
    for query in queries:
        # For some answers no sentence was marked, so they tell nothing.
        marked = [number for number, answer in enumerate(query.answers) if answer.selected_sentences]
        pairs = [_pair(query, number, passages, citer) for number in marked]
        if pairs:
            values[PRECISION][query.id] = sum(precision for precision, _ in pairs) / len(pairs)
            values[RECALL][query.id] = sum(recall for _, recall in pairs) / len(pairs)
    if not values[PRECISION]:
        raise _wrong("citations need queries with `passage` and `answers`: {answer, selected_sentences}")
    return values


def _pair(query: Query, number: int, passages: dict[str, Passage], citer: Citer) -> tuple[float, float]:
    passage = passages.get(query.passage or "")
    if passage is None or not passage.sentences:
        raise _wrong(f"the passage '{query.passage}' of the query '{query.id}' has no `sentences` in the corpus")
    answer = query.answers[number]
    marked = {place for place, text in enumerate(passage.sentences) if text in answer.selected_sentences}
    if not marked:
        raise _wrong(f"no marked sentence of the query '{query.id}' stands in its passage '{passage.id}'")
    cited = citer(query, answer.text, passage)
    right = len(cited & marked)
    return right / len(cited) if cited else 0.0, right / len(marked)


def by_sentence_scores(query: Query, answer: str, passage: Passage) -> set[int]:  # noqa: ARG001 - a `Citer`
    """What the product cites for an answer: sentences that agree with one of its sentences."""
    claims = [answer[start:end] for start, end in sentences(answer)]
    cited = sentences_to_cite(claims, {1: as_evidence(passage)})
    return places_within(passage, [(one.start, one.end) for one in cited])


def as_evidence(passage: Passage) -> SourceResult:
    """`passage` as a source gives it."""
    title = passage.text.removesuffix(passage.body).strip()
    return SourceResult(passage.body, passage.id, "corpus", "knowledge_base", metadata={"title": title})


def places_within(passage: Passage, spans: Sequence[tuple[int, int]]) -> set[int]:
    """The sentences of which half lies in one of `spans`; people and our own rules cut them differently."""
    found: set[int] = set()
    at = 0
    for place, sentence in enumerate(passage.sentences):
        start = passage.body.find(sentence, at)
        if start < 0:
            raise _wrong(f"the sentences of the passage '{passage.id}' are not those of its text")
        at = start + len(sentence)
        if any(min(end, at) - max(begin, start) >= len(sentence) / 2 for begin, end in spans):
            found.add(place)
    return found


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", message)])
