"""Whether what a sentence cites says it, as a judge sees it: also where the words are the same, but for a "not"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundgraph.answers.citations import CheckedAnswer, Claim, named_text, without_fences
from groundgraph.core.turn_values import Flag

EVEN_ODDS = 0.5
# What a label before a full stop or a comma leaves.
_LABELS_GAP = re.compile(r" (?=[.,;:!?](?:\s|$))")


def judged_claims(answer: CheckedAnswer) -> list[Claim]:
    """The sentences that a judge can be asked about, in order: all but headings, blocks of code, questions and what
    leads to a list. Which of them speak of the evidence itself, it can tell better than a list of words."""
    return [claim for claim in answer.claims if claim.labels or _says_something(without_fences(claim.text).strip())]


def _says_something(text: str) -> bool:
    plain = text.rstrip("*_ ")
    return any(map(str.isalpha, plain)) and plain[-1] not in ":?" and not plain.startswith("#")


def judged_pair(answer: CheckedAnswer, claim: Claim) -> tuple[str, str]:
    """What `claim` rests on, and its text on one line, as it reads without its labels."""
    return "\n\n".join(map(named_text, answer.rests_on(claim))), _LABELS_GAP.sub("", " ".join(claim.text.split()))


def check_entailment(claims: Sequence[Claim], scores: Sequence[float | None], by: str) -> list[Flag]:
    """A flag `not_entailed` for every one of `claims` that the judge `by` scored below even odds."""
    return [
        claim.flag("not_entailed", f"by {by}, its evidence does not say it ({score:.0%})")
        for claim, score in zip(claims, scores, strict=True)
        if score is not None and score < EVEN_ODDS
    ]
