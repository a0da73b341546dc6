"""The fields of a knowledge base: those of documents and of every custom schema (K8, K11)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.knowledge_base_files import base_fields
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings

pytestmark = pytest.mark.covers("K11")


def base(fields=None, **schemas) -> KnowledgeBaseSettings:
    return KnowledgeBaseSettings(fields=fields or {}, schemas={name: {"fields": own} for name, own in schemas.items()})


def test_the_fields_of_all_kinds_are_together():
    found = base_fields(
        base({"date": {"type": "date"}}, notes={"topic": {"enum": ["a"], "required": True}, "title": {}})
    )
    assert found == {"date": {"type": "date"}, "topic": {"enum": ["a"]}}


def test_a_field_of_two_kinds_allows_what_either_allows():
    found = base_fields(base({"kind": {"enum": ["a", "b"]}}, notes={"kind": {"enum": ["b", "c"]}}))
    assert found == {"kind": {"enum": ["a", "b", "c"]}}
    assert base_fields(base({"kind": {"enum": ["a"]}}, notes={"kind": {}})) == {"kind": {}}


@pytest.mark.covers("K8")
@pytest.mark.parametrize("name", ["documents", "web_pages", "query"])
def test_a_schema_has_a_name_of_its_own(name):
    with pytest.raises(ConfigurationError, match=f"'{name}' is the name of a kind of data"):
        base_fields(base(**{name: {"a": {}}}))
