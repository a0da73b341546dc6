"""From proposed filters to those that are applied (I2, R2, fault 25)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from incident_sources import FIELDS

from groundgraph.answers.extracted_filters import MAX_LOOKED_AT, extracted_filters, shown
from groundgraph.answers.ground_fields import DateGround, UserWords
from groundgraph.core.filters import check_filters
from groundgraph.core.schema import SourceSchema

SCHEMA = SourceSchema("incidents", FIELDS)
SCHEMAS = {"incidents": SCHEMA, "cases": SourceSchema("cases", {"severity": {"enum": ["critical"]}}), "plain": None}


def extract(message: str, proposed: object, *, held: dict | None = None, schemas: dict = SCHEMAS):
    days = DateGround(message, date(2026, 11, 21))
    return extracted_filters(proposed, schemas, held or {}, UserWords(message), days)


def kept(message: str, proposed: object, **options) -> dict:
    return extract(message, proposed, **options).filters


def kinds(message: str, proposed: object, **options) -> list[tuple[str, str]]:
    return [(one["field"], one["kind"]) for one in extract(message, proposed, **options).dropped]


@pytest.mark.covers("I2")
def test_critical_incidents_after_march_is_a_typed_filter():
    proposed = {"incidents": {"severity": "critical", "date": {"gt": "March"}}}
    assert kept("critical incidents after March", proposed) == {
        "incidents": {"severity": "critical", "date": {"gt": "2026-03-31"}}
    }


@pytest.mark.covers("I2")
@pytest.mark.parametrize(
    ("message", "field", "proposed", "condition"),
    [
        ("critical ones", "severity", "Critical", "critical"),
        ("critical ones", "severity", ["critical", "minor"], ["critical"]),
        ("not minor", "severity", {"not": "minor"}, {"not": "minor"}),
        ("in progress", "severity", "in progress", "in_progress"),
        ("more than 5", "count", {">": 5}, {"gt": 5}),
        ("between 5 and 9", "count", {"min": 5, "max": 9}, {"gte": 5, "lte": 9}),
        ("resolved ones", "resolved", True, True),
        ("resolved ones", "resolved", "true", True),
        ("owned by Maria", "owner", {"contains": "Maria"}, {"contains": "Maria"}),
        ("owned by Maria", "owner", {"eq": "Maria"}, "Maria"),
        ("tagged pump", "tags", "pump", "pump"),
        ("on 14 March and 15 March", "date", ["14 March", "2026-03-15"], ["2026-03-14", "2026-03-15"]),
        ("after March", "date", {"after": "March"}, {"gt": "2026-03-31"}),
        # A day, a number or a switch contains nothing but itself.
        ("on 14 March", "date", {"contains": "14 March"}, "2026-03-14"),
        ("5 of them", "count", {"contains": 5}, 5),
        ("resolved ones", "resolved", {"contains": True}, True),
    ],
)
def test_equality_sets_ranges_and_dates_become_conditions(message, field, proposed, condition):
    assert kept(message, {"incidents": {field: proposed}}) == {"incidents": {field: condition}}


@pytest.mark.covers("fault 25")
@pytest.mark.parametrize(
    ("message", "proposed", "dropped"),
    [
        ("incidents", {"incidents": {"severity": "critical"}}, ("incidents.severity", "unsaid")),
        ("blocker ones", {"incidents": {"severity": "blocker"}}, ("incidents.severity", "value")),
        ("red ones", {"incidents": {"colour": "red"}}, ("incidents.colour", "undeclared")),
        ("red ones", {"plain": {"colour": "red"}}, ("plain.colour", "undeclared")),
        ("red ones", {"colour": "red"}, ("colour", "undeclared")),
        ("acme", {"incidents": {"tenant": "acme"}}, ("incidents.tenant", "held")),
        ("critical", {"incidents": {"severity": {"like": "critical"}}}, ("incidents.severity", "value")),
        ("critical", {"incidents": {"severity": {"gt": "critical", "eq": 3}}}, ("incidents.severity", "value")),
        ("resolved ones", {"incidents": {"resolved": {"gte": True}}}, ("incidents.resolved", "value")),
        ("tagged pump", {"incidents": {"tags": {"lt": "pump"}}}, ("incidents.tags", "value")),
        ("five", {"incidents": {"count": True}}, ("incidents.count", "value")),
        ("x", {"incidents": {"owner": {"contains": {"a": 1}}}}, ("incidents.owner", "value")),
        ("x", {"incidents": {"owner": "x" * 501}}, ("incidents.owner", "value")),
        ("10", {"incidents": {"count": 10**30}}, ("incidents.count", "value")),
        ("soon", {"incidents": {"date": {"gt": "soon"}}}, ("incidents.date", "unsaid")),
        ("after March", {"incidents": {"date": {"gt": {"a": 1}}}}, ("incidents.date", "value")),
        ("x", "filters", ("filters", "value")),
    ],
)
def test_what_is_not_declared_not_a_value_or_not_said_is_dropped_and_told(message, proposed, dropped):
    held = {"incidents": {"tenant"}}
    found = extract(message, proposed, held=held)
    assert found.filters == {} or dropped[0] == "incidents.severity"
    assert dropped in kinds(message, proposed, held=held)


@pytest.mark.covers("I2")
@pytest.mark.parametrize(
    "empty", [None, "", [], {}, {"incidents": None}, {"incidents": {"severity": None, "date": {}}}]
)
def test_a_field_that_a_model_fills_with_nothing_is_nothing(empty):
    found = extract("critical", empty)
    assert (found.filters, found.dropped) == ({}, [])


@pytest.mark.covers("I2")
def test_a_field_without_its_source_holds_for_every_source_that_declares_it():
    assert kept("critical ones", {"severity": "critical"}) == {
        "incidents": {"severity": "critical"},
        "cases": {"severity": "critical"},
    }


@pytest.mark.covers("I3")
def test_an_annotation_of_a_field_chooses():
    schemas = {"s": SourceSchema("s", {"area": {"type": "string", "x-extraction": {"grounding": "skip"}}})}
    assert kept("anything", {"s": {"area": "north"}}, schemas=schemas) == {"s": {"area": "north"}}
    schemas = {"s": SourceSchema("s", {"day": {"type": "date", "x-extraction": {"grounding": "skip"}}})}
    assert kept("anything", {"s": {"day": "2020-01-01"}}, schemas=schemas) == {"s": {"day": "2020-01-01"}}


@pytest.mark.covers("fault 58")
def test_a_value_stays_a_value():
    hostile = "'; DROP TABLE incidents; --"
    assert kept(f"owned by {hostile}", {"incidents": {"owner": hostile}}) == {"incidents": {"owner": hostile}}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["critical", "March"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["incidents", "cases", "plain", *FIELDS, "gt", "lte", "not", "x"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@pytest.mark.covers("I2")
@pytest.mark.guard
@given(JSON, st.sampled_from(["critical incidents after March by Maria", "", "5 minor ones"]))
def test_whatever_is_proposed_only_declared_and_valid_conditions_come_out(proposed, message):
    found = extract(message, proposed, held={"incidents": {"tenant"}})
    for source, conditions in found.filters.items():
        schema = SCHEMAS[source]
        assert schema is not None
        assert "tenant" not in conditions
        assert check_filters(schema, conditions, source=source) == conditions


@given(JSON)
def test_what_is_shown_of_a_value_is_short(value):
    assert len(shown(value)) <= 200


@pytest.mark.covers("fault 25")
def test_a_reply_full_of_values_is_looked_at_up_to_a_bound():
    fields = {f"field{number}": {"type": "string"} for number in range(20)}
    schemas = {"s": SourceSchema("s", fields)}
    proposed = {"s": {name: [f"word{number}" for number in range(60)] for name in fields}}
    assert len(extract("nothing of that", proposed, schemas=schemas).dropped) == MAX_LOOKED_AT
