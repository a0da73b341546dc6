"""All checks of an answer together, and what the policies make of what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groundgraph.answers.claims import CheckedAnswer
from groundgraph.core.turn_values import Draft, Flag, FoundQuote, Verdict
from groundgraph.settings.answers import CitationCheckSettings

# Labels that refer to nothing.


def check_labels(removed: Sequence[int]) -> list[Flag]:
    """A flag `unresolved_label` for each label that was taken out because it referred to no evidence."""
    return [
        {"kind": "unresolved_label", "sentence": "", "detail": f"[{number}] refers to no evidence"}
        for number in dict.fromkeys(removed)
    ]


# Links and images that lead away from the evidence.


def check_links(removed: Sequence[str]) -> list[Flag]:
    """A flag `link_removed` for each link or image that led elsewhere and was made plain text; it is named defanged."""
    return [
        {"kind": "link_removed", "sentence": "", "detail": f"{target} leads elsewhere than the evidence allows"}
        for target in dict.fromkeys(removed)
    ]


# A long answer about other things must not fill the record with findings.
MAX_FLAGS = 50
MAX_FOUND_QUOTES = 20
CHECK_OF = {
    "unresolved_label": "labels",
    "link_removed": "links",
    "quote_not_found": "quotes",
    "number_unsupported": "numbers",
    "name_unsupported": "names",
    "no_citation": "uncited",
    "low_support": "support",
}
"""Which check raises a kind of flag, where the kind is not called like the check."""


def check_answer(
    answer: CheckedAnswer, draft: Draft, settings: CitationCheckSettings, *, require_citations: bool
) -> tuple[list[Flag], list[FoundQuote]]:
    """What the checks that are not off found, in their order; and the quotations that stand in the evidence.

    An answer that was cut off, or declined, is not asked for citations.
    """
    flags = check_labels(draft["removed"]) if settings.labels != "off" else []
    flags += check_links(draft["removed_links"]) if settings.links != "off" else []
    quotes: list[FoundQuote] = []
    if answer.written and answer.evidence:
        # Loaded with the first answer that a model wrote: structured ones come sooner.
        from groundgraph.answers.check_prose import check_prose

        asked = require_citations and draft["finish"] == "stop"
        found, quotes = check_prose(answer, settings, asked_for_citations=asked)
        flags += found
    return _fairly(flags), quotes[:MAX_FOUND_QUOTES]


def _fairly(flags: list[Flag]) -> list[Flag]:
    """At most `MAX_FLAGS`, in their order; many of one kind leave room for those of the others, or a label such as
    [1-99] would hide what a policy is about."""
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int]] = []
    for place, flag in enumerate(flags):
        ranked.append((seen[flag["kind"]], place))
        seen[flag["kind"]] += 1
    return [flags[place] for place in sorted(place for _, place in sorted(ranked)[:MAX_FLAGS])]


def verdict_of(flags: list[Flag], settings: CitationCheckSettings, *, repaired: bool) -> Verdict:
    """What happens to the answer: the strictest policy of what was found. A repair is tried once."""
    policy_of = dict(settings)
    policies = {policy_of.get(CHECK_OF.get(flag["kind"], flag["kind"])) for flag in flags}
    if "refuse" in policies:
        return "refuse"
    return "repair" if "repair" in policies and not repaired else "pass"
