"""How much of what an answer says stands in what it cites, by words alone.

This is lexical support. It sees neither negation nor swapped roles: "the client sends the token to the server" and "the
server sends no token to the client" share all of their words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from groundgraph.answers.claims import CheckedAnswer, Claim, bare, named_text, without_fences
from groundgraph.answers.sentence_index import sentences_of, stems_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Flag
from groundgraph.text.words import LANGUAGES, language_data, stems

# Which sentences of an answer say something that evidence could support.

# A sentence of fewer words ("Key features include:") says too little to be measured.
LEAST_STEMS = 3


def _in_any_language(name: str) -> re.Pattern[str]:
    patterns = [language_data(language, "replies", name) for language in LANGUAGES]
    return re.compile("|".join(filter(None, patterns)), re.IGNORECASE)


# What says that something is missing, or talks to the reader, needs no evidence.
_EXEMPT = _in_any_language("exempt")
_EVIDENCE = _in_any_language("evidence")


def is_about_the_evidence(claim: Claim) -> bool:
    """Whether `claim` is a heading, or says what the evidence does not say."""
    return claim.text.startswith("#") or bool(_EXEMPT.search(bare(claim.text)) and _EVIDENCE.search(claim.text))


def is_statement(claim: Claim) -> bool:
    """Whether `claim` says something that evidence could support.

    Questions, headings, what leads to a list, what says that the evidence is missing and what talks to the reader do
    not.
    """
    text = without_fences(claim.text).strip()
    plain = text.rstrip("*_ ")
    if text.startswith("#") or plain.endswith((":", "?")) or _EXEMPT.search(bare(text)):
        return False
    return len(stems_of(text)) >= LEAST_STEMS


# Sentences that say something and cite nothing.


def check_uncited(answer: CheckedAnswer) -> list[Flag]:
    """A flag `uncited` for every sentence without a label that should have one; one `no_citation` when none has."""
    should = [claim for claim in answer.claims if claim.labels or is_statement(claim)]
    if not should:
        return []
    if not any(claim.labels for claim in should):
        return [{"kind": "no_citation", "sentence": "", "detail": "the answer cites no evidence"}]
    return [claim.flag("uncited", "cites no evidence") for claim in should if not claim.labels]


# Below this a sentence is flagged. Sentences of other answers lie below it in 97 of 100 cases, those of faithful
# answers in 4 (`benchmarks/l15_citation_check.py`).
LEAST_SUPPORT = 0.45


def support_of(answer: CheckedAnswer, claim: Claim) -> float:
    """How much of `claim` its evidence holds, 0 to 1.

    The mean of two shares of its distinct stems: those that stand anywhere in the evidence, and those that stand in
    three neighbouring sentences of one piece. What the question says counts as held. Numbers, which are written in
    many ways, are left to their own check. 1 for a claim without words.
    """
    own = frozenset(stem for stem in stems_of(claim.text) if not stem.isdigit())
    if not own:
        return 1.0
    rest = own - answer.asked
    results = answer.rests_on(claim)
    anywhere = frozenset[str]().union(*(rest & stems_of(named_text(result)) for result in results))
    nearby = _most_nearby(rest, anywhere, results)
    return 1 - (2 * len(rest) - len(anywhere) - nearby) / (2 * len(own))


def _most_nearby(rest: frozenset[str], anywhere: frozenset[str], results: Sequence[SourceResult]) -> int:
    best = 0
    for result in results:
        for window in windows(result.content) if best < len(anywhere) else ():
            best = max(best, len(rest & window))
    return best


@lru_cache(maxsize=4096)
def windows(text: str) -> tuple[frozenset[str], ...]:
    """For each sentence of `text`, the stems of it and of its two neighbours."""
    own = [sentence.stems for sentence in sentences_of(text)]
    return tuple(frozenset[str]().union(*own[max(0, at - 1) : at + 2]) for at in range(len(own)))


def lexical_support(answer: CheckedAnswer) -> float:
    """The mean of `support_of` over the sentences, each weighted by the number of its words; 0 without evidence or
    words."""
    weighted = [(len(stems(claim.text)), support_of(answer, claim)) for claim in answer.claims]
    total = sum(weight for weight, _ in weighted)
    return sum(weight * share for weight, share in weighted) / total if total and answer.evidence else 0.0


def check_support(answer: CheckedAnswer) -> list[Flag]:
    """A flag `low_support` for every sentence that shares too few words with what it cites.

    A block of code counts in the score, since evidence holds code too, but no sentence is flagged for it.
    """
    said = [replace(claim, text=without_fences(claim.text)) for claim in answer.claims]
    return [
        claim.flag("low_support", f"its evidence holds {share:.0%} of it")
        for claim in said
        if len(stems_of(claim.text)) >= LEAST_STEMS
        and not is_about_the_evidence(claim)
        and (share := support_of(answer, claim)) < LEAST_SUPPORT
    ]
