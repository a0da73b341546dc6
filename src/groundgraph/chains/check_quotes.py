"""Whether what an answer quotes stands word for word in what it cites."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from groundgraph.chains.claims import CheckedAnswer, Claim
from groundgraph.chains.label_gate import LABEL
from groundgraph.chains.prose_gate import CODE
from groundgraph.core.evidence import SourceResult
from groundgraph.core.text import words
from groundgraph.core.turn_values import Flag, FoundQuote

# Fewer words in quotation marks are a term or a title.
LEAST_WORDS = 3
_MAX_CHARS = 1000
_QUOTED = re.compile(
    rf"“([^“”]{{1,{_MAX_CHARS}}})”|„([^„“”]{{1,{_MAX_CHARS}}})[“”]|«([^«»]{{1,{_MAX_CHARS}}})»|"
    rf"(?<![^\W_])\"([^\"\n]{{1,{_MAX_CHARS}}})\"(?![^\W_])"
)
_ELLIPSIS = re.compile(r"\s*(?:\[(?:…|\.{3})\]|\((?:…|\.{3})\)|…|\.{3})\s*")
_INSERTED = re.compile(r"\[[^\[\]\d][^\[\]]{0,60}\]")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u2060\u00ad\u200b\ufeff*_"),
    }
)
_AROUND = " \t\n.,;:!?…\"'-"


def quotations(answer: CheckedAnswer) -> Iterator[tuple[str, Claim]]:
    """What the answer has in quotation marks, if it has the length of a quotation.

    The claim beside each is the sentence that it ends in, with the labels of all sentences that it runs through.
    """
    prose = CODE.sub(lambda code: " " * len(code.group()), answer.written)
    for found in _QUOTED.finditer(prose):
        text = LABEL.sub("", next(group for group in found.groups() if group is not None))
        # The sentences are in order and do not overlap.
        first = bisect_right(answer.claims, found.start(), key=lambda claim: claim.end)
        inside = answer.claims[first : bisect_left(answer.claims, found.end(), key=lambda claim: claim.start)]
        if inside and "\n\n" not in text and len(list(words(text))) >= LEAST_WORDS:
            labels = dict.fromkeys(label for claim in inside for label in claim.labels)
            yield text, replace(inside[-1], labels=tuple(labels))


def locate(text: str, content: str) -> tuple[int, int] | None:
    """Where `text` stands in `content`: offsets of the first place, None when it is not there.

    White space, typographic marks, emphasis and the punctuation at both ends may differ; letters, their case apart,
    and everything between them may not.
    """
    plain, offsets = _plain(content)
    wanted = _plain(text)[0].strip(_AROUND)
    at = plain.find(wanted) if wanted else -1
    return (offsets[at], offsets[at + len(wanted) - 1] + 1) if at >= 0 else None


@lru_cache(maxsize=4096)
def _plain(text: str) -> tuple[str, tuple[int, ...]]:
    """`text` as it is compared, and for each of its characters the offset of the one that it came from."""
    characters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        plain = " " if character.isspace() else character.translate(_PLAIN).lower()
        if plain == " " and (not characters or characters[-1] == " "):
            continue
        characters.extend(plain)
        offsets.extend([offset] * len(plain))
    return "".join(characters), tuple(offsets)


def check_quotes(answer: CheckedAnswer) -> tuple[list[Flag], list[FoundQuote]]:
    """A flag `quote_not_found` for every quotation that its evidence does not hold, and where the others stand.

    Parts around an ellipsis or an inserted word in brackets are looked for one by one.
    """
    flags: list[Flag] = []
    found: list[FoundQuote] = []
    for quoted, claim in quotations(answer):
        places = [_place(answer, claim, part) for part in _parts(quoted)]
        if all(place is not None for place in places):
            found += [place for place in places if place is not None]
        elif locate(quoted, answer.question) is None:
            flags.append(claim.flag("quote_not_found", f"“{quoted[:200]}” does not stand in the evidence"))
    return flags, found


def _parts(quoted: str) -> Iterator[str]:
    for piece in _ELLIPSIS.split(quoted):
        for part in _INSERTED.split(piece):
            if any(character.isalnum() for character in part):
                yield part


def _place(answer: CheckedAnswer, claim: Claim, part: str) -> FoundQuote | None:
    labels = [label for label in claim.labels if label in answer.evidence] or list(answer.evidence)
    for label in labels:
        result = answer.evidence[label]
        place = locate(part, result.content)
        if place is not None:
            return _found(label, result, *place)
    return None


def _found(label: int, result: SourceResult, start: int, end: int) -> FoundQuote:
    base = result.metadata.get("start")
    offset = base if isinstance(base, int) and not isinstance(base, bool) else 0
    return {"label": label, "text": result.content[start:end], "start": offset + start, "end": offset + end}
