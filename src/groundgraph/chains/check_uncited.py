"""Sentences that say something and cite nothing."""

from __future__ import annotations

from groundgraph.chains.claims import CheckedAnswer
from groundgraph.chains.statements import is_statement
from groundgraph.core.turn_values import Flag


def check_uncited(answer: CheckedAnswer) -> list[Flag]:
    """A flag `uncited` for every sentence without a label that should have one; one `no_citation` when none has."""
    should = [claim for claim in answer.claims if claim.labels or is_statement(claim)]
    if not should:
        return []
    if not any(claim.labels for claim in should):
        return [{"kind": "no_citation", "sentence": "", "detail": "the answer cites no evidence"}]
    return [claim.flag("uncited", "cites no evidence") for claim in should if not claim.labels]
