"""Times within a few days of each other, in any zone and in the ways in which people and programs write them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import strategies as st

FIRST = datetime(2024, 2, 27)
ZONES = tuple(timedelta(minutes=minutes) for minutes in (0, 120, -300, 330, 840, -720))
# No country has them, PostgreSQL stores none so far off, and Python reads them.
ODD_ZONES = (*ZONES, timedelta(minutes=1439), -timedelta(minutes=1439), -timedelta(minutes=19, seconds=32))
STEPS = [timedelta(), timedelta(minutes=30), timedelta(hours=2), timedelta(microseconds=500_000), timedelta(seconds=1)]


@st.composite
def near_times(draw, *, zones=ODD_ZONES):
    """A time as text; few enough instants that two of them are often the same."""
    moment = FIRST + timedelta(hours=draw(st.integers(0, 96))) + draw(st.sampled_from(STEPS))
    offset = draw(st.sampled_from((None, *zones)))
    if offset is not None:
        moment = moment.replace(tzinfo=timezone(offset))
    return draw(st.sampled_from(list(written(moment))))


def written(moment):
    """The texts that mean `moment`."""
    full = moment.isoformat()
    forms = [full, full.replace("T", " "), moment.isoformat(timespec="microseconds")]
    if not moment.microsecond:
        forms.append(moment.isoformat(timespec="milliseconds"))
        if not moment.second:
            forms.append(moment.isoformat(timespec="minutes"))
    return [*forms, *(form.replace("+00:00", "Z") for form in forms if form.endswith("+00:00"))]
