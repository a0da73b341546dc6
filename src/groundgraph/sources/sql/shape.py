"""What a source knows of a table: its columns, how a row is named, and which columns are searched."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundgraph.core.evidence import jsonable
from groundgraph.core.text import stems

# Columns that are plainly the text of a document; any other table is shown as whole rows.
CONTENT_NAMES = ("content", "text", "body")
TITLE_NAMES = ("title", "name", "heading", "subject")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?")
_TRUTH = {0: False, 1: True, "false": False, "true": True, "False": False, "True": True, "FALSE": False, "TRUE": True}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: its name in the database.
        kind: one of `FIELD_TYPES`, or `blob`, which can be neither searched nor filtered by.
        stored_as: the kind that its declared type stands for; `kind` differs when the user's schema says so.
        type: what the database calls its type, where that matters.
        labels: the values of an enumeration.
        declared: whether the user's schema names it.
    """

    name: str
    kind: str
    stored_as: str
    type: str = ""
    labels: tuple[str, ...] = ()
    declared: bool = False


@dataclass(frozen=True)
class Join:
    """The partner that a row has by a declared relation.

    Attributes:
        other: the table of the partner.
        column: the column of the row that refers to it.
        key: the column of `other` that is referred to.
        columns: by the name that it has in the row, the name of each added column in `other`.
    """

    other: TableShape
    column: str
    key: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TableShape:
    """One table or view, as a source reads it.

    Attributes:
        name: its name in the database.
        columns: its columns in order.
        primary_key: the names of the key's columns; empty for a view or a table without a key.
        rowid: the name under which SQLite's row number can be read, or an empty string when there is none or it
            is too large; the rows are then told apart by `key_columns`.
        content_field: the column that is the text of a row; None when a row is shown as a whole.
        search_fields: the columns in which words are searched, the content field among them.
        unique: sets of columns that no two rows share.
        joins: the partners of its rows.
        namespace: PostgreSQL's schema.
        relation: its name within that; the same as `name` when empty.
        text_index: the SQL of the expression that a full-text index of the database holds; empty without one.
        text_config: PostgreSQL's name of the language rules of that index.
        vector_fields: the columns of vectors (pgvector) that can be compared with questions.
        estimated_rows: about how many rows it has; -1 when that is not known.
        quoted: whether the database knows the names exactly as they are here; else its own rules for names hold.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    rowid: str
    content_field: str | None
    search_fields: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    joins: tuple[Join, ...] = ()
    namespace: str = ""
    relation: str = ""
    text_index: str = ""
    text_config: str = ""
    estimated_rows: int = -1
    vector_fields: tuple[str, ...] = ()
    quoted: bool = True

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that tell rows apart; all of them when nothing else does."""
        return self.primary_key or tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """The column called `name`."""
        return next((column for column in self.columns if column.name == name), None)

    def holds_in_content(self, field: str) -> bool:
        """Whether a word in `field` counts in full for the relevance of a row (R3)."""
        return self.content_field is None or field == self.content_field


def decode(kind: str, value: Any) -> Any:
    """A stored value as a value of `kind`; what is none of that kind stays as it is."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if kind == "boolean" and isinstance(value, int | str):
        return _TRUTH.get(value, value)
    if not isinstance(value, str):
        return value
    if kind in ("integer", "number"):
        return number(value, value)
    if kind == "datetime" and value[10:11] == " ":
        return f"{value[:10]}T{value[11:]}"
    return _array(value) if kind == "array" else value


def number(value: Any, otherwise: Any = None) -> Any:
    """`value` as a number when it is one or reads as one (`1,234` too), else `otherwise`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return otherwise
    if not isinstance(value, str):
        return value
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", value.strip())
    if not _NUMBER.fullmatch(text):
        return otherwise
    return int(text) if text.lstrip("+-").isdigit() and len(text) < 300 else float(text)


def _array(value: str) -> Any:
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return read if isinstance(read, list) else value


def row_stems(shape: TableShape, values: Mapping[str, Any], most: int | None = None) -> tuple[list[str], list[str]]:
    """The stems of the content field of a row, and those of its other search fields.

    Args:
        shape: the table.
        values: of the row.
        most: how many characters of a field are read; None for all.
    """
    content: list[str] = []
    other: list[str] = []
    for field in shape.search_fields:
        value = values.get(field)
        if value is not None and not isinstance(value, bytes):
            (content if shape.holds_in_content(field) else other).extend(stems(str(value)[:most]))
    return content, other


def header_stems(shape: TableShape) -> list[str]:
    """The stems of the names of a table and of its columns."""
    return stems(" ".join([shape.name, *(column.name for column in shape.columns)]).replace("_", " "))


def row_content(shape: TableShape, values: Mapping[str, Any]) -> str:
    """The text of a row: its content field, or a line `column: value` for each value that it has."""
    if shape.content_field is not None:
        value = values.get(shape.content_field)
        return "" if value is None else _shown(value)
    kept = [(column.name, values.get(column.name)) for column in shape.columns if column.kind != "blob"]
    return "\n".join(f"{name}: {_shown(value)}" for name, value in kept if value is not None and value != "")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(map(_shown, value)) if isinstance(value, list) else str(value)


def row_metadata(shape: TableShape, values: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a row: its values, which win over the names that the source itself gives."""
    title = next((name for name in TITLE_NAMES if values.get(name) not in (None, "")), None)
    own: dict[str, Any] = {"table": shape.name, "section": shape.name, "key": row_key(shape, values)}
    if title:
        own["title"] = str(values[title])
    return {**own, **{name: jsonable(value) for name, value in values.items() if not name.startswith("\0")}}


def row_key(shape: TableShape, values: Mapping[str, Any]) -> str:
    """The key of a row as readers see it; the parts of a composite key are joined by commas."""
    if shape.primary_key:
        return ",".join(_escaped(str(values[name])) for name in shape.primary_key)
    return str(values["\0key"])


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace(",", "\\,")
