"""Records of a custom schema as documents (K8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.graph.knowledge_base import record_document
from groundgraph.settings.knowledge_base import CustomSchemaSettings

pytestmark = pytest.mark.covers("K8")

SCHEMA = CustomSchemaSettings(
    fields={"a": {"type": "text"}, "b": {"type": "integer"}, "c": {"type": "array"}, "d": {"type": "boolean"}}
)


def test_the_text_is_a_line_for_each_field_that_is_set():
    document = record_document("notes", SCHEMA, {"a": "one", "c": ["x", 2], "b": None, "d": False}, 0)
    assert document.text == "a: one\nc: x, 2\nd: false"
    assert document.metadata == {"a": "one", "c": ["x", 2], "d": False, "title": "a: one c: x, 2 d: false"}
    assert (document.kind, document.parts[0].end) == ("notes", len(document.text))


def test_one_content_field_is_the_text_as_it_is_and_the_title_field_the_title():
    schema = CustomSchemaSettings(fields={"title": {}, "body": {"type": "text"}}, content=["body"], id="title")
    document = record_document("notes", schema, {"title": "My note", "body": "First line\n\nsecond: line"}, 0)
    assert (document.text, document.title, document.name) == ("First line\n\nsecond: line", "My note", "notes/My note")


@given(st.dictionaries(st.sampled_from("ab"), st.integers(0, 99), min_size=1), st.randoms())
def test_the_id_depends_on_the_fields_and_not_on_their_order(record, random):
    items = list(record.items())
    random.shuffle(items)
    one, other = record_document("n", SCHEMA, record, 0), record_document("n", SCHEMA, dict(items), 1)
    assert one.name == other.name
    changed = {**record, "b": record.get("b", 0) + 1}
    assert record_document("n", SCHEMA, changed, 0).name != one.name
