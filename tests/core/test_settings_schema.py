"""The JSON schema of a configuration (U6)."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from groundgraph.cli.check_config import settings_schema
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.yaml_file import read_yaml

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
    ],
)
def test_the_schema_takes_what_loads(given):
    assert VALIDATOR.is_valid(given)
    assert load_settings(given)
