"""Words, stems and sentences, for any script.

Text is folded the same way wherever it is compared: NFKC, case folded, ё as е, accents on Latin letters kept apart
from their letter and dropped. In words, soft hyphens and joiners are dropped, and Latin letters within a Cyrillic word
(or the reverse) that look the same are put right. Stems are Snowball's: Russian for words in Cyrillic, English for the
rest; forms that no rule makes of a word ("wrote") are listed with its language. Runs of Han, kana or Hangul, which no
space divides, count as overlapping pairs of characters.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, filterfalse, pairwise
from typing import Any, Literal

import Stemmer
import yaml

# How well a text covers a question, by words alone.


def idf(documents: int, frequency: int) -> float:
    """Inverse document frequency of a stem that `frequency` of `documents` texts hold.

    ln(1 + (N - n + 0.5) / (n + 0.5)), the form used by Lucene; never negative, largest for a stem that no text holds.
    """
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def coverage(weights: Mapping[str, float], present: Collection[str]) -> float:
    """The share of the question's weight that a text holds, 0 to 1.

    Args:
        weights: the question's stems, each with its idf.
        present: the stems of the text.
    """
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in present) / total if total else 0.0


def bm25(frequency: int, length: int, average_length: float, *, k1: float = 1.2) -> float:
    """The term-frequency part of Okapi BM25, to be multiplied by `idf` (Robertson and Zaragoza 2009, section 3)."""
    norm = 0.25 + 0.75 * (length / average_length if average_length else 1.0)
    return frequency * (k1 + 1) / (frequency + k1 * norm)


# Reading the YAML files that groundgraph ships, with libyaml where PyYAML was built with it (ten times as fast).

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_data(text: str) -> dict[str, Any]:
    """The mapping that `text`, a file of groundgraph's own, holds."""
    data: dict[str, Any] = yaml.load(text, Loader=_LOADER)
    return data


WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_ANY_LATIN = re.compile(r"[a-z]")
_LATIN_ACCENTS = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_MARKED_YE = re.compile(r"е[\u0300-\u036f]+")
# What stands within words and says nothing: accents, joiners, soft hyphens.
_MARKS = re.compile(r"[\u0300-\u036f\u00ad\u200d\u2060\ufe0f\ufeff]+")
_MIXED = re.compile(r"[a-z][\u0400-\u04ff]|[\u0400-\u04ff][a-z]|[0-9][\u0400-\u04ff]|[\u0400-\u04ff][0-9]")
_DIGIT = re.compile(r"[0-9]")
# An abbreviation in the plural, such as "CPUs": no stemmer takes the s from a word that ends in "us".
_CAPITALS = re.compile(r"\b([A-Z]{2,})s\b")
_PIECE_LENGTH = 500
# Up to a space; else up to what does not combine with the character before, as marks and the vowels of Hangul do.
_PIECE = rf"[\s\S]{{1,{_PIECE_LENGTH}}}"
_PIECES = re.compile(rf"{_PIECE}(?!\S)|{_PIECE}(?![\u0300-\u036f\u1160-\u11ff\u3099\u309a])|{_PIECE}")
# Letters that look the same, small or large, in both scripts.
_LATIN, _LOOK_ALIKES = "abcehkmoptxy", "авсенкмортху"
_TO_CYRILLIC = str.maketrans(_LATIN, _LOOK_ALIKES)
_TO_LATIN = str.maketrans(_LOOK_ALIKES, _LATIN)

_FOLDER = files("groundgraph.text") / "languages"
# Every language that has a data file.
LANGUAGES = tuple(sorted(file.name.removesuffix(".yaml") for file in _FOLDER.iterdir() if file.name.endswith(".yaml")))


# Stop words of a language that mean something in another: that they stand in a text by themselves does not tell its
# language.
AMBIGUOUS = "ambiguous"
# Rows of a word with its forms that no rule makes of it.
IRREGULAR = "irregular"
# What may stand behind any of these forms.
ENDINGS = "endings"
# Counted up when words or stems are made of a text in another way than before.
_WORDS = 1


@cache
def _read_language(language: str) -> dict[str, Any]:
    """The data file of `language`, with `stop_words` and `ambiguous` as sets of folded words."""
    text = (_FOLDER / f"{language}.yaml").read_text("utf-8")
    data = read_data(text)
    for name in ("stop_words", AMBIGUOUS):
        data[name] = frozenset(fold(data.get(name, "")).split())
    return data


def language_data(language: str, *path: str) -> Any:
    """What stands under `path` in the data file of `language`; an empty mapping where nothing does, or no file is."""
    part: Any = _read_language(language) if language in LANGUAGES else {}
    for name in path:
        part = part.get(name, {})
    return part


@cache
def _languages_in(script: str) -> tuple[str, ...]:
    return tuple(language for language in LANGUAGES if language_data(language, "script") == script)


def _language_of(script: str) -> str:
    """Whose stems words of `script` have: English's where it is Latin, and where no language has it."""
    languages = _languages_in(script)
    return "en" if "en" in languages or not languages else languages[0]


@lru_cache(maxsize=4096)
def script_of(letter: str) -> str:
    """The first word of the Unicode name of a letter, such as LATIN or CYRILLIC; empty for what is no letter."""
    return unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""


@cache
def stop_words() -> frozenset[str]:
    """The folded stop words of English and of each language with a script of its own; they share no word that matters
    in another. What means nothing in a text of another Latin language is told by the text: see `content_stems`."""
    words: frozenset[str] = frozenset()
    own = (language for language in LANGUAGES if _language_of(language_data(language, "script")) == language)
    return words.union(*(language_data(language, "stop_words") for language in own))


def normalized(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """`text` in a normal form of Unicode, in a time that grows with its length.

    `unicodedata` sorts the marks behind a letter by insertion and lets its result grow by ten characters at a time,
    which for a long run of marks or of "…" takes the square of its length: so a long text is taken in pieces, between
    words where it has any.
    """
    if len(text) <= _PIECE_LENGTH:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _PIECES.findall(text))


def fold(text: str) -> str:
    """`text` as it is compared: see the module's first lines."""
    if text.isascii():
        return text.lower()
    plain = normalized("NFKC", text).casefold()
    if plain.isascii():
        return plain
    decomposed = normalized("NFD", plain)
    decomposed = _MARKED_YE.sub(lambda ye: ye.group().replace("\u0308", ""), decomposed)
    return normalized("NFC", _LATIN_ACCENTS.sub("", decomposed))


def words(text: str) -> list[str]:
    """The folded words of `text` in order, stop words among them."""
    folded = fold(_CAPITALS.sub(r"\1", text))
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    plain = _MARKS.sub("", folded)
    found: list[str] = WORD.findall(plain)
    if _UNSPACED.search(plain) or _MIXED.search(plain):
        return [part for word in found for part in (_pairs(word) if _UNSPACED.search(word) else [_in_one_script(word)])]
    return found


def _in_one_script(word: str) -> str:
    """`word` with letters of the other script that look alike put right. Where both scripts can be, a word is Cyrillic
    and a code with digits, such as "1С", Latin; what stays mixed, such as "игроzone", is left as it is."""
    if _MIXED.search(word):
        ways = [(_TO_CYRILLIC, _ANY_LATIN), (_TO_LATIN, _CYRILLIC)]
        for table, other in reversed(ways) if _DIGIT.search(word) else ways:
            righted = word.translate(table)
            if not other.search(righted):
                return righted
    return word


def _pairs(word: str) -> Iterator[str]:
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()]
        characters = run.group()
        yield from (characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
        position = run.end()
    if position < len(word):
        yield word[position:]


def is_cyrillic(word: str) -> bool:
    """Whether a letter of `word` is Cyrillic."""
    return _CYRILLIC.search(word) is not None


_local = threading.local()


def _stemmer(language: str) -> Any:
    # A PyStemmer object must not be used by two threads at once.
    name = language_data(language, "stemmer")
    stemmers: dict[str, Any] = _local.__dict__.setdefault("stemmers", {})
    if name not in stemmers:
        stemmers[name] = Stemmer.Stemmer(name)
    return stemmers[name]


@cache
def _fleeting(language: str) -> re.Pattern[str] | None:
    """What some forms of a word have within their stem, and others not."""
    pattern = language_data(language, "fleeting")
    return re.compile(pattern) if pattern else None


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The Snowball stem of one folded word, or of the word of which it is a form that no rule makes: "wrote"."""
    language = _stemmed_as(word)
    stemmed: str = _stemmer(language).stemWord(_irregular(language).get(word, (word,))[0])
    fleeting = _fleeting(language)
    return fleeting.sub("", stemmed) if fleeting else stemmed


def _stemmed_as(word: str) -> str:
    """By which language's rules `word` is stemmed."""
    languages = () if word.isascii() else (_language_of(script_of(letter)) for letter in word)
    return next((language for language in languages if language != "en"), "en")


@cache
def _irregular(language: str) -> dict[str, tuple[str, ...]]:
    """By form, with any ending of its language, the words that are listed with it, the one first of which they are
    forms; of all languages whose words have the stems of `language`."""
    known: dict[str, tuple[str, ...]] = {}
    for one in LANGUAGES:
        if _language_of(language_data(one, "script")) == language:
            rows = [tuple(fold(row).split()) for row in language_data(one, IRREGULAR)]
            inflected = {form + ending: row for row in rows for form in row for ending in language_data(one, ENDINGS)}
            known = inflected | known | {form: row for row in rows for form in row}
    return known


def spelled_forms(word: str) -> tuple[str, ...]:
    """The folded `word`, and the other forms of it that no rule makes: what an index holds that is not of our stems."""
    return tuple(dict.fromkeys([word, *_irregular(_stemmed_as(word)).get(word, ())]))


@cache
def stemming() -> str:
    """By what the stems of a text are made: what was stored under another value is not what is searched for now."""
    # Letters and negations tell a language, and so which words mean nothing.
    kinds = ("stemmer", "script", "fleeting", IRREGULAR, ENDINGS, "stop_words", AMBIGUOUS, "letters", "negation")
    data = (language_data(language, kind) for language in LANGUAGES for kind in kinds)
    told = [sorted(one) if isinstance(one, frozenset) else one for one in data]
    return hashlib.blake2b(json.dumps([_WORDS, told]).encode(), digest_size=8).hexdigest()


def stems(text: str) -> list[str]:
    """The stems of the content words of `text`, in order and with repetitions; stop words are left out."""
    return list(map(stem, content_words(words(text), text)))


def content_stems(spoken: Sequence[str]) -> list[str]:
    """The stems of those of the folded words `spoken` that are no stop words, in order and with repetitions."""
    return list(map(stem, content_words(spoken)))


def content_words(spoken: Sequence[str], text: str = "") -> Iterator[str]:
    """Those of the folded words `spoken`, of which a `text` is, that are no stop words, of the language of all of them
    among others."""
    return filterfalse(_meaningless_here(spoken, text).__contains__, spoken)


def _meaningless_here(said: Sequence[str], text: str) -> frozenset[str]:
    """The stop words of every text, and of the Latin language that `text`, of the words `said`, is in."""
    return stop_words() if _foreign().isdisjoint(said) else _meaningless_with(_of_latin(said, "en", text))


@cache
def _own_letters(language: str) -> frozenset[str]:
    return frozenset(language_data(language, "letters"))


@cache
def _meaningless_with(language: str) -> frozenset[str]:
    return stop_words() | small_words_of(language)


@cache
def small_words_of(language: str) -> frozenset[str]:
    """The stop words of `language`, those that mean something in another among them."""
    found: frozenset[str] = language_data(language, "stop_words") | language_data(language, AMBIGUOUS)
    return found


@cache
def _foreign() -> frozenset[str]:
    """The stop words of Latin languages that are none of English."""
    return frozenset().union(*map(small_words_of, _languages_in("LATIN"))) - stop_words()


@cache
def _telling_words(language: str) -> frozenset[str]:
    """Words that tell a language: its stop words but for those that mean something in another, and those that deny."""
    denied = fold(" ".join(language_data(language, "negation"))).split()
    told: frozenset[str] = language_data(language, "stop_words").union(denied) - language_data(language, AMBIGUOUS)
    return told


def _of_latin(said: Sequence[str], default: str, text: str = "") -> str:
    """The language with the most of its small words in `said`, one of them one that tells it; of equal ones the
    default, then English, or the first. A letter of `text` that it alone has tells it like such a word, once, since it
    may stand in a name: "¿Y de una perra?" has no small word that is Spanish alone.

    Of 4 500 messages of three to fourteen words in the German, French and Spanish catalogues of Debian's programs this
    knows .78, .42 and .46, by stop words alone .70, .27 and .40; of 1 100 English ones .994.
    """
    near = _languages_in("LATIN")
    told = {one: sum(map(_telling_words(one).__contains__, said)) for one in near}
    letters = frozenset(text.lower())
    told |= {one: told[one] + 1 for one in near if not _own_letters(one).isdisjoint(letters)}
    counts = {one: told[one] and told[one] + sum(map(language_data(one, AMBIGUOUS).__contains__, said)) for one in near}
    return max(near, key=lambda one: (counts[one], one == default, one == "en"))


# Between the words of a name, as of a column: "opened_at", "pumps.hall", "unitPrice".
_JOINT = re.compile(r"[._]|(?<=[a-zäöüа-яё])(?=[A-ZÄÖÜА-ЯЁ])")


def spaced(name: str) -> str:
    """The name of a table or a field as it is said."""
    return _JOINT.sub(" ", name)


def name_stems(name: str) -> list[str]:
    """The stems of the name of a table or a field as it is said."""
    return stems(spaced(name))


def query_stems(text: str) -> list[str]:
    """The distinct stems of a question in order; when it consists of stop words only, those."""
    return list(_query_stems(text))


# A turn asks for those of its question seven times, and so does each source.
@lru_cache(maxsize=256)
def _query_stems(text: str) -> tuple[str, ...]:
    found = stems(text) or [stem(word) for word in words(text)]
    return tuple(dict.fromkeys(found))


def numbered(text: str) -> list[tuple[str, str]]:
    """The stems of the words of `text` behind which a number stands, each with that, as in "pump 17"."""
    own = pairwise(words(text))
    return [(stem(word), number) for word, number in own if number.isdecimal() and len(word) > 2 and stems(word)]


# A turn asks for that of its question seven times.
@lru_cache(maxsize=256)
def detect_language(text: str, default: str = "en") -> str:
    """The language of `text`: of those in whose script at least half of its letters are, else of the Latin ones, the
    one with the most of its small words; of equal ones English, or the first. `default` when there is no letter."""
    script = _most_of(text)
    if not script:
        return default
    near = _languages_in(script) if script != "LATIN" else ()
    return near[0] if near else _of_latin(words(text), default)


def spoken_language(text: str, before: str | None = None) -> str:
    """The language of what somebody says: as `detect_language`, but letters that one language alone has and words that
    ask tell it too, and that of what was said `before` where it tells none, or not more of another."""
    near = _languages_in(_most_of(text) or "LATIN")
    if len(near) < 2:
        return (*near, before or "en")[0]
    counts = {one: _telling_count(text, one, is_expected=one == before) for one in near}
    best = max(near, key=lambda one: (counts[one], one == before, one == "en"))
    return best if counts[best] else before or "en"


def _telling_count(text: str, language: str, *, is_expected: bool) -> int:
    """How many words of `text` are such as `language` has; 0 where all of them mean something in another, unless it is
    expected. A letter of its own counts once, since it may stand in a name."""
    said = words(text)
    told = sum(map((_telling_words(language) | _asking_words(language)).__contains__, said))
    told += not _own_letters(language).isdisjoint(text.lower())
    return told + sum(map(language_data(language, AMBIGUOUS).__contains__, said)) if told or is_expected else 0


@cache
def _asking_words(language: str) -> frozenset[str]:
    asks = [language_data(language, "asks"), language_data(language, "asks_of_code")]
    said = chain(*asks, *language_data(language, "asks_for").values())
    asking: frozenset[str] = frozenset(words(" ".join(said))) - language_data(language, AMBIGUOUS)
    return asking


def _most_of(text: str) -> str:
    """The script that at least half of the letters of `text` are in, else LATIN; empty without a letter."""
    scripts = Counter(map(script_of, text))
    del scripts[""]
    # Names and codes are Latin in texts of any script.
    own = (one for one, letters in scripts.items() if one != "LATIN" and letters * 2 >= scripts.total())
    return next(own, "LATIN") if scripts else ""


@lru_cache(maxsize=4096)
def told_language(text: str) -> str | None:
    """The language of `text` as far as its script or a small word tells it; of a script that no language has, that."""
    script = _most_of(text)
    if script == "LATIN":
        language = detect_language(text)
        return None if _telling_words(language).isdisjoint(words(text)) else language
    return next(iter(_languages_in(script)), script) or None


@cache
def _abbreviations(kind: str) -> frozenset[str]:
    return frozenset(word for language in LANGUAGES for word in language_data(language, kind))


@cache
def _months() -> frozenset[str]:
    return frozenset(fold(word) for language in LANGUAGES for word in language_data(language, "number_words", "months"))


@cache
def small_words() -> frozenset[str]:
    """The stop words of all languages."""
    return frozenset[str]().union(*map(small_words_of, LANGUAGES))


_LETTER = re.compile(r"[^\W\d_]\.")
# Letters with a full stop between each two, such as "e.g" and "U.S".
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
# The set of characters stands first by itself: the engine finds it several times faster than one of four alternatives.
# A run of full stops is read once, from its first: what does not end there does not end when begun further on. Those
# that lead to the number of a page, ". . . .", are one end as well.
_SENTENCE_END = re.compile(
    r"""[.!?…。！？\n](?:
        (?<=[.!?…])(?<![.!?…]{2})[.!?…]*+["'”»)\]]*+(?=\s)(?:[^\S\n]*+\n?+[^\S\n]*+[.!?…](?=\s|\Z))*+
        |(?<=[。！？])[。！？]*
        |(?<=\n)(?:\s*\n|(?=\s*(?:[-*+•>#|]|\d+[.)])\s))
    )""",
    re.VERBOSE,
)
# The line of a heading of Markdown ends where the line does, also without a blank one below.
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t][^\n]*+\n", re.MULTILINE)
# Lines of a quotation of Markdown that a sentence may stand in, what heads a note being none, and may go on in.
_QUOTED = re.compile(r"[ \t]*>[ \t]*(?!\[!|#|\*\*[^*\n]*+\*\*:?[ \t]*\Z)\S")
_GOES_ON_QUOTED = re.compile(r"[ \t]*>[ \t]*(?!\[!|(?:[-*+•>#|]|\d+[.)])(?:\s|\Z))\S")


def sentences(text: str) -> list[tuple[int, int]]:
    """The (start, end) offsets of the sentences of `text`, without the white space around them.

    A blank line, the end of a heading or the beginning of a list item ends a sentence too. A full stop does not when an
    abbreviation, a single initial or a small letter says otherwise.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _ends(text):
        span = _trimmed(text, start, end)
        if span:
            spans.append(span)
        start = end
    return spans


def _ends(text: str) -> Iterable[int]:
    stops = {
        found.end()
        for found in _SENTENCE_END.finditer(text)
        if (found.group()[0] not in ".…" or _is_full_stop(text, found)) and not _is_within_quotation(text, found)
    }
    yield from sorted(stops.union(found.end() for found in _HEADING.finditer(text)))
    yield len(text)


def _is_within_quotation(text: str, found: re.Match[str]) -> bool:
    """Whether it is the end of a line after which a quotation of Markdown goes on, as a paragraph does."""
    if found.group() != "\n" or not _GOES_ON_QUOTED.match(text, found.end()):
        return False
    return _QUOTED.match(text, text.rfind("\n", 0, found.start()) + 1, found.start()) is not None


def _is_full_stop(text: str, found: re.Match[str]) -> bool:
    marks = found.group().rstrip("\"'”»)]")
    after = text[found.end() : found.end() + _NEXT_CHARS]
    # Of a quotation something is left out behind a space: "shut … at once". "Wait... what is it?" is two sentences, and
    # two full stops begin a note of reStructuredText.
    left_out = "".join(marks.split()) in ("...", "…") and text[found.start() - 1 : found.start()].isspace()
    if (marks == "." or left_out) and after[:3].lstrip()[:1].islower():
        return False
    if marks != ".":
        return True
    before = text[max(0, found.start() - _NEXT_CHARS) : found.start()].split()
    previous, last = (word.lstrip("([\"'«“„") for word in ["", "", *before][-2:])
    beside = (previous, next(iter(after.split(maxsplit=1)), ""))
    if last.isdecimal():
        return not _is_ordinal(last, beside, text[max(0, found.start() - _LANGUAGE_CHARS) : found.end()])
    return not _is_short(last, beside)


# So much beside a full stop holds the words next to it, and so much before it tells its language.
_NEXT_CHARS = 24
_LANGUAGE_CHARS = 300


def _is_short(last: str, beside: tuple[str, str]) -> bool:
    """Whether `last`, between the words `beside` it, is an abbreviation or an initial."""
    lowered, (_, following) = last.lower(), beside
    if lowered in _abbreviations("abbreviations"):
        return True
    if len(last) == 1 and last.isalpha() and (last.isupper() or any(map(_LETTER.match, beside))):
        return True
    if _INITIALS.fullmatch(last):
        return last[0].islower() or not _begins_sentence(following)
    return any(map(str.isdecimal, following)) and lowered in _abbreviations("abbreviations_of_numbered")


def _is_ordinal(number: str, beside: tuple[str, str], text: str) -> bool:
    """Whether `number`, at the end of `text`, is one as in "am 3. Mai" and "im 19. Jahrhundert": with a month behind
    it, or between a small word and one that is none, in a language that writes ordinals with a full stop."""
    previous, following = beside
    if len(number) > 2 or not following[:1].isalpha():
        return False
    if fold(following.rstrip(".,;)")) in _months():
        return True
    if fold(previous) not in small_words() or _begins_sentence(following):
        return False
    language = detect_language(text)
    return bool(language_data(language, "ordinal_stop")) and fold(previous) in small_words_of(language)


def _begins_sentence(word: str) -> bool:
    """Whether `word` has its capital only because a sentence begins with it, as far as small words tell."""
    return word[:1].isupper() and fold(word.rstrip(",")) in small_words()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    own = text[start:end]
    start, end = end - len(own.lstrip()), start + len(own.rstrip())
    return (start, end) if start < end else None


# Forms of a word that stands nowhere: its inflections, what it is a slip of, and the last part of it.

# Two stems of which as many letters from the first are the same are forms of one word: of "fund" and "founder" not, of
# "Urlaub" and "Urlaubstage" they are. The stems of all Latin languages are English's, and no list holds compounds.
SAME_BEGINNING = 5
# What is longer is no word, and a page that somebody pastes holds more words: neither is told in other forms.
LONGEST_WORD, MOST_WORDS = 40, 64
# To be searched for in place of the word, these must be this share of the longer one as well: "Betriebsarzt" is no
# "Betriebsordnung".
SAME_SHARE = 0.6
# A slip is a letter too many, missing, wrong or swapped behind the first two; two are in a word as long as this.
LONG_WORD, RIGHT_LETTERS = 8, 2
# So many forms of a word that stands nowhere are looked for in its place.
MOST_FORMS = 4
# What no word begins with stands behind all that do with another.
LAST_CHARACTER = chr(0x10FFFF)
# Letters before the last part of a compound, which is at least `SAME_BEGINNING` long.
FIRST_PART = 3


def has_forms(stem: str) -> bool:
    """Whether `stem` is a word, and long enough to be told in another form."""
    return SAME_BEGINNING <= len(stem) <= LONGEST_WORD and stem.isalpha()


def with_forms(asked: Sequence[str]) -> list[str]:
    """Those of the stems of a question that have forms; none of a page that somebody pasted."""
    return list(filter(has_forms, asked)) if len(asked) <= MOST_WORDS else []


def is_slip(stem: str, word: str) -> bool:
    """Whether of two stems, of which the first `has_forms`, one is a slip of the other."""
    return _slips(stem, word) is not None


def slip_range(stem: str) -> tuple[str, str, int, int]:
    """The word before and the one behind all that a slip of `stem` can be, and how long it is at least and at most."""
    begun, most = stem[:RIGHT_LETTERS], _most_slips(stem)
    return begun, begun + LAST_CHARACTER, len(stem) - most, len(stem) + most


def last_parts(stem: str) -> list[str]:
    """What the last part of `stem` may be, were it a compound: of "Jahresurlaub" it is "urlaub"."""
    last = len(stem) - SAME_BEGINNING
    return [stem[at:] for at in range(FIRST_PART, last + 1)] if LONG_WORD <= len(stem) <= LONGEST_WORD else []


def nearest_forms(stem: str, others: Iterable[str]) -> list[str]:
    """Those of the stems `others` that are forms of `stem`, the nearest first: slips, inflections, its last part."""
    if not has_forms(stem):
        return []
    begun, parts = stem[:RIGHT_LETTERS], frozenset(last_parts(stem))
    # Of the words of ten texts few begin alike.
    alike = [word for word in others if word[:RIGHT_LETTERS] == begun or word in parts]
    near = ((_distance(stem, word, parts), word) for word in alike if word.isalpha())
    return [word for distance, word in sorted(near) if distance < _FAR]


_FAR = (3, 0)


def _distance(stem: str, word: str, parts: frozenset[str]) -> tuple[int, int]:
    """How far `word` is from `stem`, by the kind of form first; `_FAR` where it is none."""
    if (slips := _slips(stem, word)) is not None:
        return 0, slips
    longer = max(len(stem), len(word))
    if (same := _same_beginning(stem, word)) >= max(SAME_BEGINNING, SAME_SHARE * longer):
        return 1, len(stem) + len(word) - 2 * same
    return (2, -len(word)) if word in parts else _FAR


def _same_beginning(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _most_slips(stem: str) -> int:
    return 2 if len(stem) >= LONG_WORD else 1


def _slips(stem: str, word: str) -> int | None:
    """How many slips lie between two stems (optimal string alignment); None where they are too many for one word."""
    if word[:RIGHT_LETTERS] != stem[:RIGHT_LETTERS]:
        return None
    # Most questions have no word that stands nowhere: for them the library is not loaded.
    from rapidfuzz.distance import OSA

    most = _most_slips(stem)
    slips = int(OSA.distance(stem, word, score_cutoff=most))
    return slips if slips <= most else None
