"""The JSON schema of a configuration file, for editors that complete keys and mark mistakes while one types."""

from __future__ import annotations

from typing import Any

from groundgraph.core.planned_keys import PlannedKey, planned_keys
from groundgraph.core.settings import INTERNAL, Settings

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """The schema of everything that `load_settings` reads.

    A key of a feature that is not there yet allows only the values that leave the feature off.
    """
    schema = Settings.model_json_schema()
    properties = schema["properties"]
    for name in INTERNAL:
        properties.pop(name, None)
    for key in planned_keys():
        _add(schema, key)
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


def _add(schema: dict[str, Any], key: PlannedKey) -> None:
    node = schema
    *sections, last = key.parts
    for part in sections:
        node = _entries(schema, node) if part == "[]" else _section(schema, node, part)
    node.setdefault("properties", {})[last] = _planned(key)


def _planned(key: PlannedKey) -> dict[str, Any]:
    if key.tolerated:
        return {"description": key.tolerated}
    return {"description": key.refusal, "enum": list(key.off)} if key.off else {"description": key.refusal, "not": {}}


def _section(schema: dict[str, Any], node: dict[str, Any], name: str) -> dict[str, Any]:
    properties = node.setdefault("properties", {})
    new: dict[str, Any] = {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
    return _resolved(schema, properties.setdefault(name, new))


def _entries(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return _resolved(schema, node["items"])


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """`node`, or the definition that it refers to, if only as one of several types."""
    for option in (node, *node.get("anyOf", ())):
        if "$ref" in option:
            definition: dict[str, Any] = schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
            return definition
    return node
