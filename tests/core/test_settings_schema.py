"""The JSON schema of a configuration (U6)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from groundgraph.cli.config import settings_schema, source_options
from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.yaml_file import read_yaml
from groundgraph.sources.contract import SourceOptions, source_types

pytestmark = pytest.mark.covers("U6")

CONFIGS = Path(__file__).parent / "configs"
VALIDATOR = jsonschema_rs.validator_for(settings_schema())


def plain(path: Path) -> dict:
    return json.loads(json.dumps(read_yaml(path)))


def test_the_schema_takes_the_minimal_configuration():
    assert VALIDATOR.is_valid(plain(CONFIGS / "minimal_config.yaml"))


def test_the_schema_takes_the_full_reference():
    assert list(VALIDATOR.iter_errors(plain(CONFIGS / "reference_config.yaml"))) == []


@pytest.mark.parametrize(
    "given",
    [
        {"retrieval": {"top_kk": 3}},
        {"reasoning": {"retrieval": {"top_k": 0}}},
        {"nope": 1},
        {"strategy": "other"},
        {"base_dir": "x"},
        {"enhanced_retrieval": {"stages": ["nonsense"]}},
        {"chains": {"documents": {"chunkr": "document"}}},
        {"bindings": {"query": {"keep": 0}}},
        {"intent": {"extraction_config": {"provider": "openai"}}},
        {"intent": {"x_extraction": {"scope": {"grounding": "never"}}}},
        {"sources": [{"type": "memory", "name": "a", "record": []}]},
        {"sources": [{"type": "weaviate", "name": "a", "collection": "A", "consistency": "most"}]},
        {"sources": [{"type": "cascade", "name": "a", "path": "b", "lemmatizer": "none"}]},
    ],
)
def test_the_schema_refuses_mistakes(given):
    assert not VALIDATOR.is_valid(given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"reasoning": None},
        {"strategy": "grounded"},
        {"reranker": {"enabled": False}, "llm": {"model": "m"}},
        {"bindings": {"documents": {"matching_text": {"name": "questions"}}}},
        {"sources": [{"type": "memory", "name": "a", "weight": 2, "records": ["A text."]}]},
        {"sources": [{"type": "cascade", "name": "a", "path": "b", "default_top_k": 3, "timeout": 2}]},
        {"sources": [{"type": "of_a_package", "name": "a", "whatever": 1}]},
    ],
)
def test_the_schema_takes_what_loads(given):
    assert VALIDATOR.is_valid(given)
    assert load_settings(given)


# What decides which keys a type takes; a SQL source has others on a server and for records.
MODES = {"sql": [{"url": "sqlite:///a"}, {"url": "postgresql://a/b"}, {"backend": "memory"}]}


def taken_by(kind: str) -> set[str]:
    """The keys that are named when an entry has one that is not known."""
    known = set()
    for mode in MODES.get("sql" if kind == "database" else kind, [{}]):
        entry = SourceOptions("a", {"not_known": 1, **mode}, Path(), "sources[0]")
        with pytest.raises(ConfigurationError) as refused:
            source_types.get(kind)(entry)
        [told] = [one.message for one in refused.value.problems if one.key == "sources[0].not_known"]
        known |= set(re.search(r"Known: (.*)\.$", told)[1].split(", "))
    return known


@pytest.mark.parametrize("kind", sorted(source_types.names()))
def test_a_source_type_takes_the_keys_that_its_schema_describes(kind):
    # One of the two kinds of bases takes the path of a file, the other a prefix.
    assert set(source_options()[kind]) - {"prefix"} == taken_by(kind)


@pytest.mark.parametrize("kind", sorted(source_options()))
def test_every_key_of_a_source_type_is_described(kind):
    assert [key for key, schema in source_options()[kind].items() if not schema.keys() & {"description", "$ref"}] == []


def test_every_setting_is_described():
    schema = settings_schema()
    parts = {"Settings": schema, **schema["$defs"]}
    bare = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, value in part.get("properties", {}).items()
        if "description" not in value and "$defs" not in json.dumps(value)
    ]
    assert bare == []
