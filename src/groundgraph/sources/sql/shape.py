"""What a source knows of a table: its columns, how a row is named, which columns are searched, and
what its values and columns are called."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from groundgraph.core.characters import on_one_line
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import jsonable
from groundgraph.core.exact_number import ExactNumber, exact_number, shown_number
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.text.follow_up import language_words
from groundgraph.text.words import fold, name_stems, spaced, stems

Fields = dict[str, dict[str, Any]]


def as_source_schema(
    source: str, fields: Fields, required: Sequence[str], description: str, unread: str = ""
) -> SourceSchema:
    """The schema of the source.

    Raises:
        ConfigurationError: a type is unknown, or a required field is not declared.
    """
    return SourceSchema(source, fields, list(required), description, unread=unread)


# Columns that are plainly the text of a document; any other table is shown as whole rows.
CONTENT_NAMES = ("content", "text", "body")
TITLE_NAMES = ("title", "name", "heading", "subject")
# Under what a row has its key beside its columns.
KEY = "\0key"
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
        told: whether the configuration says so; else the database does.
    """

    other: TableShape
    column: str
    key: str
    columns: tuple[tuple[str, str], ...]
    told: bool = True

    def is_shown_under(self, filters: Mapping[str, Any]) -> bool:
        """Whether the configuration tells it, or no filter is on a column that the partner has as well: it is the
        partner's too, and nobody checks it there."""
        return self.told or not any(map(self.other.column, filters))


@dataclass(frozen=True)
class ForeignKey:
    """What the database declares of columns that hold keys of another table.

    Attributes:
        columns: the columns.
        other: the other table.
        keys: the columns of it that are referred to; its primary key when empty.
    """

    columns: tuple[str, ...]
    other: str
    keys: tuple[str, ...] = ()


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
        foreign_keys: the keys of other tables that it holds, as the database declares them.
        joins: the partners of its rows.
        namespace: PostgreSQL's schema.
        relation: its name within that; the same as `name` when empty.
        text_index: the SQL of the expression that a full-text index of the database holds; empty without one.
        text_config: PostgreSQL's name of the language rules of that index.
        unindexed: the columns with texts to search that this index does not hold.
        vector_fields: the columns of vectors (pgvector) that can be compared with questions.
        estimated_rows: about how many rows it has; -1 when that is not known.
        called: what its rows are called where that is not `name`: a schema before it is no word of a question.
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
    unindexed: tuple[str, ...] = ()
    estimated_rows: int = -1
    vector_fields: tuple[str, ...] = ()
    quoted: bool = True
    foreign_keys: tuple[ForeignKey, ...] = ()
    called: str = ""

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that tell rows apart; all of them when nothing else does."""
        return self.primary_key or tuple(column.name for column in self.columns)

    @property
    def references(self) -> tuple[str, ...]:
        """The columns that hold keys of other tables."""
        return tuple(name for key in self.foreign_keys for name in key.columns)

    @property
    def own_columns(self) -> list[Column]:
        """The columns of the table itself, without those of partners."""
        added = {label for join in self.joins for label, _ in join.columns}
        return [column for column in self.columns if column.name not in added]

    @property
    def with_partners(self) -> list[TableShape]:
        """The table, and those of partners."""
        return [self, *(join.other for join in self.joins)]

    def under(self, filters: Mapping[str, Any]) -> TableShape:
        """The table without the partners that are not shown under `filters`."""
        kept = tuple(one for one in self.joins if one.is_shown_under(filters))
        if kept == self.joins:
            return self
        gone = {label for label, _ in chain.from_iterable(one.columns for one in {*self.joins}.difference(kept))}
        return replace(
            self,
            joins=kept,
            columns=tuple(one for one in self.columns if one.name not in gone),
            search_fields=tuple(name for name in self.search_fields if name not in gone),
        )

    def column(self, name: str) -> Column | None:
        """The column called `name`."""
        return next((column for column in self.columns if column.name == name), None)

    def holds_in_content(self, field: str) -> bool:
        """Whether a word in `field` counts in full for the relevance of a row: of its own text, and in no column that
        only tells which partner it has."""
        return field not in self.lent if self.content_field is None else field == self.content_field

    @cached_property
    def lent(self) -> frozenset[str]:
        """The columns that only tell which partner a row has."""
        return frozenset(label for join in self.joins if not join.told for label, _ in join.columns)


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
    return int(text) if text.lstrip("+-").isdigit() and len(text) < 300 else exact_number(text)


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
    for name in shape.search_fields:
        value = values.get(name)
        if value is not None and not isinstance(value, bytes):
            (content if shape.holds_in_content(name) else other).extend(stems(str(value)[:most]))
    return content, other


def header_stems(shape: TableShape) -> list[str]:
    """The stems of the names of a table and of its columns."""
    return name_stems(" ".join([shape.name, *(column.name for column in shape.columns)]))


def row_content(shape: TableShape, values: Mapping[str, Any]) -> str:
    """The text of a row: its content field, or a line `column: value` for each value that it has."""
    if shape.content_field is not None:
        value = values.get(shape.content_field)
        return "" if value is None else _shown(value)
    kept = [(column.name, values.get(column.name)) for column in shape.columns if column.kind != "blob"]
    lines = ((name, on_one_line(_shown(value))) for name, value in kept if value is not None)
    return "\n".join(f"{name}: {line}" for name, line in lines if line)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return shown_number(value)
    return ", ".join(map(_shown, value)) if isinstance(value, list) else str(value)


def row_metadata(shape: TableShape, values: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a row: its values, which win over the names that the source itself gives."""
    title = next((name for name in TITLE_NAMES if values.get(name) not in (None, "")), None)
    own: dict[str, Any] = {"table": shape.name, "section": shape.name, "key": row_key(shape, values)}
    if title:
        own["title"] = str(values[title])
    # What a filter is held against stays a number.
    said = {name: value if isinstance(value, ExactNumber) else jsonable(value) for name, value in values.items()}
    return {**own, **{name: value for name, value in said.items() if not name.startswith("\0")}}


def row_key(shape: TableShape, values: Mapping[str, Any]) -> str:
    """The key of a row as readers see it; the parts of a composite key are joined by commas."""
    if shape.primary_key:
        return ",".join(str(values[name]).replace("\\", "\\\\").replace(",", "\\,") for name in shape.primary_key)
    return str(values[KEY])


# Columns of other tables that belong to a row by a declared relation, such as the pump of an incident.
#
# A relation leads from a column of one table to a key of another, so that each row has one partner at most and no row
# comes twice. The partner's columns are searched, filtered and shown as if they were the row's own, under names such as
# `pumps.hall`.

_KEYS = {"from", "to", "fields", "as"}


@dataclass(frozen=True)
class Relation:
    """One declared relation.

    Attributes:
        table: the table whose rows get more columns.
        column: its column that refers to the other table.
        other: the other table.
        key: the column that `column` refers to; no two rows of `other` share a value of it.
        fields: the columns of `other` that are added; all of them when empty.
        prefix: what stands before the point in the names of the added columns.
    """

    table: str
    column: str
    other: str
    key: str
    fields: Sequence[str] = ()
    prefix: str = ""


def read_relations(given: Sequence[Any] | None, source: str) -> list[Relation] | None:
    """The relations of a configuration: `incidents.pump_id = pumps.id`, or a mapping with `from`, `to`, and where
    wanted `fields` and `as`; None where it says nothing of them.

    Raises:
        ConfigurationError: one is written otherwise.
    """
    if given is None:
        return None
    return [_read(item, f"{source}.relations[{number}]") for number, item in enumerate(given)]


def _read(item: Any, key: str) -> Relation:
    parts = item
    if isinstance(item, str):
        parts = dict(zip(("from", "to"), filter(None, map(str.strip, item.split("=", 1))), strict=False))
    if not isinstance(parts, Mapping) or not {"from", "to"} <= set(parts) <= _KEYS:
        raise ConfigurationError(
            [Problem(key, "write `table.column = other_table.key`, or a mapping with `from`, `to`, `fields` and `as`")]
        )
    start, end = (str(parts[name]).rpartition(".") for name in ("from", "to"))
    if not all((start[0], start[2], end[0], end[2])):
        raise ConfigurationError([Problem(key, "`from` and `to` are each written as `table.column`")])
    prefix = str(parts.get("as") or end[0].rpartition(".")[2])
    return Relation(start[0], start[2], end[0], end[2], tuple(parts.get("fields") or ()), prefix)


def with_relations(
    shape: TableShape,
    relations: Sequence[Relation] | None,
    shape_of: Callable[[str], TableShape | None],
    source: str,
    served: Iterable[TableShape] = (),
) -> TableShape:
    """`shape` with the columns that `relations` add to it.

    Args:
        shape: the shape of the table alone.
        relations: all relations of the source; where the configuration says none, foreign keys tell them.
        shape_of: gives the shape of any table by its name.
        source: the name of the source, for messages.
        served: the tables of the source, to which foreign keys are followed.

    Raises:
        ConfigurationError: a relation names a table or a column that is not there, or leads to no key.
    """
    if relations is None:
        return with_labels(shape, served, source)
    for relation in relations:
        if relation.table == shape.name:
            shape = _joined(shape, relation, shape_of(relation.other), source)
    return shape


# A row is told by what nobody shares with it, or by what its table has first: a name, and mostly what is beside it.
_MOST_LABELS = 2


def with_labels(shape: TableShape, shapes: Iterable[TableShape], source: str) -> TableShape:
    """`shape` with the columns that tell which rows of the other `shapes` its foreign keys lead to."""
    others = {one.name.casefold(): one for one in shapes}
    led = [key.other.casefold() for key in shape.foreign_keys]
    for number, key in enumerate(shape.foreign_keys):
        other = others.get(led[number])
        relation = _labelling(shape, key, other, led.count(led[number]) > 1) if other else None
        if relation is not None:
            shape = _joined(shape, relation, other, source, told=False)
    return shape


def _labelling(shape: TableShape, key: ForeignKey, other: TableShape, is_one_of_many: bool) -> Relation | None:
    """The relation by one column that adds what tells the rows of `other`; None where nothing does. Its columns are
    called after the table, or after the column where that would say too little."""
    pair = _single(key, other)
    if pair is None:
        return None
    column, to = pair
    prefix = column if is_one_of_many or other.name == shape.name else other.name
    fields = _labels(other, to)
    taken = any(shape.column(f"{prefix}.{name}") for name in fields)
    return None if taken or not fields else Relation(shape.name, column, other.name, to, fields, prefix)


def _single(key: ForeignKey, other: TableShape) -> tuple[str, str] | None:
    """The column of `key` and the one of `other` that it leads to; None where it has several, or leads to no key."""
    led = [name.casefold() for name in key.keys or other.primary_key]
    to = [one.name for one in other.columns if [one.name.casefold()] == led and (one.name,) in other.unique]
    return (key.columns[0], to[0]) if to and len(key.columns) == 1 else None


def _labels(shape: TableShape, key: str) -> list[str]:
    texts = [
        one.name for one in shape.columns if one.stored_as == "string" and one.name not in (key, *shape.references)
    ]
    own = [name for name in texts if (name,) in shape.unique]
    return (own or [name for name in texts if name.casefold() not in CONTENT_NAMES])[:_MOST_LABELS]


def _joined(
    shape: TableShape, relation: Relation, other: TableShape | None, source: str, *, told: bool = True
) -> TableShape:
    where = f"{source}.relations"
    if other is None:
        raise ConfigurationError([Problem(where, f"there is no table '{relation.other}'")])
    _check_columns(shape, [relation.column], where)
    _check_columns(other, [relation.key, *relation.fields], where)
    if (relation.key,) not in other.unique:
        problem = f"'{relation.other}.{relation.key}' is no key: several rows may share a value, and rows would repeat"
        raise ConfigurationError([Problem(where, problem)])
    taken = [column for column in other.columns if column.name in (relation.fields or _names(other))]
    added = tuple((f"{relation.prefix}.{column.name}", column.name) for column in taken)
    columns = tuple(replace(column, name=f"{relation.prefix}.{column.name}") for column in taken)
    join = Join(other, relation.column, relation.key, added, told)
    return replace(shape, columns=(*shape.columns, *columns), joins=(*shape.joins, join))


def _check_columns(table: TableShape, wanted: Sequence[str], where: str) -> None:
    known = _names(table)
    for name in wanted:
        if name not in known:
            hint = f"{nearest(name, known)} Columns: {', '.join(known)}."
            raise ConfigurationError([Problem(where, f"the table '{table.name}' has no column '{name}'.{hint}")])


def _names(shape: TableShape) -> list[str]:
    return [column.name for column in shape.columns]


@dataclass(frozen=True)
class Wanted:
    """What the configuration says of the tables; empty parts are found out.

    Attributes:
        tables: the names of the tables or views; all of them when empty.
        content_field: the column that is the text of a row.
        search_fields: the columns to search.
        fields: by name, the specifications of fields that the user declares.
        relations: what belongs to the rows of one table from another; None for what foreign keys tell.
    """

    tables: Sequence[str] = ()
    content_field: str | None = None
    search_fields: Sequence[str] = ()
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    relations: Sequence[Relation] | None = None

    def named_columns(self) -> list[str]:
        """The columns that the configuration names."""
        content = [self.content_field] if self.content_field else []
        return list(dict.fromkeys([*content, *self.search_fields, *self.fields]))


# By the stems of values, the columns that hold them and the values as they are stored there.
Vocabulary = Mapping[tuple[str, ...], Mapping[str, Sequence[Any]]]


def stands_behind(column: str, value: Any, said: str) -> bool:
    """Whether the folded text `said` says `value` right behind the name of `column`, or behind that and "of"."""
    name, own = re.escape(fold(spaced(column))), re.escape(fold(str(value)).strip())
    of = "|".join(re.escape(fold(word)) for word in language_words("computing", "of"))
    return bool(own) and re.search(rf"(?<!\w){name}(?:\s+(?:{of}))?[\s:=]+{own}(?![\w+#])", said) is not None


def with_spoken_names(shapes: Sequence[TableShape]) -> list[TableShape]:
    """`shapes`, of which one of another schema is called by its name alone where no other has that."""
    alone = Counter(shape.relation or shape.name for shape in shapes)
    return [
        replace(shape, called=shape.relation) if shape.relation and alone[shape.relation] == 1 else shape
        for shape in shapes
    ]


def column_stems(shape: TableShape) -> list[list[str]]:
    """The stems of the name of each column."""
    return [name_stems(column.name) for column in shape.columns]


def table_stems(shape: TableShape) -> list[str]:
    """The stems of what the rows of a table are called."""
    return name_stems(shape.called or shape.name)
