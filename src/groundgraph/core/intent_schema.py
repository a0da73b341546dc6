"""The JSON schema of an intent that a model fills in, with a filter for every field that a source declares (I2, R2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from groundgraph.core.intent import SCOPES, STYLES
from groundgraph.core.schema import SourceSchema

TITLE = "retrieval_intent"
# Beyond so many fields a model no longer reads the list; a filter on the others is still understood.
MAX_FIELDS = 150
_JSON_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean"}
_ORDERED = ("integer", "number", "date", "datetime")


def intent_schema(
    schemas: Mapping[str, SourceSchema | None],
    held: Mapping[str, Collection[str]],
    told: Mapping[str, str],
) -> dict[str, Any]:
    """The schema.

    Args:
        schemas: the declared fields of every source, by source name.
        held: per source, the fields that have a default or scope filter, which no extraction can set.
        told: what the model is told about `intent`, `text_queries`, `scope`, `output_style`, `filters` and `date`.
    """
    properties: dict[str, Any] = {
        "text_queries": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": told["text_queries"],
        },
        "scope": {"type": "string", "enum": list(SCOPES), "description": told["scope"]},
        "output_style": {"type": "string", "enum": list(STYLES), "description": told["output_style"]},
    }
    filters = _filters(schemas, held, told["date"])
    if filters:
        properties["filters"] = {**_closed(filters), "description": told["filters"]}
    return {"title": TITLE, "description": told["intent"], **_closed(properties), "required": ["text_queries"]}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _filters(
    schemas: Mapping[str, SourceSchema | None], held: Mapping[str, Collection[str]], date: str
) -> dict[str, Any]:
    left = MAX_FIELDS
    filters: dict[str, Any] = {}
    for name, schema in schemas.items():
        if schema is None:
            continue
        offered = [field for field in schema.fields if field not in held.get(name, ())][:left]
        left -= len(offered)
        if offered:
            filters[name] = _closed({field: _condition(schema.fields[field], date) for field in offered})
            if schema.description:
                filters[name]["description"] = schema.description
    return filters


def _condition(spec: Mapping[str, Any], date: str) -> dict[str, Any]:
    """One value, any of several, or operators: those that mean something for the field's type."""
    kind = spec.get("type", "string")
    value = _value(spec, kind)
    described = [str(spec["description"])] if spec.get("description") else []
    described += [date] if kind in ("date", "datetime") else []
    description = {"description": " ".join(described)} if described else {}
    if kind == "boolean":
        return {**value, **description}
    operators: dict[str, Any] = {"not": value}
    if kind in _ORDERED and not spec.get("enum"):
        operators |= dict.fromkeys(("gte", "gt", "lte", "lt"), value)
    elif not spec.get("enum"):
        operators["contains"] = {"type": "string"}
    return {"anyOf": [value, {"type": "array", "items": value}, _closed(operators)], **description}


def _value(spec: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"enum": list(spec["enum"])} if spec.get("enum") else {"type": _JSON_TYPES.get(kind, "string")}
