"""Columns of other tables that belong to a row by a declared relation, such as the pump of an incident.

A relation leads from a column of one table to a key of another, so that each row has one partner at most and no row
comes twice. The partner's columns are searched, filtered and shown as if they were the row's own, under names such as
`pumps.hall`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.sources.sql.shape import Join, TableShape

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


def read_relations(given: Sequence[Any], source: str) -> list[Relation]:
    """The relations of a configuration: `incidents.pump_id = pumps.id`, or a mapping with `from`, `to`, and where
    wanted `fields` and `as`.

    Raises:
        ConfigurationError: one is written otherwise.
    """
    return [_read(item, f"{source}.relations[{number}]") for number, item in enumerate(given)]


def _read(item: Any, key: str) -> Relation:
    ends = [end.strip() for end in item.split("=", 1)] if isinstance(item, str) else []
    parts: Mapping[str, Any] = {"from": ends[0], "to": ends[1]} if len(ends) > 1 and all(ends) else item
    if not isinstance(parts, Mapping) or not set(parts) <= _KEYS or not {"from", "to"} <= set(parts):
        raise ConfigurationError(
            [Problem(key, "write `table.column = other_table.key`, or a mapping with `from`, `to`, `fields` and `as`")]
        )
    start, end = (str(parts[name]).rpartition(".") for name in ("from", "to"))
    if not all((start[0], start[2], end[0], end[2])):
        raise ConfigurationError([Problem(key, "`from` and `to` are each written as `table.column`")])
    prefix = str(parts.get("as") or end[0].rpartition(".")[2])
    return Relation(start[0], start[2], end[0], end[2], tuple(parts.get("fields") or ()), prefix)


def with_relations(
    shape: TableShape, relations: Sequence[Relation], shape_of: Callable[[str], TableShape | None], source: str
) -> TableShape:
    """`shape` with the columns that `relations` add to it.

    Args:
        shape: the shape of the table alone.
        relations: all relations of the source.
        shape_of: gives the shape of any table by its name.
        source: the name of the source, for messages.

    Raises:
        ConfigurationError: a relation names a table or a column that is not there, or leads to no key.
    """
    for relation in relations:
        if relation.table == shape.name:
            shape = _joined(shape, relation, shape_of(relation.other), source)
    return shape


def _joined(shape: TableShape, relation: Relation, other: TableShape | None, source: str) -> TableShape:
    where = f"{source}.relations"
    if other is None:
        raise ConfigurationError([Problem(where, f"there is no table '{relation.other}'")])
    for table, name in ((shape, relation.column), (other, relation.key), *((other, name) for name in relation.fields)):
        if table.column(name) is None:
            known = [column.name for column in table.columns]
            hint = f"{nearest(name, known)} Columns: {', '.join(known)}."
            raise ConfigurationError([Problem(where, f"the table '{table.name}' has no column '{name}'.{hint}")])
    if (relation.key,) not in other.unique:
        problem = f"'{relation.other}.{relation.key}' is no key: several rows may share a value, and rows would repeat"
        raise ConfigurationError([Problem(where, problem)])
    taken = [column for column in other.columns if column.name in (relation.fields or _names(other))]
    added = tuple((f"{relation.prefix}.{column.name}", column.name) for column in taken)
    columns = tuple(replace(column, name=f"{relation.prefix}.{column.name}") for column in taken)
    join = Join(other, relation.column, relation.key, added)
    return replace(shape, columns=(*shape.columns, *columns), joins=(*shape.joins, join))


def _names(shape: TableShape) -> list[str]:
    return [column.name for column in shape.columns]
