"""The JSON schema of a configuration file, for editors that complete keys and mark mistakes while one types."""

from __future__ import annotations

from typing import Any

from groundgraph.core.settings import INTERNAL, Settings

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """The schema of everything that `load_settings` reads."""
    schema = Settings.model_json_schema()
    properties = schema["properties"]
    for name in INTERNAL:
        properties.pop(name, None)
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
