"""What can be told from the state of a turn: its outcome, the style it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groundgraph.core.context import Options
from groundgraph.core.degraded import NOTHING_LACKING
from groundgraph.core.intent import STYLES, IntentState
from groundgraph.core.turn_values import Outcome, Retrieval


def absence_outcome(retrievals: Iterable[Retrieval]) -> Outcome:
    """Why there is no evidence: `insufficient` when the sources answered, `unavailable` when one could not (S8).

    A source that was skipped counts as one that could not answer, unless only a required filter was missing and
    another source did answer. So does one that had to search without a part of itself.
    """
    found = list(retrievals)
    broken = any(
        _lacks_a_part(entry) or (entry["status"] != "ok" and entry.get("error_type") != "RequiredField")
        for entry in found
    )
    answered = any(entry["status"] == "ok" for entry in found)
    return "unavailable" if broken or not answered else "insufficient"


def _lacks_a_part(entry: Retrieval) -> bool:
    return any(told["part"] not in NOTHING_LACKING for told in entry.get("degraded", ()))


def asked_style(intent: IntentState, metadata: Mapping[str, Any], options: Options) -> str:
    """This turn's extracted style, else the session's, else the configured one (S2)."""
    for style in (intent.get("output_style"), metadata.get("synthesis_style")):
        if style in STYLES:
            return str(style)
    return options.style
