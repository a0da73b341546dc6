"""Conditions as Weaviate's filters, without a server."""

from __future__ import annotations

import fnmatch
from typing import Any

import pytest

from groundgraph.sources.weaviate.filters import FilteredProperty, as_filter

ONE = "0b5f4d90-2f5a-4a2a-8f9e-1c2d3e4f5a6b"
NO_OBJECT = "00000000-0000-0000-0000-000000000000"


@pytest.mark.covers("R7")
@pytest.mark.parametrize(("kind", "condition", "asked"), [
    ("uuid", "no-uuid", NO_OBJECT),
    ("uuid", ["no-uuid", ONE], ONE),
    ("uuid[]", {"contains": "no-uuid"}, NO_OBJECT),
])  # fmt: skip
def test_a_text_that_is_no_uuid_is_never_asked_of_a_property_of_uuids(kind: str, condition: Any, asked: str) -> None:
    assert as_filter({"u": condition}, {"u": FilteredProperty("u", "string", kind)}).value == asked


def test_what_stands_beside_a_text_that_is_no_uuid_is_told_behind_the_search() -> None:
    assert as_filter({"u": {"gt": "no-uuid"}}, {"u": FilteredProperty("u", "string", "uuid")}) is None


@pytest.mark.parametrize(("part", "value"), [
    ("gmbh", "Foo GmbH"),
    ("iphone", "an iPhone 12"),
    ("MCDONALD", "old McDonald"),
    ("strasse", "Hauptstraße 5"),
    ("Straße", "HAUPTSTRASSE 5"),
    ("a-1", "XA-1"),
    ("πόλεις", "Πόλεις"),
    (" acme ", "Acme"),
])  # fmt: skip
def test_a_part_of_a_text_is_asked_for_whatever_capitals_it_has(part: str, value: str) -> None:
    asked = as_filter({"t": {"contains": part}}, {"t": FilteredProperty("t", "string", "text")})
    patterns = [one.value for one in asked.filters] if hasattr(asked, "filters") else [asked.value]
    fitting = [one for one in patterns if fnmatch.fnmatchcase(value, one)]
    assert fitting
    assert len(patterns) <= 8
    assert not any(fnmatch.fnmatchcase("something else", one) for one in patterns)
