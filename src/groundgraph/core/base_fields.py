"""The fields by which a knowledge base can be filtered: those of documents, and those of every custom schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groundgraph.core.document import DOCUMENTS, WEB_PAGES
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.schema import FIELD_TYPES
from groundgraph.core.settings import CustomSchemaSettings, KnowledgeBaseSettings

_TAKEN = (DOCUMENTS, WEB_PAGES, "query")


def base_fields(base: KnowledgeBaseSettings) -> dict[str, dict[str, Any]]:
    """The fields of all kinds of data in one mapping, as `SourceSchema.fields` holds them.

    Raises:
        ConfigurationError: a schema cannot work, or two kinds declare one field with different types.
    """
    problems = [problem for name, schema in base.schemas.items() for problem in _problems(name, schema)]
    fields: dict[str, dict[str, Any]] = {name: dict(spec) for name, spec in base.fields.items()}
    for kind, schema in base.schemas.items():
        for name, spec in schema.fields.items():
            # Every document has a title, which the source gives under that name itself.
            if name == "title":
                continue
            known = fields.get(name)
            if known is not None and _type(known) != _type(spec):
                told = f"has the type {_type(spec)} here and {_type(known)} elsewhere; a filter could not know which"
                problems.append(Problem(f"knowledge_base.schemas.{kind}.fields.{name}", told))
            fields[name] = _joined(known, spec)
    if problems:
        raise ConfigurationError(problems)
    return fields


def _problems(name: str, schema: CustomSchemaSettings) -> Iterator[Problem]:
    key = f"knowledge_base.schemas.{name}"
    if name in _TAKEN:
        yield Problem(key, f"'{name}' is the name of a kind of data that is there already")
    if not schema.fields:
        yield Problem(f"{key}.fields", "a schema needs at least one field")
    for field, spec in schema.fields.items():
        if _type(spec) not in FIELD_TYPES:
            yield Problem(f"{key}.fields.{field}", f"field type '{_type(spec)}' is not one of {FIELD_TYPES}")
    for option, named in (("content", schema.content), ("id", [schema.id] if schema.id else [])):
        for field in named:
            if field not in schema.fields:
                known = list(schema.fields)
                yield Problem(f"{key}.{option}", f"there is no field '{field}'.{nearest(field, known)}")


def _type(spec: dict[str, Any]) -> str:
    return str(spec.get("type", "string"))


def _joined(known: dict[str, Any] | None, spec: dict[str, Any]) -> dict[str, Any]:
    """One specification for both kinds: a value that either allows may be filtered by."""
    joined = {name: value for name, value in {**(known or {}), **spec}.items() if name != "required"}
    if known is not None and not (known.get("enum") and spec.get("enum")):
        joined.pop("enum", None)
    elif known is not None:
        joined["enum"] = list(dict.fromkeys([*known["enum"], *spec["enum"]]))
    return joined
