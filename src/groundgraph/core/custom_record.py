"""A record of a custom schema as a document (K8)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from groundgraph.core.clean_text import clean_text
from groundgraph.core.document import RECORDS, Document, Part
from groundgraph.core.errors import RecordInvalid
from groundgraph.core.evidence import jsonable
from groundgraph.core.registry import nearest
from groundgraph.core.settings import CustomSchemaSettings
from groundgraph.core.typed_value import typed_value


def record_document(kind: str, schema: CustomSchemaSettings, record: Any, number: int) -> Document:
    """The document of one record, named `KIND/ID`; its fields are its metadata.

    The id is the value of the field `schema.id`, else a hash of the fields. The text is that of the fields in
    `schema.content`: the value alone when there is one, else a line `field: value` for each that is set.

    Args:
        kind: the name of the schema.
        schema: its declaration.
        record: a mapping of fields to values.
        number: the place of the record among those that were passed in, from 0, for messages.

    Raises:
        RecordInvalid: the record does not fit the schema; the message names record and field.
    """
    values = _values(kind, schema, record, number)
    text = _text(schema, values)
    if not text.strip():
        raise _invalid(kind, number, "", "none of the fields that make its text is set")
    title = values.get("title") or " ".join(text.split())[:80]
    name = f"{kind}/{_id(kind, schema, values, number)}"
    metadata = {**values, "title": str(title)}
    return Document(name, text, RECORDS, metadata, kind=kind, parts=(Part(0, len(text)),))


def _values(kind: str, schema: CustomSchemaSettings, record: Any, number: int) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise _invalid(kind, number, "", f"it is a {type(record).__name__}, not a mapping of fields to values")
    values: dict[str, Any] = {}
    for field, value in record.items():
        if field not in schema.fields:
            known = list(schema.fields)
            told = f"the schema has no such field.{nearest(str(field), known)} Declared: {', '.join(known)}."
            raise _invalid(kind, number, str(field), told)
        if value is None:
            continue
        try:
            typed = typed_value(schema.fields[field], value)
        except ValueError as error:
            raise _invalid(kind, number, str(field), str(error)) from None
        values[str(field)] = clean_text(typed) if isinstance(typed, str) else jsonable(typed)
    missing = [name for name, spec in schema.fields.items() if spec.get("required") and name not in values]
    if missing:
        raise _invalid(kind, number, missing[0], "is required")
    return values


def _text(schema: CustomSchemaSettings, values: Mapping[str, Any]) -> str:
    chosen = [name for name in schema.content or schema.fields if name in values]
    if len(schema.content) == 1 and chosen:
        return _shown(values[chosen[0]])
    return "\n".join(f"{name}: {_shown(values[name])}" for name in chosen if _shown(values[name]).strip())


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _id(kind: str, schema: CustomSchemaSettings, values: Mapping[str, Any], number: int) -> str:
    if schema.id is None:
        canonical = json.dumps(dict(values), sort_keys=True).encode()
        return hashlib.blake2b(canonical, digest_size=12).hexdigest()
    own = _shown(values.get(schema.id, ""))
    if not own.strip():
        raise _invalid(kind, number, schema.id, "is the id of a record and must be set")
    return own


def _invalid(kind: str, number: int, field: str, told: str) -> RecordInvalid:
    where = f"record {number} of '{kind}'" + (f", field '{field}'" if field else "")
    return RecordInvalid(f"{where}: {told}", record=number, field=field)
