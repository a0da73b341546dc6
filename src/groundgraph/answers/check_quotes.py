"""Whether what an answer quotes stands word for word in what it cites."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from groundgraph.answers.citations import MAX_FLAGS, CheckedAnswer, Claim, named_text
from groundgraph.answers.label_gate import CODE, LABEL_OR_CODE
from groundgraph.answers.quotes import found_quote
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Flag, FoundQuote
from groundgraph.text.follow_up import cue_phrases, says, spoken_stems
from groundgraph.text.words import words

# Where a text has something in quotation marks, also marks within marks, in one pass.

# By what closes it, what each mark opens. “ opens in English and closes in German and, within «», in Russian.
_CLOSED_BY = {"”": "“„", "“": "„", "»": "«"}
_OPENERS = "“„«"
# No text nests deeper; of more, the outermost were never closed.
_MAX_OPEN = 16
# A blank line ends every quotation; straight marks, which do not say whether they open, also a list item or row.
_MARK = re.compile(r"[“”„«»\"]|\n[ \t>]*(?=([-*+•#|\n]|\d{1,3}[.)])?)")


@dataclass
class _Open:
    """The marks that are open, from the outermost to the innermost: what each is and where it stands."""

    marks: list[tuple[str, int]] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)

    def push(self, mark: str, at: int) -> None:
        if len(self.marks) == _MAX_OPEN:
            self.count[self.marks.pop(0)[0]] -= 1
        self.marks.append((mark, at))
        self.count[mark] += 1

    def pop(self, kinds: str) -> int | None:
        """Where the innermost of `kinds` stands; what was opened within it is no longer open."""
        if not any(self.count[kind] for kind in kinds):
            return None
        while True:
            mark, at = self.marks.pop()
            self.count[mark] -= 1
            if mark in kinds:
                return at

    def drop(self, kinds: str) -> None:
        if any(self.count[kind] for kind in kinds):
            self.marks = [(mark, at) for mark, at in self.marks if mark not in kinds]
            self.count = Counter(mark for mark, _ in self.marks)


def spans_in_marks(text: str) -> list[tuple[int, int]]:
    """The offsets of what stands in quotation marks, in order, without the marks.

    Of marks within marks the outer ones count: what stands in the inner ones is part of the quotation.
    """
    outer: list[tuple[int, int]] = []
    for start, end in sorted(_closed(text), key=lambda span: (span[0], -span[1])):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    ends = [end for _, end in outer]
    # Whatever stands in the surer marks is none of these.
    single = ((start, end) for start, end in _in_single_marks(text) if not _meets(outer, ends, start, end))
    return sorted([*outer, *single])


def _meets(spans: Sequence[tuple[int, int]], ends: Sequence[int], start: int, end: int) -> bool:
    at = bisect_right(ends, start)
    return at < len(spans) and spans[at][0] < end


def _closed(text: str) -> Iterator[tuple[int, int]]:
    is_open = _Open()
    for found in _MARK.finditer(text):
        mark, at = found.group(), found.start()
        if mark.startswith("\n"):
            if found[1] == "\n":
                is_open = _Open()
            elif found[1]:
                is_open.drop('"')
            continue
        opener = _opener_of(text, mark, at, is_open)
        if opener is None:
            is_open.push(mark, at)
        elif opener and (start := is_open.pop(opener)) is not None:
            yield start + 1, at


def _opener_of(text: str, mark: str, at: int, is_open: _Open) -> str | None:
    """What the mark at `at` closes; None when it opens, empty when it does neither."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if mark == '"':
        return _straight(before, after, is_open)
    if mark in _OPENERS:
        if mark == "“" and is_open.count["„"]:
            return "„"
        # “so“ is how some close what they opened with the same mark.
        return mark if is_open.count[mark] and not _is_gap(before) and _is_gap(after) else None
    return _CLOSED_BY[mark]


def _straight(before: str, after: str, is_open: _Open) -> str | None:
    """The same of a straight mark, which only what stands around it tells whether it opens."""
    if is_open.count['"'] and not after.isalnum() and (_is_gap(after) or not _is_gap(before)):
        return '"'
    return "" if before.isalnum() or _is_gap(after) else None


def _is_gap(character: str) -> bool:
    """Whether nothing, or white space, stands there."""
    return not character or character.isspace()


# By what opens it, what closes a quotation in single marks, most of which are apostrophes as well.
_CLOSES = {"'": "'", "‘": "’", "‚": "‘", "‹": "›"}
# Not the apostrophe of a decade.
_SINGLE = re.compile(r"""\n|(?P<opens>(?<![^\s(\[{:—–"“„«*_])(?:'(?!\d\ds?\b)|[‘‚‹])(?=[^\s\W]))|(?<!\s)['’‘›](?!\w)""")
# Behind a word in s it may be the apostrophe of a genitive, where the sentence goes on.
_GENITIVE = re.compile(r"(?<=[sxzß])['’] [^\W\dA-Z]")


def _in_single_marks(text: str) -> Iterator[tuple[int, int]]:
    """As `_closed`, for single marks that nothing but a quotation explains; none goes on in another line."""
    closing, start, doubtful = "", 0, 0
    # The end of the text is that of a line.
    for found in _SINGLE.finditer(text + "\n"):
        mark, opens, at = found.group(), found["opens"], found.start()
        if mark == closing and not opens:
            if _GENITIVE.match(text, at):
                doubtful = doubtful or at
                continue
            yield start, at
            closing, doubtful = "", 0
        elif opens or mark == "\n":
            if doubtful and (opens or not text[start].islower()):
                yield start, doubtful
            closing, start, doubtful = _CLOSES.get(mark, ""), at + 1, 0


# Fewer words in quotation marks are a term or a title.
LEAST_WORDS = 3
# Places that begin like a quotation, though within a word, before it counts as not found.
_MAX_TRIES = 100
_ELLIPSIS = r"\[(?:…|\.{3})\]|\((?:…|\.{3})\)|…|\.{3}"
_INSERTION = re.compile(r"\[([^\[\]]*)\]")
# What a quotation leaves out, what it inserts, and its end.
_BREAK = re.compile(rf"{_ELLIPSIS}|{_INSERTION.pattern}|\Z")
_WORD_END = re.compile(r"[^\s\[\]]*")
# A reader of Markdown sees the words of a link, and not where it leads.
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|\[[^\[\]\n]*\])")
# Before the lines of a block quote.
_LINE_MARKS = re.compile(r"\n([ \t]*+>[> \t]*+)")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys('“”„‟«»″"‘’‚‛′´', "'"),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u2060\u00ad\u200b\ufeff*_`"),
    }
)
_AROUND = " \t\n.,;:!?…'-"
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@dataclass(frozen=True)
class _Part:
    """A part of a quotation between ellipses and insertions; `begins` and `ends` are False where a word goes on."""

    text: str
    begins: bool
    ends: bool


# A paragraph of lines with ">" before them; not a note under a heading of its own. Its last line may name the source.
_BLOCK = re.compile(r"^[ \t]{0,3}>[ \t]*+(?!\[!|\*\*)(\S.*(?:\n[ \t]{0,3}>[ \t]*+(?![—–])\S.*)*)", re.MULTILINE)


# Quotation marks as TeX writes them, of which the first would be code.
_TEX = re.compile(r"``([^`\n]*?)''")


def quotations(answer: CheckedAnswer) -> Iterator[tuple[str, Claim]]:
    """What the answer has in quotation marks, if it has the length of a quotation, and its block quotes with a label.

    The claim beside each is the sentence that it ends in, with the labels of all sentences that it runs through.
    """
    # Every character keeps its place.
    prose = CODE.sub(lambda code: " " * len(code.group()), _TEX.sub(r" “\1” ", answer.written))
    marked = spans_in_marks(prose)
    yield from _in_spans(answer, marked)
    # What quotes within a block says which of its words are another's.
    begun = [start for start, _ in marked]
    spans = (found.span(1) for found in _BLOCK.finditer(prose))
    blocks = [(start, end) for start, end in spans if bisect_left(begun, start) == bisect_left(begun, end)]
    yield from ((text, claim) for text, claim in _in_spans(answer, blocks) if claim.labels)


def _in_spans(answer: CheckedAnswer, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[str, Claim]]:
    for start, end in spans:
        text = LABEL_OR_CODE.sub(lambda one: "" if one.group(1) else one.group(), answer.written[start:end])
        # The sentences are in order and do not overlap.
        first = bisect_right(answer.claims, start, key=lambda claim: claim.end)
        inside = answer.claims[first : bisect_left(answer.claims, end, key=lambda claim: claim.start)]
        if inside and len(words(text)) >= LEAST_WORDS:
            labels = dict.fromkeys(label for claim in inside for label in claim.labels)
            yield text, replace(inside[-1], labels=tuple(labels))


def locate(text: str, content: str) -> tuple[int, int] | None:
    """Where `text` stands in `content`: offsets of the first place, None when it is not there.

    White space, typographic marks, emphasis, where links lead and the punctuation at both ends may differ; letters,
    their case apart, and everything between them may not. It begins and ends where words do.
    """
    return _located(_Part(text, begins=True, ends=True), content, 0)


def _located(part: _Part, content: str, behind: int) -> tuple[int, int] | None:
    """The first place of `part` in `content` that does not begin before the offset `behind`."""
    plain, offsets = _plain(content)
    wanted = _plain(part.text)[0].strip(_AROUND)
    at = bisect_left(offsets, behind)
    for _ in range(_MAX_TRIES if wanted else 0):
        at = plain.find(wanted, at)
        if at < 0:
            return None
        end = at + len(wanted)
        if not (part.begins and _is_within_word(plain, at)) and not (part.ends and _is_within_word(plain, end)):
            return offsets[at], offsets[end - 1] + 1
        at += 1
    return None


def _is_within_word(plain: str, at: int) -> bool:
    """Whether a word goes on at `at`. Scripts that put no spaces between words have no such places."""
    return 0 < at < len(plain) and _is_spaced(plain[at - 1]) and _is_spaced(plain[at])


def _is_spaced(character: str) -> bool:
    return character.isalnum() and character < "\u2e80"


@lru_cache(maxsize=4096)
def _plain(text: str) -> tuple[str, tuple[int, ...]]:
    """`text` as it is compared, and for each of its characters the offset of the one that it came from."""
    characters: list[str] = []
    offsets: list[int] = []
    for offset in _shown(text):
        character = text[offset]
        plain = " " if character.isspace() else character.translate(_PLAIN).lower()
        if plain == " " and (not characters or characters[-1] == " "):
            continue
        characters.extend(plain)
        offsets.extend([offset] * len(plain))
    return "".join(characters), tuple(offsets)


def _shown(text: str) -> Iterator[int]:
    """The offsets of the characters of `text` that a reader of Markdown sees."""
    at = 0
    marks = {offset for found in _LINE_MARKS.finditer(text) for offset in range(*found.span(1))}
    for link in [*_LINK.finditer(text), None]:
        spans = [(at, link.start()), link.span(1)] if link else [(at, len(text))]
        for start, end in spans:
            for offset in range(start, end):
                escapes = text[offset] == "\\" and text[offset + 1 : offset + 2] in _PUNCTUATION
                if not escapes and offset not in marks:
                    yield offset
        at = link.end() if link else at


def check_quotes(answer: CheckedAnswer) -> tuple[list[Flag], list[FoundQuote]]:
    """A flag `quote_not_found` for every quotation that its evidence does not hold, and where the others stand.

    Parts around an ellipsis or an inserted word in brackets are looked for one by one, in their order in one piece of
    evidence, which must hold the words of the insertion too. Behind the last of `MAX_FLAGS` nothing is looked for.
    """
    flags: list[Flag] = []
    found: list[FoundQuote] = []
    for quoted, claim in quotations(answer):
        places = _places(answer, claim, quoted)
        if places is not None:
            found += places
        elif locate(quoted, answer.question) is None:
            flags.append(claim.flag("quote_not_found", f"“{quoted[:200]}” does not stand in the evidence"))
        if len(flags) == MAX_FLAGS:
            break
    return flags, found


def _places(answer: CheckedAnswer, claim: Claim, quoted: str) -> list[FoundQuote] | None:
    """Where the parts of `quoted` stand; None when no piece of evidence that `claim` cites has them all."""
    links = _LINK.sub(r"\1", quoted)
    # "[T]he" is "The" in the evidence, where the brackets may stand too.
    readings = list(dict.fromkeys((_whole(quoted), _whole(_INSERTION.sub(r"\1", links)), _parts(links))))
    labels = [label for label in claim.labels if label in answer.evidence] or list(answer.evidence)
    for label in labels:
        result = answer.evidence[label]
        for parts, inserted in readings:
            places = _in_order(parts, result.content)
            if places is not None and all(_is_said(text, result) for text in inserted):
                return [found_quote(label, result, *place) for place in places]
    return None


def _in_order(parts: Sequence[_Part], content: str) -> list[tuple[int, int]] | None:
    places: list[tuple[int, int]] = []
    for part in parts:
        place = _located(part, content, places[-1][1] if places else 0)
        if place is None:
            return None
        places.append(place)
    return places


def _whole(text: str) -> tuple[tuple[_Part, ...], tuple[str, ...]]:
    return (_Part(text, begins=True, ends=True),), ()


def _parts(quoted: str) -> tuple[tuple[_Part, ...], tuple[str, ...]]:
    """`quoted` between its ellipses and insertions, and what is inserted; one within a word counts as that word."""
    parts: list[_Part] = []
    inserted: list[str] = []
    at, begins = 0, True
    for gap in _BREAK.finditer(quoted):
        text, added = quoted[at : gap.start()], gap[1]
        ends = not (added and text[-1:].isalnum())
        if any(map(str.isalnum, text)):
            parts.append(_Part(text, begins, ends))
        at = gap.end()
        begins = not (added and quoted[at : at + 1].isalnum())
        if added:
            goes_on = None if begins else _WORD_END.match(quoted, at)
            inserted.append(("" if ends else text.split()[-1]) + added + (goes_on.group() if goes_on else ""))
    return tuple(parts), tuple(inserted)


def _is_said(inserted: str, result: SourceResult) -> bool:
    """Whether the words of an insertion are an editor's remark or stand in the evidence, and deny nothing."""
    spoken = spoken_stems(inserted)
    if tuple(spoken) in cue_phrases("editorial"):
        return True
    return _spoken(named_text(result)).issuperset(spoken) and not says(spoken, cue_phrases("negation"))


@lru_cache(maxsize=1024)
def _spoken(text: str) -> frozenset[str]:
    return frozenset(spoken_stems(text))
