"""Times, shares and moments as a reader sees them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from groundgraph.report.words import Words


def duration(words: Words, milliseconds: float | None) -> str:
    """A time in the unit that suits it; a dash for one that is not known."""
    if milliseconds is None:
        return "–"
    if milliseconds < 999.5:
        return words("milliseconds", value=f"{milliseconds:.0f}" if milliseconds >= 9.95 else f"{milliseconds:.1f}")
    return words("seconds", value=f"{milliseconds / 1000:.2f}")


def moment(seconds: float | None) -> str:
    """A moment in seconds since the epoch as date and time of day, UTC; a dash for none."""
    if not seconds:
        return "–"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def compact(value: Any) -> str:
    """A value of the record on one line: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
