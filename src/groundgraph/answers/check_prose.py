"""The checks that compare what a model wrote with the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundgraph.answers.check_names import check_names
from groundgraph.answers.check_numbers import check_numbers
from groundgraph.answers.check_quotes import check_quotes
from groundgraph.answers.check_support import check_support, check_uncited
from groundgraph.answers.claims import CheckedAnswer
from groundgraph.core.turn_values import Flag, FoundQuote
from groundgraph.settings.answers import CitationCheckSettings

_ON_EVIDENCE: Mapping[str, Callable[[CheckedAnswer], list[Flag]]] = {
    "numbers": check_numbers,
    "names": check_names,
    "uncited": check_uncited,
    "support": check_support,
}


def check_prose(
    answer: CheckedAnswer, settings: CitationCheckSettings, *, asked_for_citations: bool
) -> tuple[list[Flag], list[FoundQuote]]:
    """What the checks that are not off found, in their order; and the quotations that stand in the evidence."""
    flags, quotes = check_quotes(answer) if settings.quotes != "off" else ([], [])
    for name, check in _ON_EVIDENCE.items():
        wanted = name != "uncited" or asked_for_citations
        flags += check(answer) if wanted and getattr(settings, name) != "off" else []
    return flags, quotes
