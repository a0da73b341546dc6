"""Values in the types that their fields declare (K11)."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.filters import check_filters, matches
from groundgraph.core.schema import SourceSchema, typed_value

pytestmark = pytest.mark.covers("K11")


@pytest.mark.parametrize(
    ("spec", "value", "typed"),
    [
        ({}, 1.5, "1.5"),
        ({"type": "integer"}, "17", 17),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, 10**400, 10**400),
        ({"type": "boolean"}, "True", True),
        ({"type": "date"}, date(2026, 1, 5), "2026-01-05"),
        ({"type": "date"}, "20260105", "2026-01-05"),
        ({"type": "datetime"}, datetime(2026, 1, 5, 7), "2026-01-05T07:00:00"),
        ({"type": "array"}, "one", ["one"]),
        ({"type": "string"}, ["one", 2], ["one", "2"]),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
    ],
)
def test_a_value_takes_the_type_of_its_field(spec, value, typed):
    assert typed_value(spec, value) == typed
    assert type(typed_value(spec, value)) is type(typed)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", True),
        ("string", {"a": 1}),
        ("integer", "1.5"),
        ("number", float("inf")),
        ("number", "1e999"),
        ("boolean", 1),
        ("date", "soon"),
        ("array", {"a": 1}),
    ],
)
def test_a_value_of_another_type_is_refused(kind, value):
    with pytest.raises(ValueError, match=f"is not a value of type {kind}"):
        typed_value({"type": kind}, value)


def test_a_value_outside_of_the_enumeration_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'security'"):
        typed_value({"enum": ["security", "news"]}, "secuirty")


@given(st.sampled_from(["string", "integer", "number", "boolean", "date", "datetime"]), st.data())
def test_a_typed_value_is_found_by_a_filter_on_the_same_value(kind, data):
    values = {
        "string": st.text(min_size=1),
        "integer": st.integers(),
        "number": st.floats(allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
        "date": st.dates(),
        "datetime": st.datetimes(),
    }
    value = data.draw(values[kind])
    schema = SourceSchema("kb", {"field": {"type": kind}})
    condition = check_filters(schema, {"field": value}, source="kb")
    assert matches(condition, {"field": typed_value({"type": kind}, value)})
