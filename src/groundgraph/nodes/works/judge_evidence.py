"""Whether the evidence can answer the question, and which style answers it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import chain
from typing import Any, NamedTuple

from groundgraph.answers.check_support import names_in
from groundgraph.answers.named_values import found_beside, left_out, with_values
from groundgraph.answers.provenance import absence_outcome, asked_style, lacks_filter, reworded
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.core.evidence import SourceResult, changed, is_stated
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import Needs, Ranking, Ref
from groundgraph.nodes.process_results import Change, RankingInput, View, Work, WorkParts, parts_of
from groundgraph.prompts import Prompts
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import asking_stems, own_words, question_weight, standing_question
from groundgraph.text.small_talk import parting_words
from groundgraph.text.wording import marks_in, named_codes, names_another
from groundgraph.text.words import WORD, bm25, idf, numbered, query_stems, script_of, stems, words

# Whether a question can be answered, from the evidence alone and without a model.
#
# By words it is one number: BM25 of the best piece by the idf of all words of the question together, and the share of
# words that it holds in another form. A piece of average length that holds each word once has 1. A source that searches
# knows how rare each word is among all its texts, what is common there, and by which text a piece was found, so what it
# tells (`scores["lexical"]`) goes before what can be counted in the pieces. Where it gives the cosine of question and
# piece, that counts too: both in one piece.
#
# A logistic curve makes a probability of it: with a cosine 0.5 at even odds between questions whose passage is in the
# base, and others; by words alone 0.37 there (below). In a clone of the repository,
# `python -m benchmarks.public_sets.calibrate` fits the curves, and prints what they are worth on a set that they were
# not fitted to. What else was tried is in docs/decisions/answers.md. The cosines are those of all-MiniLM-L6-v2; those
# of other models may run in another range.

# Pieces that stand for everything that was not found, where the source does not tell how rare a word is.
BACKGROUND = 20
# By words alone a question is taken for a strange one 1.7 times as readily as the fit takes it, whose curve begins at
# -3.42: words are shared by chance, which a cosine would tell.
WORDS_SLOPE, WORDS_START = 5.13, -3.97
BOTH_SLOPES, BOTH_START = (2.74, 6.8), -5.22
# What a piece counts for no less than that its source held to be relevant, and for which it does not say by what: what
# is half relevant just counts as an answer, and nothing for which only its source's word stands is without a doubt.
FOUND_BY, MOST_BY = 0.97, 0.77
# Stems of which as many letters from the first are the same are forms of one word: of "fund" and "founder" not, of
# "Urlaub" and "Urlaubstage" they are. The stems of all Latin languages are English's, and no list holds compounds.
SAME_BEGINNING = 5
# A question of which a larger share stands nowhere in the evidence is not answered without a doubt. Of public questions
# whose passage is found that is a doubt more in 4.5 % (English) and 6 % (Russian); docs/decisions/answers.md.
# A relevance is kept to four digits.
MOST_MISSING, _ROUNDING = 1 / 3, 1e-4
# What a question that is not English gains, whose words have more forms than stems bridge: by so much do the same
# questions score less in Russian (xquad).
INFLECTED = 0.06


FEW_NUMBERS = 4


class Agreement(NamedTuple):
    """How well a piece of evidence fits a question: by its words, 0 or more, and the cosine where known."""

    words: float
    cosine: float | None = None

    @property
    def probability(self) -> float:
        """The chance that the piece answers the question; by words alone lower than the fitted one."""
        if self.cosine is None:
            return _logistic(WORDS_SLOPE * self.words + WORDS_START) if self.words else 0.0
        by_words, by_cosine = BOTH_SLOPES
        return _logistic(by_words * self.words + by_cosine * self.cosine + BOTH_START)


def answerable(question: str, evidence: Sequence[SourceResult], language: str = "en") -> float:
    """The chance that `evidence` answers `question`, 0 to 1: 0.5 at even odds where a cosine is known, and by words
    alone, which are shared by chance too, at odds of 1.7 to 1.

    0 without evidence, when it shares no word with the question and no cosine is known, and when no piece holds a code
    that the question names.

    Args:
        question: in words.
        evidence: with what its source told of it in `scores`: `lexical` and `vector`.
        language: of the question.
    """
    if _lacks_code(question, evidence):
        return 0.0
    found = agreement(question, evidence, language)
    # The more words the likelier: of those without a cosine, one tells.
    plain = [one.words for one in found if one.cosine is None]
    told = [one for one in found if one.cosine is not None] + ([Agreement(max(plain))] if plain else [])
    return max((one.probability for one in told), default=0.0)


def agreement(question: str, evidence: Sequence[SourceResult], language: str = "en") -> list[Agreement]:
    """How well each piece of `evidence` fits `question`; see `answerable`."""
    gained = 0.0 if language == "en" else INFLECTED
    pieces = [_read(*_texts(result)) for result in evidence]
    found = [result.scores.get("lexical") for result in evidence]
    counted = _counted(question, pieces) if None in found else [0.0] * len(found)
    asked = _subject(question, pieces)
    beginnings = [(stem, _beginning(stem)) for stem in asked if _has_forms(stem)]
    fitting = []
    for result, piece, told, weighed in zip(evidence, pieces, found, counted, strict=True):
        # What the piece holds in another form only.
        nearly = [1 for stem, begun in beginnings if stem not in piece.counts and begun in piece.forms]
        by_words = (weighed if told is None else told) + (len(nearly) / len(asked) if nearly else 0.0)
        least = min(FOUND_BY * result.relevance, MOST_BY) if told is None else 0.0
        fitting.append(Agreement(max(by_words + gained if by_words else 0.0, least), result.scores.get("vector")))
    return fitting


def _has_forms(stem: str) -> bool:
    return len(stem) >= SAME_BEGINNING and stem.isalpha()


def _beginning(stem: str) -> str:
    """What stands in `_Piece.forms` where another form of `stem` is there."""
    return f" {stem[:SAME_BEGINNING]}"


def _lacks_code(question: str, evidence: Sequence[SourceResult]) -> bool:
    """Whether no piece holds one of the codes of `question`: what is said of R7 is no answer about R9, nor of pump 17
    about pump 99."""
    numbers, codes = numbered(question), named_codes(question)
    texts = [" ".join(_texts(result)) for result in evidence] if numbers or codes else []
    return _lacks_number(numbers, texts) or (bool(codes) and not _hold_codes(codes, texts))


def _hold_codes(codes: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether each of `codes` stands in one of `texts`."""
    from groundgraph.text.quantities import holds_code, squeezed

    written = [squeezed(text) for text in texts]
    return all(any(holds_code(text, code) for text in written) for code in codes)


def _lacks_number(asked: Sequence[tuple[str, str]], texts: Sequence[str]) -> bool:
    """Whether of what is `asked` for by a word and a number, `texts` know others and hold this number nowhere."""
    held = _held({number for _, number in asked}, texts)
    lacking = {word for word, number in asked if number not in held}
    return bool(lacking) and any(word in lacking for text in texts for word, _ in numbered(text))


def _held(numbers: set[str], texts: Sequence[str]) -> set[str]:
    """Those of `numbers`, folded words without letters, that are words of `texts`."""
    # Hardly a question has several, and most texts hold none of them; other digits may be folded to these.
    if len(numbers) <= FEW_NUMBERS:
        texts = [text for text in texts if not text.isascii() or any(number in text for number in numbers)]
    return numbers.intersection(chain.from_iterable(map(words, texts)))


def _subject(question: str, pieces: Sequence[_Piece]) -> list[str]:
    """The stems of `question` that some piece holds, or that do not only say how it asks."""
    asked = query_stems(question)
    asking = asking_stems(asked)
    return [stem for stem in asked if stem not in asking or any(stem in piece.counts for piece in pieces)]


def _counted(question: str, pieces: Sequence[_Piece]) -> list[float]:
    """The words of the pieces, weighed among themselves; a title or section counts as text."""
    average = sum([piece.length for piece in pieces]) / len(pieces)
    asked, documents = query_stems(question), len(pieces) + BACKGROUND
    places: dict[str, list[int]] = {stem: [] for stem in asked}
    for place, piece in enumerate(pieces):
        for stem in piece.counts.keys() & places.keys():
            places[stem].append(place)
    held = {stem: len(found) for stem, found in places.items() if found}
    whole = question_weight(asked, held, documents) or 1.0
    worths = [0.0] * len(pieces)
    for stem, frequency in held.items():
        weight = idf(documents, frequency)
        for place in places[stem]:
            worths[place] += weight * bm25(pieces[place].counts[stem], pieces[place].length, average)
    return [worth / whole for worth in worths]


def missing_words(question: str, evidence: Sequence[SourceResult]) -> list[str]:
    """The content words of `question`, as they stand there, that no piece of `evidence` holds in any form. What only
    says how it is asked, as in "how many", need stand nowhere."""
    held = [_read(*_texts(result)) for result in evidence]
    asking = asking_stems(query_stems(question))
    missing: dict[str, str] = {}
    for match in WORD.finditer(question):
        own = _stems(match.group())
        if not asking.issuperset(own) and not any(_holds_form(piece, stem) for piece in held for stem in own):
            missing.setdefault(own[0], match.group())
    return list(missing.values())


def _holds_form(piece: _Piece, stem: str) -> bool:
    return stem in piece.counts or (_has_forms(stem) and _beginning(stem) in piece.forms)


def lacks_much(question: str, evidence: Sequence[SourceResult]) -> bool:
    """Whether no piece of `evidence` holds a third of what `question` is about, in any form: "What is the price of the
    kestrel pump?" of what says only how that pump is serviced. A piece may be relevant by more than it holds, by its
    vector or a text that was written for it."""
    if any(result.relevance > 1 - MOST_MISSING + _ROUNDING for result in evidence):
        return False
    asked = query_stems(question)
    about = len(set(asked) - asking_stems(asked))
    return bool(about) and len(missing_words(question, evidence)) >= MOST_MISSING * about


def lacks_name(question: str, evidence: Sequence[SourceResult], language: str) -> bool:
    """Whether no piece of `evidence` holds a word of one of the names in `question`, though some are in its script: in
    another one a name is written in other letters."""
    named = {word for name in names_in(question, language) for word in WORD.findall(name)}
    lacking = named.intersection(missing_words(question, evidence)) if named else named
    scripts = {script_of(letter) for result in evidence for letter in result.content} if lacking else set()
    return any(script_of(word[0]) in scripts for word in lacking)


def _texts(result: SourceResult) -> tuple[str, str, str]:
    metadata = result.metadata
    return result.content, str(metadata.get("title") or ""), str(metadata.get("section") or "")


class _Piece(NamedTuple):
    """A piece of evidence with what it stands under: how often it holds each stem, how many stems there are in all, and
    the stems in one text with a space before each, in which a beginning is found."""

    counts: Counter[str]
    length: int
    forms: str


@lru_cache(maxsize=4096)
def _read(content: str, title: str, section: str) -> _Piece:
    named = [_stems(name) for name in (title, section) if name not in content]
    counts = Counter(chain.from_iterable([*named, *(sentence.said for sentence in sentences_of(content))]))
    return _Piece(counts, counts.total(), " ".join(["", *counts]))


# Of words and titles few are new.
@lru_cache(maxsize=4096)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stems(text))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# What a source gives in place of a number that would have to be computed.
NEEDS = "needs_computation"
# Why evidence is left out that is of another product, say, than the question names.
OTHER_VALUE = "other_value"


def judge_evidence(parts: WorkParts) -> Work:
    """The work: all evidence stays, or none; what is of another value of a field that is asked back about than the
    question names does not."""
    return Judge(parts.settings, parts.prompts, has_model=parts.chat_model is not None)


@dataclass(frozen=True)
class Judge:
    """See `judge_evidence`.

    Attributes:
        settings: what the graph was built with.
        prompts: the notes.
        has_model: whether a model could answer from general knowledge.
    """

    settings: Settings
    prompts: Prompts
    has_model: bool

    async def __call__(self, view: View) -> Change:
        """The style that writes the answer; of evidence that is not good enough, only what comes closest is shown."""
        asked, found = _searched(view.state), await view.results()
        others = left_out(self._fields, asked, found) if self._fields else set()
        if _leans(view.state):
            others |= found_beside(found, [ref[0] for ref in view.refs], _leaning(view.state))
        known = [pair for at, pair in enumerate(zip(view.refs, found, strict=True)) if at not in others]
        held = _judgement(view, known, partial(with_values, self._fields, asked) if self._fields else list)
        good = not held.decides or self._good_enough(held.chance)
        stay = held.refs if good or self._shows_closest(view) else []
        why = {ref[0]: NEEDS for ref in view.refs} | {ref[0]: "answerable" for ref in held.refs}
        why |= {view.refs[at][0]: OTHER_VALUE for at in others}
        return Change(stay, ranking=self._ranking(view, held, found=bool(stay), good=good), why=why)

    @property
    def _fields(self) -> Sequence[str]:
        """By which passages are told apart."""
        asks = self.settings.synthesis.ask_back
        return asks.fields if asks else ()

    def _ranking(self, view: View, held: _Judgement, *, found: bool, good: bool) -> Ranking:
        style = self._style(view, found=found) if good or not found else "structured"
        chance = round(held.chance, 4)
        ranking: Ranking = {
            **view.ranking, "answerable": chance, "style": style, "doubt": None, "insufficient": False
        }  # fmt: skip
        if held.needs and held.stated < self._least_stated(held.needs):
            # A model could only make the number up.
            ranking |= {"needs": held.needs, "style": "structured" if found else None}
        if not found:
            ranking["clusters"] = []
        elif not good:
            ranking |= {"doubt": missing_words(held.asked, held.results), "insufficient": True}
        elif held.decides:
            ranking |= self._doubts(held, view)
        return ranking

    def _doubts(self, held: _Judgement, view: View) -> Any:
        """What changes where the evidence may not answer what is asked: it hardly does, or lacks a name of it. Told is
        too by which wording of a model it was found that shares too little with the question itself."""
        threshold, language = self.settings.retrieval.doubt_threshold, view.state["turn"]["language"]
        told: dict[str, Any] = {}
        if not self._good_enough(held.own_chance):
            note = self.prompts.note("other_words", language, wording=held.asked)
            told["issues"] = [*view.ranking["issues"], note]
        lacking = lacks_name(held.own, held.results, language) or lacks_much(held.asked, held.results)
        if held.chance < threshold or (threshold > 0 and lacking):
            told["doubt"] = missing_words(held.asked, held.results)
        return told

    def _least_stated(self, needs: Sequence[Needs]) -> float:
        """How likely other evidence has to answer, to be the answer though a source did not understand the question:
        a table that is named may not be meant, unless something has to be computed."""
        retrieval = self.settings.retrieval
        computing = any(one["function"] != "rows" for one in needs)
        return retrieval.doubt_threshold if computing else retrieval.answerable_threshold or 0.0

    def _good_enough(self, chance: float) -> bool:
        least = self.settings.retrieval.answerable_threshold
        return least is None or chance >= least

    def _shows_closest(self, view: View) -> bool:
        """Whether evidence that is not good enough is shown: something was asked, no model may answer without it, no
        source was down, and no template of the user's would take it for an answer."""
        synthesis = self.settings.synthesis
        own = synthesis.template or synthesis.provenance_template
        parts = parting_words(view.state["turn"]["question"], self.settings.fast_path.recognised)
        return not own and not parts and _is_uncovered(view) and self._style(view, found=False) is None

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
        return "conversational" if may_invent and _is_uncovered(view) else None


def _is_uncovered(view: View) -> bool:
    """Whether the sources do not cover the question: they answered, and not just for want of a filter."""
    retrievals = view.state["retrievals"].values()
    return absence_outcome(retrievals) == "insufficient" and not all(map(lacks_filter, retrievals))


# Gives evidence as it is judged.
Named = Callable[[Sequence[SourceResult]], list[SourceResult]]


@dataclass(frozen=True)
class _Judgement:
    """What the evidence is worth.

    Attributes:
        refs: of the evidence.
        results: the evidence itself.
        own: the form of the question that it answers best, or in place of a model's wording the user's own.
        asked: the form of the question that it answers best.
        chance: how likely it does.
        own_chance: how likely it answers the user's own.
        decides: whether the chance decides if it stays.
        needs: what else was found: what says only that a number would have to be computed, and no source did.
        stated: how likely evidence of a source that says no such thing answers the question.
    """

    refs: list[Ref]
    results: list[SourceResult]
    own: str
    asked: str
    chance: float
    own_chance: float
    decides: bool
    needs: list[Needs]
    stated: float


def _judgement(view: View, known: Sequence[tuple[Ref, SourceResult]], named: Named) -> _Judgement:
    found = [result for _, result in known]
    evidence = [(ref, result) for ref, result in known if not result.metadata.get(NEEDS)]
    computed = [result for _, result in evidence if result.metadata.get("computed")]
    asking = [
        result for result in found if result.metadata.get(NEEDS) and not any(_meets(one, result) for one in computed)
    ]
    refs = [ref for ref, _ in evidence]
    fitting = {question: named(_with_fits(evidence, view, question)) for question in _judged_questions(view.state)}
    language = view.state["turn"]["language"]
    leans = _leans(view.state)
    message = _searched(view.state)
    standing = standing_question(view.state["turn"]["question"], view.state["intent"])
    chances = {
        question: 0.0
        if question not in message and _strays(question, standing, fits)
        else _chance(question, fits, language, leans)
        for question, fits in fitting.items()
    }
    asked = max(chances, key=lambda question: chances[question])
    results = fitting[asked]
    # Rows are no answer where their own source says that something would have to be computed over them.
    computing = {result.source_name for result in asking}
    others = [result for result in results if result.source_name not in computing] if computing else results
    stated = _chance(asked, others, language, leans) if computing else chances[asked]
    own, own_chance = asked, chances[asked]
    if asked not in message and _is_by_model(view.state["intent"], asked):
        fits = named(_with_fits(evidence, view, standing))
        own, own_chance = standing, max(chances.get(message, 0.0), _chance(standing, fits, language, leans))
    decides, needs = _decides(view, results), list(map(_needs, asking))
    return _Judgement(refs, results, own, asked, chances[asked], own_chance, decides, needs, stated)


def _searched(state: RankingInput) -> str:
    """The message as it was searched for."""
    return state["intent"]["rewritten"] or state["turn"]["question"]


def _is_by_model(intent: IntentState, wording: str) -> bool:
    """Whether a model put the question so; what a filter holds of the message need not stand in the text."""
    return not intent["filters"] and (intent["mode"] == "extract" or wording in reworded(intent))


def _strays(wording: str, question: str, results: Sequence[SourceResult]) -> bool:
    """Whether `wording`, a model's, names another thing than the `question`, or none of what the question names by
    number or code and `results` lack."""
    marks = marks_in(question)
    return names_another(wording, question) or (
        bool(marks) and marks.isdisjoint(marks_in(wording)) and _lacks_code(question, results)
    )


def _chance(question: str, results: Sequence[SourceResult], language: str, leans: bool) -> float:
    """The chance that `results` answer `question`. The cosine of one that `leans` on the conversation tells nothing
    against them: what "And who pays for it?" is about stands in the question before it."""
    chance = answerable(question, results, language)
    if not leans or all("vector" not in result.scores for result in results):
        return chance
    by_words = [changed(result, scores=_without_cosine(result.scores)) for result in results]
    return max(chance, answerable(question, by_words, language))


def _without_cosine(scores: Mapping[str, float]) -> Mapping[str, float]:
    return {name: score for name, score in scores.items() if name != "vector"}


def _leans(state: RankingInput) -> bool:
    """Whether what was asked before was searched for beside the message."""
    intent = state["intent"]
    asked = _searched(state)
    return intent["mode"] == "message" and any(query not in asked for query in intent["text_queries"])


def _leaning(state: RankingInput) -> set[str]:
    """The keys of what was found for the message behind what it leans on."""
    asked = state["intent"]["text_queries"][0]
    return {ref[0] for entry in state["retrievals"].values() if entry["query"] == asked for ref in entry["refs"]}


def _judged_questions(state: RankingInput) -> list[str]:
    """The forms of the question against which the evidence is held.

    A model may have put the question in other words, in the language of the documents for example. What was only asked
    before may add evidence, but never makes an answer, unless the message has no words of its own.
    """
    intent = state["intent"]
    question = state["turn"]["question"]
    queries = intent["text_queries"]
    asked = _searched(state)
    if _leans(state):
        own = [query for query in queries if query in asked]
        # What was quoted last holds its own words, so nothing is judged by them.
        return list(dict.fromkeys([asked, *own, *reworded(intent)])) if own_words(asked) else [queries[0]]
    return list(dict.fromkeys([question, *queries, *reworded(intent)]))


def _meets(computed: SourceResult, asking: SourceResult) -> bool:
    """Whether `computed` is what `asking` says is needed: another query of the turn may have said it better."""
    own, needed = computed.metadata, asking.metadata["needs"]
    return computed.source_name == asking.source_name and (bool(own.get("proposed")) or own.get("function") == needed)


def _needs(result: SourceResult) -> Needs:
    """What a result says would have to be computed."""
    told = result.metadata
    needs: Needs = {"function": str(told["needs"]), "tables": list(told["tables"])}
    if told.get("unread"):
        needs["unread"] = list(told["unread"])
    if told.get("quantity"):
        needs["quantity"] = str(told["quantity"])
    return needs


def _decides(view: View, results: Sequence[SourceResult]) -> bool:
    """Whether the chance decides: a number that was computed, or rows that were asked for as such, are the answer, and
    facts of the state are told as such."""
    return not view.ranking["divider"] and not any(is_stated(result.metadata) for result in results)


def _with_fits(evidence: Sequence[tuple[Ref, SourceResult]], view: View, question: str) -> list[SourceResult]:
    """The evidence with what its sources told of how well it fits `question`, which is nothing where that was not
    searched for; a joined piece has the best of its chunks. How relevant it is to other words is no sign of an
    answer."""
    own = [entry for entry in view.state["retrievals"].values() if entry["query"] == question]
    found = {ref[0] for entry in own for ref in entry["refs"]}
    told: dict[str, Mapping[str, float]] = {}
    for key, fits in chain.from_iterable(entry["fits"].items() for entry in own):
        told[key] = _better(told[key], fits) if key in told else fits
    fitting = []
    for ref, result in evidence:
        parts = parts_of(view.ranking, ref[0])
        relevance = 0.0 if found.isdisjoint(parts) else result.relevance
        if not told and relevance == result.relevance:
            # As it was read: nothing is known of it but its relevance.
            fitting.append(result)
            continue
        scores = reduce(_better, [told[part] for part in parts if part in told], _NOTHING_TOLD)
        fitting.append(changed(result, relevance=relevance, scores=scores))
    return fitting


_NOTHING_TOLD: Mapping[str, float] = {}


def _better(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    """Of each number the higher."""
    return {**one, **{name: max(value, one.get(name, value)) for name, value in other.items()}} if one else other
