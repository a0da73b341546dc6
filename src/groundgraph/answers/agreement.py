"""How well evidence fits a question, without a model: the chance that it can be answered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from groundgraph.answers.check_support import names_in
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.core.evidence import SourceResult
from groundgraph.text.follow_up import asking_stems, codes_in, question_weight
from groundgraph.text.wording import held_codes, named_codes, with_ranges_listed
from groundgraph.text.words import (
    RIGHT_LETTERS,
    SAME_BEGINNING,
    WORD,
    bm25,
    has_forms,
    idf,
    is_slip,
    numbered,
    query_stems,
    script_of,
    stems,
    with_forms,
    words,
)

# Whether a question can be answered, from the evidence alone and without a model.
#
# By words it is one number: BM25 of the best piece by the idf of all words of the question together, and the share of
# words that it holds in another form. A piece of average length that holds each word once has 1. A source that searches
# knows how rare each word is among all its texts, what is common there, and by which text a piece was found, so what it
# tells (`scores["lexical"]`) goes before what can be counted in the pieces. Where it gives the cosine of question and
# piece, that counts too: both in one piece.
#
# A logistic curve makes a probability of it: with a cosine 0.5 at even odds between questions whose passage is in the
# base, and others; by words alone 0.34 there (below). In a clone of the repository,
# `python -m benchmarks.public_sets.calibrate` fits the curves, and prints what they are worth on a set that they were
# not fitted to. What else was tried is in docs/decisions/answers.md. The cosines are those of all-MiniLM-L6-v2; those
# of other models may run in another range.

# Pieces that stand for everything that was not found, where the source does not tell how rare a word is.
BACKGROUND = 20
# By words alone a question is taken for a strange one 1.9 times as readily as the fit takes it, whose curve begins at
# -3.42: words are shared by chance, which a cosine would tell.
WORDS_SLOPE, WORDS_START = 5.13, -4.05
BOTH_SLOPES, BOTH_START = (2.74, 6.8), -5.22
# What a piece counts for no less than that its source held to be relevant, and for which it does not say by what: what
# is half relevant just counts as an answer, and nothing for which only its source's word stands is without a doubt.
MOST_BY = 0.77
# What a piece of average length has that holds each word of the question once.
WHOLE = 1.0
# A question of which a larger share stands nowhere in the evidence is not answered without a doubt. Of public questions
# whose passage is found that is a doubt more in 4.5 % (English) and 6 % (Russian); docs/decisions/answers.md.
# A relevance is kept to four digits.
MOST_MISSING, _ROUNDING = 1 / 3, 1e-4
# What a question that is not English gains, whose words have more forms than stems bridge: by so much do the same
# questions score less in Russian (xquad).
INFLECTED = 0.06


FEW_NUMBERS = 4
# Digits of a number that by itself names nothing, as 404 or 1848 may.
SHORT_NUMBER = 2


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
    alone, which are shared by chance too, at odds of 1.9 to 1.

    0 without evidence, when it shares no word with the question and no cosine is known, and when no piece holds a code
    that the question names.

    Args:
        question: in words.
        evidence: with what its source told of it in `scores`: `lexical` and `vector`.
        language: of the question.
    """
    if lacks_code(question, evidence):
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
    formed = with_forms(asked)
    codes = _only_codes(question)
    fitting = []
    for result, piece, told, weighed in zip(evidence, pieces, found, counted, strict=True):
        # What the piece holds in another form only.
        nearly = [1 for stem in formed if stem not in piece.counts and _holds_other_form(piece, stem)]
        by_words = (weighed if told is None else told) + (len(nearly) / len(asked) if nearly else 0.0)
        least = min(result.relevance, MOST_BY) if told is None else 0.0
        if codes and codes <= piece.counts.keys():
            least = WHOLE
        fitting.append(Agreement(max(by_words + gained if by_words else 0.0, least), result.scores.get("vector")))
    return fitting


def lacks_code(question: str, evidence: Sequence[SourceResult]) -> bool:
    """Whether no piece holds one of the codes of `question`: what is said of R7 is no answer about R9, nor of pump 17
    about pump 99."""
    numbers, codes = numbered(question), named_codes(question)
    texts = [" ".join(_texts(result)) for result in evidence] if numbers or codes else []
    held = {code for text in texts for code in held_codes(codes, text)}
    return _lacks_number(numbers, texts) or not held.issuperset(codes)


def _lacks_number(asked: Sequence[tuple[str, str]], texts: Sequence[str]) -> bool:
    """Whether of what is `asked` for by a word and a number, `texts` know others and hold this number nowhere."""
    held = _held({number for _, number in asked}, texts)
    lacking = {word for word, number in asked if number not in held}
    return bool(lacking) and any(word in lacking for text in texts for word, _ in numbered(text))


def _held(numbers: set[str], texts: Sequence[str]) -> set[str]:
    """Those of `numbers`, folded words without letters, that are words of `texts`, or stand in a range there."""
    listed = list(map(with_ranges_listed, texts))
    # Hardly a question has several, and most texts hold none of them; other digits may be folded to these.
    if len(numbers) <= FEW_NUMBERS:
        listed = [text for text in listed if not text.isascii() or any(number in text for number in numbers)]
    return numbers.intersection(chain.from_iterable(map(words, listed)))


def _subject(question: str, pieces: Sequence[_Piece]) -> list[str]:
    """The stems of `question` that some piece holds, or that do not only say how it asks."""
    asked = query_stems(question)
    asking = asking_stems(asked, question)
    return [stem for stem in asked if stem not in asking or any(stem in piece.counts for piece in pieces)]


def _only_codes(question: str) -> frozenset[str]:
    """The stems of the codes of `question` where it asks of nothing else, as "What does E042 mean?" does: a piece that
    holds them is as good as one of average length, however long the list of such codes is."""
    asked = query_stems(question)
    codes = frozenset(chain.from_iterable(codes_in(asked)))
    return codes if set(asked) - asking_stems(asked, question) <= codes else frozenset()


def _counted(question: str, pieces: Sequence[_Piece]) -> list[float]:
    """The words of the pieces, weighed among themselves; a title or section counts as text."""
    average = sum([piece.length for piece in pieces]) / len(pieces)
    asked, documents = query_stems(question), len(pieces) + BACKGROUND
    places = _places(asked, pieces)
    held = {stem: len(found) for stem, found in places.items()}
    whole = question_weight(asked, held, documents) or 1.0
    worths = [0.0] * len(pieces)
    for stem, found in places.items():
        weight = idf(documents, len(found))
        for place in found:
            worths[place] += weight * bm25(pieces[place].counts[stem], pieces[place].length, average)
    return [worth / whole for worth in worths]


def _places(asked: Sequence[str], pieces: Sequence[_Piece]) -> dict[str, list[int]]:
    """The places of the pieces that hold each of the stems `asked`, in their order; without those that none holds."""
    places: dict[str, list[int]] = {stem: [] for stem in asked}
    for place, piece in enumerate(pieces):
        for stem in piece.counts.keys() & places.keys():
            places[stem].append(place)
    return {stem: found for stem, found in places.items() if found}


def says_nothing(question: str) -> bool:
    """Whether `question` alone names nothing that could be found: "What time is it?", "What is 2 + 2?"."""
    asked = query_stems(question)
    asking = asking_stems(asked, question)
    return all(stem in asking or (stem.isdecimal() and len(stem) <= SHORT_NUMBER) for stem in asked)


def missing_words(question: str, evidence: Sequence[SourceResult]) -> list[str]:
    """The content words of `question`, as they stand there, that no piece of `evidence`, nor a keyword of one, holds in
    any form. What only says how it is asked, as in "how many", need stand nowhere."""
    held = [
        _read(*texts) for result in evidence for texts in (_texts(result), (_keywords(result), "", "")) if any(texts)
    ]
    # A word such as "hat" means nothing in some languages only.
    asked = query_stems(question)
    about = set(asked) - asking_stems(asked, question)
    missing: dict[str, str] = {}
    for match in WORD.finditer(question):
        own = _stems(match.group())
        if not about.isdisjoint(own) and not any(_holds_form(piece, stem) for piece in held for stem in own):
            missing.setdefault(own[0], match.group())
    return list(missing.values())


def _holds_form(piece: _Piece, stem: str) -> bool:
    # "Kurs" loses its last letter to the stems of English.
    shortened = len(stem) > 3 and stem[:-1] in piece.counts
    return stem in piece.counts or shortened or (has_forms(stem) and _holds_other_form(piece, stem))


def _holds_other_form(piece: _Piece, stem: str) -> bool:
    """Whether `piece` holds a word with the same beginning as `stem`, which `has_forms`, or what it is a slip of."""
    return f" {stem[:SAME_BEGINNING]}" in piece.forms or any(
        is_slip(stem, word) for word in piece.begun.get(stem[:RIGHT_LETTERS], ())
    )


def lacks_much(question: str, evidence: Sequence[SourceResult]) -> bool:
    """Whether no piece of `evidence` holds a third of what `question` is about, in any form: "What is the price of the
    kestrel pump?" of what says only how that pump is serviced. A piece may be relevant by more than it holds, by its
    vector, a text that was written for it, or a keyword, of which its source tells what it holds (`held`)."""
    most = max((result.scores.get("held", result.relevance) for result in evidence), default=0.0)
    if most > 1 - MOST_MISSING + _ROUNDING:
        return False
    asked = query_stems(question)
    about = len(set(asked) - asking_stems(asked, question))
    return bool(about) and len(missing_words(question, evidence)) >= MOST_MISSING * about


def lacks_name(question: str, evidence: Sequence[SourceResult], language: str) -> bool:
    """Whether no piece of `evidence` holds a word of one of the names in `question`, though some are in its script: in
    another one a name is written in other letters. In capitals throughout no name can be told."""
    names = () if question.isupper() else names_in(question, language)
    named = {word for name in names for word in WORD.findall(name)}
    lacking = named.intersection(missing_words(question, evidence)) if named else named
    scripts = {script_of(letter) for result in evidence for letter in result.content} if lacking else set()
    return any(script_of(word[0]) in scripts for word in lacking)


def held_in_any_form(asked: frozenset[str], result: SourceResult) -> frozenset[str]:
    """Those of the stems `asked` that `result` holds, or of which it holds another form."""
    piece = _read(*_texts(result))
    return frozenset(
        stem for stem in asked if stem in piece.counts or (has_forms(stem) and _holds_other_form(piece, stem))
    )


def _texts(result: SourceResult) -> tuple[str, str, str]:
    metadata = result.metadata
    return result.content, str(metadata.get("title") or ""), str(metadata.get("section") or "")


def _keywords(result: SourceResult) -> str:
    """By which words it is asked for, which need not stand in its text."""
    given = result.metadata.get("keywords")
    return " ".join(map(str, given)) if isinstance(given, list | tuple) else ""


class _Piece(NamedTuple):
    """A piece of evidence with what it stands under: how often it holds each stem, how many stems there are in all, and
    the stems in one text with a space before each, in which a beginning is found, and by their first letters."""

    counts: Counter[str]
    length: int
    forms: str
    begun: Mapping[str, Sequence[str]]


@lru_cache(maxsize=4096)
def _read(content: str, title: str, section: str) -> _Piece:
    named = [_stems(name) for name in (title, section) if name not in content]
    counts = Counter(chain.from_iterable([*named, *(sentence.said for sentence in sentences_of(content))]))
    if (listed := with_ranges_listed(content)) != content:
        counts |= Counter(dict.fromkeys(filter(str.isdecimal, words(listed)), 1))
    begun: dict[str, list[str]] = {}
    for stem in counts:
        begun.setdefault(stem[:RIGHT_LETTERS], []).append(stem)
    return _Piece(counts, counts.total(), " ".join(["", *counts]), begun)


# Of words and titles few are new.
@lru_cache(maxsize=4096)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stems(text))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
