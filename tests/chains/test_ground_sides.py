"""A range that a model extracts keeps the side of its value that the user's words ask for."""

from __future__ import annotations

from datetime import date

import pytest

from groundgraph.answers.extracted_filters import extracted_filters
from groundgraph.answers.ground_fields import DateGround, UserWords
from groundgraph.core.schema import SourceSchema

pytestmark = pytest.mark.covers("I3", "S8")
SCHEMA = SourceSchema(
    "inc",
    {
        "severity": {"type": "string", "enum": ["low", "critical"]},
        "city": {"type": "string"},
        "opened": {"type": "date"},
        "cost": {"type": "number"},
        "paid": {"type": "boolean"},
    },
)


def _kept(question: str, filters: dict) -> dict:
    ground = DateGround(question, date(2026, 11, 26))
    found = extracted_filters(filters, {"inc": SCHEMA}, {}, UserWords(question), ground)
    assert bool(found.dropped) is (found.filters.get("inc", {}) != filters)
    return found.filters.get("inc", {})


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("Critical incidents after March", {"opened": {"lt": "2026-03-01"}}),
        ("Critical incidents after March", {"opened": {"gte": "2026-03-01", "lte": "2026-03-31"}}),
        ("incidents before March 2026", {"opened": {"gt": "2026-03-01"}}),
        ("incidents from April on", {"opened": {"lte": "2026-04-30"}}),
        ("incidents not before March 2026", {"opened": {"lt": "2026-03-01"}}),
        ("incidents until March 2026", {"opened": {"gte": "2026-03-01"}}),
        # Half of a range says the opposite.
        ("Critical incidents in 2026", {"opened": {"gte": "2025-01-01", "lt": "2026-01-01"}}),
        # A day at which a period begins or ends is not what was asked for.
        ("incidents in March 2026", {"opened": "2026-03-31"}),
        ("incidents not in March 2026", {"opened": {"not": "2026-03-01"}}),
        ("incidents on 31 March 2026", {"opened": "2026-04-01"}),
        ("incidents until 31 March 2026", {"opened": "2026-03-31"}),
        ("incidents before 1 March 2026 and on 5 May 2026", {"opened": {"gte": "2026-03-01", "lte": "2026-05-05"}}),
        ("incidents before 31 March 2026", {"opened": ["2026-03-31"]}),
        ("incidents on 31 March 2026", {"opened": {"not": "2026-03-31"}}),
        # Each of two values has the side of its place, and none that of another one.
        ("incidents that cost between 20 and 50", {"cost": {"gte": 50}}),
        ("incidents that cost between 20 and 50", {"cost": {"lte": 20}}),
        ("incidents opened between March and May 2026", {"opened": {"gte": "2026-05-01"}}),
        ("incidents that cost below 50 in March 2026", {"opened": {"lt": "2026-03-01"}}),
        ("incidents that cost over 50", {"cost": {"lt": 50}}),
        ("incidents that cost over 50", {"cost": [50]}),
        ("incidents that cost over 50", {"cost": 50}),
        ("pump incidents", {"severity": {"not": "critical"}}),
        ("critical incidents", {"severity": {"not": "critical"}}),
        ("incidents that are not critical", {"severity": "critical"}),
        ("Who is not from Leeds?", {"city": "Leeds"}),
        ("Who is from Leeds?", {"city": {"not": "Leeds"}}),
        ("incidents that are not paid", {"paid": True}),
        ("incidents that are paid", {"paid": False}),
    ],
)
def test_what_contradicts_the_words_is_dropped(question, filters):
    assert _kept(question, filters) == {}


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("Critical incidents after March", {"severity": "critical", "opened": {"gt": "2026-03-31"}}),
        ("incidents since March 2026", {"opened": {"gte": "2026-03-01"}}),
        ("incidents until March 2026", {"opened": {"lte": "2026-03-31"}}),
        ("incidents not before March 2026", {"opened": {"gte": "2026-03-01"}}),
        ("incidents from March to May 2026", {"opened": {"gte": "2026-03-01", "lte": "2026-05-31"}}),
        ("incidents between 1 March 2026 and 5 May 2026", {"opened": {"gte": "2026-03-01", "lte": "2026-05-05"}}),
        ("incidents on 31 March 2026", {"opened": "2026-03-31"}),
        ("incidents that cost between 20 and 50", {"cost": {"gte": 20, "lte": 50}}),
        (
            "incidents that cost below 50 in March 2026",
            {"opened": {"gte": "2026-03-01", "lte": "2026-03-31"}, "cost": {"lt": 50}},
        ),
        ("incidents not on 31 March 2026", {"opened": {"not": "2026-03-31"}}),
        ("incidents that cost no more than 50", {"cost": {"lte": 50}}),
        ("incidents that cost 50 or more", {"cost": {"gte": 50}}),
        ("incidents that are not critical", {"severity": {"not": "critical"}}),
        ("Who is not from the city Leeds?", {"city": {"not": "Leeds"}}),
        ("not low but critical ones, not paid", {"severity": "critical", "paid": False}),
    ],
)
def test_what_the_words_ask_for_is_kept(question, filters):
    assert _kept(question, filters) == filters
