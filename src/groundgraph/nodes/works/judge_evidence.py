"""Whether the evidence can answer the question, and which style answers it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from groundgraph.answers.provenance import absence_outcome, asked_style, lacks_filter
from groundgraph.answers.quotes import named_stems
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Needs, Ranking, Ref
from groundgraph.nodes.works.work import Change, RankingInput, View, Work, WorkParts, parts_of
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import own_words
from groundgraph.text.words import WORD, bm25, idf, query_stems, stems

# Whether a question can be answered, from the evidence alone and without a model.
#
# Per piece of evidence, words: the share of the question that it holds, each stem weighted by how rare it is and
# counted the more the more often it occurs. That is BM25 with k1 = 1 and b = 1 (Robertson and Zaragoza 2009), divided
# by its upper bound, so that it lies between 0 and 1 and means the same for short and long questions. The idf is taken
# among the pieces of evidence and `BACKGROUND` more that hold none of the stems, or else a stem that all of a few
# pieces hold would weigh nothing. A name of the question counts `MISSING_NAME` times in a piece that does not hold it:
# a text about something else shares common words, and seldom names. Where the source gives the cosine of the question
# and the piece, that counts too: both in one piece.
#
# A logistic curve turns the best piece into a probability: 0.5 is even odds on the public half of clapnq (150
# questions with an answer, 150 without, one text each). In a clone of the repository, `python -m
# benchmarks.public_sets.calibrate` fits the constants again. The words know nothing of meaning, and cosines of other
# models than the one below may run in another range, so look at the figures of your own data before you raise the
# threshold.

# Pieces that stand for everything that was not found.
BACKGROUND = 20
# With the five pieces of a turn it raises the AUC for questions of xquad whose passage was taken away from .921 to .925
# in English and .894 to .898 in Russian, and for those asked over foreign texts by .008 to .011, each with an interval
# above 0. The questions of clapnq are written without capitals.
MISSING_NAME = 1.5
# Fitted with the 50 best pieces by words. The score alone orders with an AUC of .828.
WORDS_SLOPE, WORDS_START = 8.0, -3.9
# Fitted with the 50 best pieces by words and by the cosines of all-MiniLM-L6-v2, the question vectors made by
# `tests/support/minilm.py`: AUC .882, .878 cross-validated.
# A cosine counts twice as much as a share of words.
COSINE_WEIGHT = 2.0
BOTH_SLOPE, BOTH_START = 4.5, -7.3


# What a piece of average length has that holds each stem once; see the formula above.
FOUND_BY = 0.5


class Agreement(NamedTuple):
    """How well one piece of evidence fits a question: the share of its words, 0 to 1, and the cosine where known."""

    words: float
    cosine: float | None = None

    @property
    def probability(self) -> float:
        """The calibrated chance that the piece answers the question."""
        if self.cosine is None:
            return _logistic(WORDS_SLOPE * self.words + WORDS_START)
        return _logistic(BOTH_SLOPE * (self.words + COSINE_WEIGHT * self.cosine) + BOTH_START)


def answerable(question: str, evidence: Sequence[SourceResult]) -> float:
    """The chance that `evidence` answers `question`, 0 to 1, 0.5 at even odds.

    0 without evidence, and when it shares no word with the question and no cosine is known.

    Args:
        question: in words.
        evidence: its titles and sections count as text; the cosine is its `scores["vector"]`.
    """
    agreements = [one for one in agreement(question, evidence) if one.words or one.cosine is not None]
    return max((one.probability for one in agreements), default=0.0)


def agreement(question: str, evidence: Sequence[SourceResult]) -> list[Agreement]:
    """How well each piece of `evidence` fits `question`.

    A piece may have been found by what was written to find it, or by what the question was turned into, and say the
    same in other words. So its words count for no less than the relevance that its source gave it: a piece of average
    length that holds each stem of the question once has half of what is possible.
    """
    counted = [_counts(result.content, *_names(result)) for result in evidence]
    average = sum(length for _, length in counted) / len(counted) if counted else 0.0
    weights = _weights(query_stems(question), [counts for counts, _ in counted])
    named = named_stems(question) & weights.keys()
    return [
        _agreed(_share(weights, named, counts, length, average), result)
        for result, (counts, length) in zip(evidence, counted, strict=True)
    ]


def _agreed(words: float, result: SourceResult) -> Agreement:
    if "vector" in result.scores:
        # The relevance may be the cosine.
        return Agreement(words, result.scores["vector"])
    return Agreement(max(words, FOUND_BY * result.relevance))


def missing_words(question: str, evidence: Sequence[SourceResult]) -> list[str]:
    """The content words of `question`, as they stand there, that no piece of `evidence` holds in any form."""
    pieces = [_counts(result.content, *_names(result))[0] for result in evidence]
    missing: dict[str, str] = {}
    for match in WORD.finditer(question):
        own = stems(match.group())
        if own and not any(stem in piece for piece in pieces for stem in own):
            missing.setdefault(own[0], match.group())
    return list(missing.values())


def _weights(asked: Sequence[str], counts: Sequence[Mapping[str, int]]) -> dict[str, float]:
    pieces = len(counts) + BACKGROUND
    return {stem: idf(pieces, max(1, sum([stem in one for one in counts]))) for stem in asked}


def _share(
    weights: Mapping[str, float], named: Iterable[str], counts: Mapping[str, int], length: int, average: float
) -> float:
    """BM25 of a piece with these stems as a share of what it comes to when every stem occurs without end."""
    lacking = sum([weights[stem] for stem in named if stem not in counts])
    bound = 2 * (sum(weights.values()) + (MISSING_NAME - 1) * lacking)
    held = sum(
        [weight * bm25(counts[stem], length, average, k1=1, b=1) for stem, weight in weights.items() if stem in counts]
    )
    return held / bound if bound else 0.0


def _names(result: SourceResult) -> tuple[str, str]:
    return str(result.metadata.get("title") or ""), str(result.metadata.get("section") or "")


@lru_cache(maxsize=4096)
def _counts(content: str, title: str, section: str) -> tuple[Counter[str], int]:
    """How often each stem stands in a piece, and how many there are in all."""
    named = [stems(name) for name in (title, section) if name not in content]
    counts = Counter(chain.from_iterable([*named, *(sentence.said for sentence in sentences_of(content))]))
    return counts, counts.total()


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# The kind of source whose evidence can be judged: it is text, and was found by its words or with a known cosine. What
# a table computes, or a retriever finds by means of its own, may share no word with the question and be right.
JUDGED = "knowledge_base"
# What a source gives in place of a number that would have to be computed.
NEEDS = "needs_computation"
# With this chance some other evidence states what one source says would have to be computed.
STATED = 0.5


def judge_evidence(parts: WorkParts) -> Work:
    """The work: all evidence stays, or none."""
    return Judge(parts.settings, has_model=parts.chat_model is not None)


@dataclass(frozen=True)
class Judge:
    """See `judge_evidence`.

    Attributes:
        settings: what the graph was built with.
        has_model: whether a model could answer from general knowledge.
    """

    settings: Settings
    has_model: bool

    async def __call__(self, view: View) -> Change:
        """The style that writes the answer, and no evidence when that is not good enough."""
        held = _judgement(view, await view.results())
        stay = held.refs if not held.decides or self._good_enough(held.chance) else []
        why = {**{ref[0]: "answerable" for ref in held.refs}, **dict.fromkeys(held.needs, "needs_computation")}
        return Change(stay, ranking=self._ranking(view, held, found=bool(stay)), why=why)

    def _ranking(self, view: View, held: _Judgement, *, found: bool) -> Ranking:
        style = self._style(view, found=found)
        ranking: Ranking = {**view.ranking, "answerable": round(held.chance, 4), "style": style}
        if held.needs and held.stated < STATED:
            # A model could only make the number up.
            ranking |= {"needs": list(held.needs.values()), "style": "structured" if found else None}
        if not found:
            ranking["clusters"] = []
        elif held.decides and held.chance < self.settings.retrieval.doubt_threshold:
            ranking["doubt"] = missing_words(held.asked, held.results)
        return ranking

    def _good_enough(self, chance: float) -> bool:
        least = self.settings.retrieval.answerable_threshold
        return least is None or chance >= least

    def _style(self, view: View, *, found: bool) -> str | None:
        """The style; None when there is nothing to write from.

        Without evidence nothing is written, unless a model may answer from general knowledge and it is certain that the
        sources do not cover the question. None is asked to greet from it.
        """
        if found:
            return asked_style(view.state["intent"], view.state.get("metadata", {}), view.options)
        if view.turn["small_talk"]:
            return None
        may_invent = self.has_model and view.options.allow_parametric is True
        retrievals = view.state["retrievals"].values()
        uncovered = absence_outcome(retrievals) == "insufficient" and not all(map(lacks_filter, retrievals))
        return "conversational" if may_invent and uncovered else None


@dataclass(frozen=True)
class _Judgement:
    """What the evidence is worth.

    Attributes:
        refs: of the evidence.
        results: the evidence itself.
        asked: the form of the question that it answers best.
        chance: how likely it does.
        decides: whether the chance decides if it stays.
        needs: by key, what else was found: what says only that a number would have to be computed.
        stated: how likely evidence of a source that says no such thing answers the question.
    """

    refs: list[Ref]
    results: list[SourceResult]
    asked: str
    chance: float
    decides: bool
    needs: dict[str, Needs]
    stated: float


def _judgement(view: View, found: Sequence[SourceResult]) -> _Judgement:
    known = list(zip(view.refs, _with_cosines(found, view.ranking, view.state), strict=True))
    evidence = [pair for pair in known if not pair[1].metadata.get(NEEDS)]
    needs = {ref[0]: _needs(result) for ref, result in known if result.metadata.get(NEEDS)}
    questions, leans = _judged_questions(view.state)
    # How relevant they are to words of the conversation is no sign of an answer.
    results = [replace(result, relevance=0.0) if leans else result for _, result in evidence]
    chances = {question: answerable(question, results) for question in questions}
    asked = max(chances, key=lambda question: chances[question])
    refs = [ref for ref, _ in evidence]
    # Rows are no answer where their own source says that something would have to be computed over them.
    computing = {result.source_name for _, result in known if result.metadata.get(NEEDS)}
    others = [result for result in results if result.source_name not in computing]
    stated = answerable(asked, others) if computing else chances[asked]
    return _Judgement(refs, results, asked, chances[asked], _decides(results, leans=leans), needs, stated)


def _judged_questions(state: RankingInput) -> tuple[list[str], bool]:
    """The forms of the question against which the evidence is held, and whether others were searched beside them.

    A model may have put the question in other words, in the language of the documents for example. What was only asked
    before may add evidence, but never makes an answer, unless the message has no words of its own.
    """
    intent = state["intent"]
    question = state["turn"]["question"]
    queries = intent["text_queries"]
    asked = intent["rewritten"] or question
    own = [query for query in queries if query in asked]
    if intent["mode"] == "message" and len(own) < len(queries):
        # What was quoted last holds its own words, so nothing is judged by them.
        return (list(dict.fromkeys([asked, *own])), True) if own_words(asked) else ([queries[0]], False)
    return list(dict.fromkeys([question, *queries])), False


def _needs(result: SourceResult) -> Needs:
    """What a result says would have to be computed."""
    return {"function": str(result.metadata["needs"]), "tables": list(result.metadata["tables"])}


def _decides(results: Sequence[SourceResult], *, leans: bool) -> bool:
    """Whether all of it can be judged: text from a base, or in a question that leans on others all but numbers."""
    if all(result.source_type == JUDGED for result in results):
        return True
    return leans and not any(result.metadata.get("computed") for result in results)


def _with_cosines(results: Sequence[SourceResult], ranking: Ranking, state: RankingInput) -> list[SourceResult]:
    """The evidence with the cosine of question and text where a source gave one; a joined piece has its best."""
    cosines: dict[str, float] = {}
    for retrieval in state["retrievals"].values():
        for key, cosine in retrieval["cosines"].items():
            cosines[key] = max(cosine, cosines.get(key, cosine))
    if not cosines:
        return list(results)
    return [
        replace(result, scores={**result.scores, **_best(ref, ranking, cosines)})
        for result, ref in zip(results, ranking["refs"], strict=True)
    ]


def _best(ref: Ref, ranking: Ranking, cosines: Mapping[str, float]) -> dict[str, float]:
    known = [cosines[part] for part in parts_of(ranking, ref[0]) if part in cosines]
    return {"vector": max(known)} if known else {}
