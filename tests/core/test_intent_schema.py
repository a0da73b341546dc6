"""The schema that a model fills in (I2, R2)."""

from __future__ import annotations

import jsonschema_rs
import pytest

from groundgraph.answers.extract_intent import MAX_FIELDS, intent_schema
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.schema import SourceSchema, annotations_of

TOLD = {name: f"<{name}>" for name in ("intent", "text_queries", "scope", "output_style", "filters", "date")}
INCIDENTS = SourceSchema(
    "incidents",
    {
        "severity": {"enum": ["critical", "minor"], "description": "how bad"},
        "date": {"type": "date"},
        "count": {"type": "integer"},
        "resolved": {"type": "boolean"},
        "owner": {},
    },
    description="Incidents.",
)


def schema(held=None, **sources):
    return intent_schema(sources or {"incidents": INCIDENTS, "plain": None}, held or {}, TOLD)


def valid(given: dict, **options) -> bool:
    return jsonschema_rs.validator_for(schema(**options)).is_valid({"text_queries": ["q"], **given})


@pytest.mark.covers("I2")
@pytest.mark.parametrize(
    "filters",
    [
        {"severity": ["critical", "minor"]},
        {"severity": {"not": "minor"}},
        {"date": {"gte": "2026-03", "lt": "2026-05"}},
        {"count": {"gt": 5}},
        {"resolved": True},
        {"owner": {"contains": "Mar"}},
    ],
)
def test_every_declared_field_takes_equality_sets_and_ranges(filters):
    assert valid({"filters": {"incidents": filters}})


@pytest.mark.covers("R2")
@pytest.mark.parametrize(
    "given",
    [
        {"filters": {"incidents": {"severity": "blocker"}}},
        {"filters": {"incidents": {"colour": "red"}}},
        {"filters": {"incidents": {"severity": {"gt": "critical"}}}},
        {"filters": {"incidents": {"count": {"contains": "1"}}}},
        {"filters": {"plain": {"a": 1}}},
        {"output_style": "poem"},
        {"text_queries": []},
        {"other": 1},
    ],
)
def test_what_no_source_declares_does_not_fit(given):
    assert not valid(given)


@pytest.mark.covers("I2")
def test_only_queries_are_required_and_what_is_told_stands_in_it():
    made = schema()
    assert made["required"] == ["text_queries"]
    properties = made["properties"]
    assert properties["output_style"]["description"] == "<output_style>"
    fields = properties["filters"]["properties"]["incidents"]
    assert fields["description"] == "Incidents."
    assert fields["properties"]["severity"]["description"] == "how bad"
    assert fields["properties"]["date"]["description"] == "<date>"


@pytest.mark.covers("I8")
def test_a_field_with_a_default_filter_is_not_offered():
    made = schema(held={"incidents": {"severity", "date", "count", "resolved"}})
    assert list(made["properties"]["filters"]["properties"]["incidents"]["properties"]) == ["owner"]
    assert "filters" not in schema(held={"incidents": set(INCIDENTS.fields)})["properties"]
    assert "filters" not in schema(plain=None)["properties"]


@pytest.mark.covers("I2")
def test_the_schema_does_not_grow_without_end():
    wide = {name: SourceSchema(name, {f"f{n}": {} for n in range(100)}) for name in ("a", "b", "c")}
    offered = intent_schema(wide, {}, TOLD)["properties"]["filters"]["properties"]
    assert sum(len(one["properties"]) for one in offered.values()) == MAX_FIELDS


@pytest.mark.covers("I3")
@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ({"groundng": "skip"}, "Did you mean 'grounding'"),
        ({"grounding": "sometimes"}, "'auto', 'exact', 'fuzzy' or 'skip'"),
        ({"overlap_threshold": 2}, "less than or equal to 1"),
        ("skip", r"s\.f\.x-extraction"),
    ],
)
def test_a_wrong_annotation_is_an_error_that_names_the_field(annotation, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        annotations_of(SourceSchema("s", {"f": {"x-extraction": annotation}}))
    assert caught.value.problems[0].key.startswith("s.f.x-extraction")
