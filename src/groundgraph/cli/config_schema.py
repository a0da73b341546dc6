"""The JSON schema of a configuration file, for editors that complete keys and mark mistakes while one types."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

from groundgraph.settings.search import RetrieverSettings, SourceEntry
from groundgraph.settings.settings import INTERNAL, Settings

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """The schema of everything that `load_settings` reads."""
    schema = Settings.model_json_schema()
    properties = schema["properties"]
    for name in INTERNAL:
        properties.pop(name, None)
    _add_source_types(schema["$defs"])
    properties["bindings"] = {"$ref": "#/properties/chains", "description": "another name of `chains`"}
    strategy = {"const": "grounded", "description": "the only one that there is"}
    below = {name: {"$ref": f"#/properties/{name}"} for name in properties}
    properties["reasoning"] = {
        "type": ["object", "null"],
        "description": "the same sections, one level down",
        "properties": {"strategy": strategy, **below},
        "additionalProperties": False,
    }
    properties["strategy"] = strategy
    return {"$schema": _DIALECT, **schema, "title": "groundgraph", "description": "The configuration of groundgraph."}


def source_options() -> dict[str, dict[str, Any]]:
    """The schema of each key that a type of source has beside those of every entry, by type and key."""
    told = yaml.safe_load(files("groundgraph.sources").joinpath("options.yaml").read_text("utf-8"))
    told["cascade"] |= {name: {"$ref": f"#/$defs/RetrieverSettings/properties/{name}"} for name in _OF_A_CASCADE}
    return {name: told[keys] if isinstance(keys, str) else keys for name, keys in told.items()}


_OF_A_CASCADE = tuple(RetrieverSettings.model_fields)


def _add_source_types(definitions: dict[str, Any]) -> None:
    """What may stand in an entry of a known type; a package's own type may have any keys."""
    entry = definitions[SourceEntry.__name__]
    every = dict.fromkeys(entry["properties"], True)
    types = source_options()
    entry["properties"]["type"] |= {"anyOf": [{"enum": list(types)}, {"type": "string"}]}
    entry["properties"]["type"].pop("type")
    entry["allOf"] = [
        {
            "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
            "then": {"properties": {**every, **options}, "additionalProperties": False},
        }
        for name, options in types.items()
    ]
