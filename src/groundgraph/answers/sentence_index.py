"""The sentences of evidence, each with its stems; analysed once per text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from groundgraph.answers.block_kinds import RULE_LINE, below_headings, figures_in
from groundgraph.answers.label_gate import CODE
from groundgraph.core.evidence import SourceResult
from groundgraph.text.original import RUNNING_LINES, masked_line
from groundgraph.text.words import (
    MOST_FORMS,
    content_stems,
    idf,
    nearest_forms,
    query_stems,
    sentences,
    stems,
    with_forms,
    words,
)

Weights = tuple[tuple[str, float], ...]
"""The question's stems with their weights, as a key under which what was found can be kept."""

# What Markdown puts before the sentence of a list item or a quotation, and reStructuredText and MkDocs before that of a
# note, whose exclamation marks end a sentence.
_MARKER = re.compile(r"(?:(?:[-*+•>]|[a-z][a-z-]{0,30}::)\s+)+(?=\S)|(?<=!!! |\?\?\? )[^\n]*+\n\s*+(?=\S)")
_SYMBOL = re.compile(r"[{}()\[\]=<>;|\\/@+*%$_]")
# The share of symbols beyond which a text is code rather than a sentence.
MAX_SYMBOLS = 0.08
# Where a link leads is not said by the text that it stands in: "python-trio" in an address is no word on Trio.
_DESTINATION = re.compile(r"(?<=\])\([^()\s]*\)")
MIN_QUOTABLE_WORDS = 4
# "You can set it on a client, which makes it the default:" says something, "For example:" does not.
MIN_INTRODUCTION_WORDS = 10
MAX_QUOTABLE_CHARS = 600
# No sentence is that long: a transcript has no full stop, nor line ends.
_MAX_LINE = 1200
# What sets the columns of a row apart, or the parts of the head of a page, which has three.
_GAP = re.compile(r"\S {3,}(?=\S)")
_BLANK = re.compile(r"\s+")
SENTENCE_ENDS = tuple(".!?…:;。！？\"'”»)")
_RULE = re.compile(rf"^{RULE_LINE}$", re.MULTILINE)


class Sentence(NamedTuple):
    """One sentence of a text: its offsets, the stems of its content words, in order and distinct, and whether it can
    stand alone."""

    start: int
    end: int
    said: tuple[str, ...]
    stems: frozenset[str]
    quotable: bool


def sentences_of(text: str, running: tuple[str, ...] = ()) -> tuple[Sentence, ...]:
    """The sentences of `text` in order.

    Args:
        text: the text.
        running: see `running_lines`; such a line belongs to no sentence, and what stands on both sides of one to two.
    """
    # With or without the argument, it is one entry of the cache.
    return _sentences_of(text, running)


@lru_cache(maxsize=4096)
def _sentences_of(text: str, running: tuple[str, ...]) -> tuple[Sentence, ...]:
    code = [found.span() for found in CODE.finditer(text) if found.group().startswith("```")] if "```" in text else []
    # What a text says again and again, as one of lines of signs does, is read once.
    known: Known = {}
    return tuple(
        _sentence(text, first + start, first + end, code, known)
        for first, last in _stretches(text, running)
        for sentence in sentences(text[first:last])
        for start, end in _in_lines(text[first:last], *sentence)
    )


def _in_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence, or the lines of one that is too long to be any, or holds rows of figures: a table of a page has no
    full stop."""
    lines = text[start:end].splitlines(keepends=True)
    # A row of figures is one by the line above or below it.
    if end - start <= MAX_QUOTABLE_CHARS and not (len(lines) > 1 and any(figures_in(lines))):
        yield start, end
        return
    at = start
    for line in lines:
        if own := line.strip():
            begin = at + len(line) - len(line.lstrip())
            yield from _in_pieces(text, begin, begin + len(own))
        at += len(line)


def _in_pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A line, or what it is cut into between its words where it is too long for a sentence, and no row of a table."""
    while end - start > _MAX_LINE and text[start] != "|":
        gap = _BLANK.search(text, start + MAX_QUOTABLE_CHARS // 2, end)
        if gap is None:
            break
        yield start, gap.start()
        start = gap.end()
    yield start, end


Known = dict[tuple[str, bool], tuple[tuple[str, ...], frozenset[str], bool]]
"""What is known of sentences by their text, and whether it is code: the last three values of a `Sentence`."""


def _sentence(text: str, start: int, end: int, code: list[tuple[int, int]], known: Known) -> Sentence:
    marker = _MARKER.match(text, start, end)
    start = marker.end() if marker else start
    own = text[start:end]
    # Stretches of code stand in order and apart: only the last that begins before the end can reach in.
    place = bisect_left(code, (end, 0))
    in_code = place > 0 and start < code[place - 1][1]
    if (read := known.get((own, in_code))) is None:
        spoken = words(own if in_code else _DESTINATION.sub(" ", own))
        said = tuple(content_stems(spoken))
        read = known[own, in_code] = said, frozenset(said), not in_code and _is_quotable(own, len(spoken))
    return Sentence(start, end, *read)


def _is_quotable(text: str, spoken: int) -> bool:
    """Whether `text`, of `spoken` words, can stand alone: headings, table rows, code, short introductions and very long
    passages answer nothing by themselves."""
    if len(text) > MAX_QUOTABLE_CHARS or text.startswith(("#", "|", "    ")) or "|--" in text or "```" in text:
        return False
    # A word in bold makes no code of a sentence; one that is bold as a whole may be a heading.
    plain = text if text.startswith("**") else text.replace("**", "")
    if len(_SYMBOL.findall(plain)) > MAX_SYMBOLS * len(text) or _is_row(text) or not any(map(str.isalpha, text)):
        return False
    return spoken >= (MIN_INTRODUCTION_WORDS if text[-1] == ":" else MIN_QUOTABLE_WORDS)


def _is_row(text: str) -> bool:
    """Whether `text` is one line of three columns or more: a row without rules, or the head or foot of a page."""
    if "   " not in text or "\n" in text or text.endswith(SENTENCE_ENDS):
        return False
    return len(_GAP.findall(text)) > 1


def running_lines(result: SourceResult) -> tuple[str, ...]:
    """The lines at the head and foot of pages of which `result` knows."""
    given = result.metadata.get(RUNNING_LINES, ())
    return tuple(line for line in given if isinstance(line, str)) if given and isinstance(given, list | tuple) else ()


def _stretches(text: str, running: Collection[str]) -> Iterator[tuple[int, int]]:
    """The stretches of `text` between the lines `running`, and between rules: what stands above one is a heading."""
    start = 0
    for low, high in sorted([*(found.span() for found in _RULE.finditer(text)), *running_places(text, running)]):
        yield start, low
        start = high
    yield start, len(text)


def running_places(text: str, running: Collection[str]) -> Iterator[tuple[int, int]]:
    """From where to where the lines `running` stand, which are given as `masked_line` has them."""
    at = 0
    for line in text.split("\n") if running else ():
        if masked_line(line) in running:
            yield at, at + len(line)
        at += len(line) + 1


@lru_cache(maxsize=4096)
def stems_of(text: str) -> frozenset[str]:
    """The distinct stems of the content words of `text`."""
    return frozenset(stems(text))


@lru_cache(maxsize=4096)
def _frequencies(text: str) -> Counter[str]:
    """By stem, how many sentences of `text` hold it."""
    return Counter(chain.from_iterable([sentence.stems for sentence in sentences_of(text)]))


def question_weights(question: str, evidence: Iterable[SourceResult]) -> Weights:
    """The question's stems, each with its idf among the sentences of `evidence`; one that none holds counts as rare."""
    texts, headings = list[str](), set[str]()
    for result in evidence:
        texts.append(result.content)
        headings.update(str(result.metadata.get(name) or "") for name in ("title", "section"))
    return _question_weights(question, tuple(sorted(texts, key=hash)), frozenset(headings))


# A turn asks for the same weights for its quotes, its snippets and its citations, each with the texts in an order of
# its own, which makes no difference; a text knows its hash.
@lru_cache(maxsize=64)
def _question_weights(question: str, texts: tuple[str, ...], headings: frozenset[str]) -> Weights:
    weight = sentence_weights(texts)
    # What a word that no sentence holds weighs, its nearest forms weigh together.
    asked = query_stems(question)
    forms = _forms_in(texts, asked, headings)
    said = (forms.get(stem) or [stem] for stem in asked)
    return tuple((form, weight(form) / len(near)) for near in said for form in near)


def _forms_in(texts: Sequence[str], asked: Sequence[str], headings: Iterable[str]) -> dict[str, list[str]]:
    """For each stem that is `asked` for and stands in none of `texts`, its nearest forms that do. A heading that holds
    it is what is meant, and no word that begins alike: "press the button" tells of no pressure."""
    held: list[Collection[str]] = [*map(_frequencies, texts), *map(stems_of, headings)]
    lacking = [stem for stem in with_forms(asked) if not any(stem in one for one in held)]
    others = frozenset(chain.from_iterable(map(_frequencies, texts))).difference(asked) if lacking else frozenset[str]()
    return {stem: nearest_forms(stem, others)[:MOST_FORMS] for stem in lacking}


def sentence_weights(texts: Iterable[str]) -> Callable[[str], float]:
    """The idf of a stem among the sentences of `texts`; one that none holds counts as rare."""
    listed = list(texts)
    total = sum(len(sentences_of(text)) for text in listed)
    frequencies = [_frequencies(text) for text in listed]
    known: dict[str, float] = {}

    def weight(stem: str) -> float:
        if stem not in known:
            known[stem] = idf(total, max(1, sum([one[stem] for one in frequencies if stem in one])))
        return known[stem]

    return weight


@lru_cache(maxsize=4096)
def weights_held(text: str, weights: Weights, running: tuple[str, ...] = ()) -> tuple[float, ...]:
    """For each sentence of `text`, the sum of the weights of the stems that it holds."""
    asked = frozenset(stem for stem, _ in weights)
    # In the order of the weights: so every run gives the same sums.
    return tuple(
        [
            0.0 if asked.isdisjoint(held := sentence.stems) else sum([part for stem, part in weights if stem in held])
            for sentence in sentences_of(text, running)
        ]
    )


@lru_cache(maxsize=4096)
def best_sentence(text: str, weights: Weights, running: tuple[str, ...] = ()) -> Sentence | None:
    """The sentence of `text` that covers most of `weights`, one that can be quoted before one that cannot.

    The first one of equals; None when there is none.
    """
    best, most = None, (False, 0.0)
    for sentence, weight in zip(sentences_of(text, running), weights_held(text, weights, running), strict=True):
        worth = (sentence.quotable and weight > 0, weight)
        if best is None or worth > most:
            best, most = sentence, worth
    return best


def snippet(text: str, weights: Weights, limit: int = 300, running: tuple[str, ...] = ()) -> str:
    """At most `limit` characters of `text` on one line around its best sentence, cut between words, without the
    headings that it begins with: a listing names them."""
    own = below_headings(text)
    return _around_best(own, weights, limit, running) if len(own) > limit else _on_one_line(own)


@lru_cache(maxsize=4096)
def _on_one_line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _around_best(text: str, weights: Weights, limit: int, running: tuple[str, ...]) -> str:
    best = best_sentence(text, weights, running)
    start = best.start if best else 0
    end = min(len(text), start + limit * 2)
    return _clipped(" ".join(text[start:end].split()), limit, before=start > 0, after=end < len(text))


def _clipped(line: str, limit: int, *, before: bool, after: bool) -> str:
    room = limit - before
    if len(line) > room or after:
        cut = line[: room - 1]
        line = (cut.rsplit(" ", 1)[0] if " " in cut and len(line) > room - 1 else cut) + "…"
    return "…" + line if before else line


def joined_stems(texts: Sequence[str]) -> frozenset[str]:
    """The distinct stems of several texts together."""
    return frozenset[str]().union(*map(stems_of, texts))
