"""Count, sum, minimum, maximum and average over the rows that checked filters keep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Integer, and_, case, column, func, select, true

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.registry import nearest
from groundgraph.sources.sql.any_database import ComputingDatabase
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import from_clause

FUNCTIONS = ("count", "sum", "min", "max", "average")
_IN_WORDS = {"min": "minimum", "max": "maximum"}
SQL: dict[str, Any] = {"sum": func.sum, "min": func.min, "max": func.max, "average": func.avg}


@dataclass(frozen=True)
class Computation:
    """One computation, everything in it validated.

    Attributes:
        function: one of `FUNCTIONS`.
        shape: the table.
        field: the column; empty to count rows.
        filters: sets of checked conditions, all of which a row must satisfy.
    """

    function: str
    shape: TableShape
    field: str = ""
    filters: Sequence[Mapping[str, Any]] = ()

    def merged_filters(self) -> dict[str, Any]:
        """The conditions by field; a list of conditions where several sets name the same."""
        merged: dict[str, Any] = {}
        for conditions in self.filters:
            for name, condition in conditions.items():
                merged[name] = condition if merged.get(name, condition) == condition else [merged[name], condition]
        return merged

    def in_words(self) -> str:
        """For example `count of rows in incidents where severity = critical`."""
        parts = [
            _condition_in_words(name, condition)
            for conditions in self.filters
            for name, condition in conditions.items()
        ]
        kept = f" where {' and '.join(dict.fromkeys(parts))}" if parts else ""
        what = self.field if self.field else "rows"
        return f"{_IN_WORDS.get(self.function, self.function)} of {what} in {self.shape.name}{kept}"

    def id(self) -> str:
        """The same for the same computation."""
        named = json.dumps([self.function, self.field, [dict(item) for item in self.filters]], sort_keys=True)
        return f"{self.shape.name}/computed:{hashlib.blake2b(named.encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True)
class Computed:
    """The outcome: the value, over how many rows, and how many rows had a value that is no number."""

    value: Any
    rows: int
    left_out: int = 0


def is_numeric(found: Column) -> bool:
    """Whether the column is declared as a number, by its type or by the user."""
    return found.kind in ("integer", "number")


def check_field(shape: TableShape, function: str, name: str) -> None:
    """Refuse a field with which `function` cannot be computed.

    Raises:
        FilterInvalid: the table has no such column, or a computation other than a count is asked of a text.
    """
    found = shape.column(name)
    known = [item.name for item in shape.columns if item.kind != "blob"]
    if name and name not in known:
        raise FilterInvalid(
            f"{function}: the table '{shape.name}' has no field '{name}'.{nearest(name, known)} "
            f"Declared: {', '.join(known)}."
        )
    if function == "count":
        return
    if found is None:
        raise FilterInvalid(f"{function} needs a `field` of the table '{shape.name}': {', '.join(known)}.")
    ordered = ("date", "datetime") if function in ("min", "max") else ()
    if not is_numeric(found) and found.kind not in ordered:
        raise FilterInvalid(
            f"{function}: '{name}' of the table '{shape.name}' is a {found.kind}, of which it cannot be computed. "
            "Declare it as integer or number in the source's schema if its texts are numbers."
        )


def compute(database: ComputingDatabase, computation: Computation) -> Computed:
    """The outcome of `computation`, computed by the database.

    Raises:
        SourceUnavailable: the database cannot be read.
    """
    kept = and_(true(), *(database.condition(computation.shape, conditions) for conditions in computation.filters))
    source = from_clause(computation.shape)
    if computation.function == "count":
        counted = func.count(column(computation.field)) if computation.field else func.count()
        (rows,) = database.one(select(counted).select_from(source).where(kept))
        return Computed(rows, rows)
    here: ColumnElement[Any] = column(computation.field)
    found = computation.shape.column(computation.field)
    value = database.as_number(found) if found is not None and is_numeric(found) else here
    left_out = func.coalesce(func.sum(case((and_(here.is_not(None), value.is_(None)), 1), else_=0)), 0, type_=Integer)
    statement = select(SQL[computation.function](value), func.count(value), left_out)
    outcome, rows, others = database.one(statement.select_from(source).where(kept))
    return Computed(outcome, rows, others)


def _condition_in_words(name: str, condition: Any) -> str:
    if isinstance(condition, Mapping):
        signs = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "contains": "contains", "not": "is not"}
        return " and ".join(f"{name} {signs[operator]} {_value(operand)}" for operator, operand in condition.items())
    return f"{name} = {_value(condition)}"


def _value(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)
