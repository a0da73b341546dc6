"""Count, sum, minimum, maximum and average over the rows that checked filters keep; and computations that a model
proposes, over one table and its declared relations, as SQL with bound values."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Integer, and_, asc, case, column, desc, distinct, func, select, true

from groundgraph.core.characters import on_one_line
from groundgraph.core.computation import FUNCTIONS, MOST_GROUPS, ORDERS, ComputableTable, Proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.exact_number import rounded_number, shown_number
from groundgraph.core.filters import check_filters
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.any_database import ComputingDatabase
from groundgraph.sources.sql.shape import Column, Join, TableShape, decode, table_stems
from groundgraph.sources.sql.sql_dialect import from_clause, may_match
from groundgraph.sources.sql.values_in_question import listed
from groundgraph.text.words import stems

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


def compute(database: ComputingDatabase, computation: Computation) -> Computed:
    """The outcome of `computation`, computed by the database.

    Raises:
        SourceUnavailable: the database cannot be read.
        FilterInvalid: the outcome is beyond all numbers.
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
    _check_finite([outcome])
    return Computed(outcome, rows, others)


def _check_finite(outcomes: Iterable[Any]) -> None:
    # SQLite gives the infinite number for a sum that PostgreSQL refuses.
    if any(isinstance(one, float) and not math.isfinite(one) for one in outcomes):
        raise FilterInvalid("The outcome is no finite number: a sum is beyond the largest, or a value is infinite.")


def _condition_in_words(name: str, condition: Any) -> str:
    if isinstance(condition, Mapping):
        signs = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "contains": "contains", "not": "is not"}
        return " and ".join(f"{name} {signs[operator]} {_value(operand)}" for operator, operand in condition.items())
    return f"{name} = {_value(condition)}"


def _value(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


# Of a column of yes and no so many values are read.
_MOST_READ = 2_000
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=\Z|[T ]\d)")


def is_fit(database: ComputingDatabase, shape: TableShape, column: Column, filters: Mapping[str, Any]) -> bool:
    """Whether the values of a column are of the kind that it is declared as, so that a condition on it tells the rows
    apart: SQLite keeps "01.03.2021" and "yes" in columns of dates and of yes and no, PostgreSQL "infinity" in dates."""
    if column.kind == "boolean":
        values = database.values(shape, column.name, filters, _MOST_READ)
        return all(isinstance(decode("boolean", value), bool) for value in values)
    if column.kind in ("date", "datetime"):
        kept = (filters,) if filters else ()
        ends = (compute(database, Computation(end, shape, column.name, kept)).value for end in ("min", "max"))
        return all(end is None or _DAY.match(str(end)) for end in ends)
    return True


# Significant digits of an average, and those that a sum of floats holds.
_AVERAGE_DIGITS, _SUM_DIGITS = 12, 14
# A column with more different values is shown to no model.
_MOST_VALUES = 50
_MOST_FIELDS = 2
_NO_GROUPS = ("blob", "array")
_OF_NUMBERS = ("sum", "average", "min", "max")


def computable_table(
    database: ComputingDatabase, shape: TableShape, all_shapes: Sequence[TableShape], filters: Mapping[str, Any]
) -> ComputableTable:
    """What may be computed over the rows of `shape`, with the values that `filters` let see."""
    keys = set(_keys(shape, all_shapes))
    fit = [item for item in shape.columns if item.kind != "blob" and is_fit(database, shape, item, filters)]
    unread = tuple(item.name for item in shape.columns if item not in fit)
    fields = {item.name: _field(database, shape, item, filters) for item in fit}
    numbers = tuple(item.name for item in shape.columns if is_numeric(item) and item.name not in keys)
    key = shape.primary_key[0] if len(shape.primary_key) == 1 and shape.primary_key[0] in fields else ""
    return ComputableTable(shape.name, SourceSchema(shape.name, fields), numbers, unread, key)


def _field(database: ComputingDatabase, shape: TableShape, item: Column, filters: Mapping[str, Any]) -> dict[str, Any]:
    if item.labels:
        return {"type": item.kind, "enum": list(item.labels)}
    if item.kind != "string" or item.name == shape.content_field:
        return {"type": item.kind}
    values = [value for value in database.values(shape, item.name, filters, _MOST_VALUES) if isinstance(value, str)]
    return {"type": item.kind, "enum": sorted(filter(str.strip, values))} if any(values) else {"type": item.kind}


def _keys(shape: TableShape, all_shapes: Sequence[TableShape]) -> Iterator[str]:
    """The columns that tell rows apart or refer to others: a sum of them says nothing."""
    named = [set(table_stems(other)) for other in all_shapes if other.name != shape.name]
    yield from shape.primary_key
    yield from shape.references
    yield from (names[0] for names in shape.unique if len(names) == 1)
    for join in shape.joins:
        yield join.column
        yield from _partners_keys(join, named)
    yield from (item.name for item in shape.own_columns if _is_named_key(item.name, named))


def _partners_keys(join: Join, tables: Sequence[set[str]]) -> Iterator[str]:
    inner = {*join.other.primary_key, *join.other.references, join.key}
    yield from (label for label, name in join.columns if name in inner or _is_named_key(name, tables))


def _is_named_key(name: str, tables: Sequence[set[str]]) -> bool:
    """Whether a column is called like a key: after another table, or as an id."""
    words = stems(name.replace("_", " "))
    return name.casefold().endswith("id") or (bool(words) and set(words) in tables)


def run_proposal(
    database: ComputingDatabase,
    named: tuple[str, str],
    shapes: Sequence[TableShape],
    proposal: Proposal,
    filters: Mapping[str, Any],
) -> SourceResult:
    """What `proposal` gives over the rows that the checked `filters` keep.

    Args:
        database: the user's.
        named: the name and the type of the source.
        shapes: all its tables.
        proposal: what to compute; nothing in it is trusted.
        filters: those of the run.

    Raises:
        FilterInvalid: the table does not have what it names, or has no number there.
        SourceUnavailable: the database cannot be read.
    """
    shape = next((one for one in shapes if one.name == proposal.table), None)
    if shape is None:
        raise FilterInvalid(f"There is no table '{proposal.table}'.{nearest(proposal.table, _names(shapes))}")
    if not may_match(shape, filters):
        raise FilterInvalid(f"The table '{shape.name}' lacks a field of the filters that hold.")
    table = computable_table(database, shape, shapes, filters)
    plan = replace(proposal, filters=check_filters(table.schema, proposal.filters, source=shape.name))
    _check(table, plan)
    work = _Work(database, shape, plan, filters)
    work.check_values()
    return work.result(named)


def _names(shapes: Sequence[TableShape]) -> list[str]:
    return [shape.name for shape in shapes]


def _check(table: ComputableTable, plan: Proposal) -> None:
    """Refuse what the table cannot give."""
    fields = table.schema.fields
    if plan.function not in FUNCTIONS:
        raise FilterInvalid(f"There is no function {plan.function!r}; there are {', '.join(FUNCTIONS)}.")
    for name in (*plan.group_by, *([plan.field] if plan.field else [])):
        if name not in fields:
            raise FilterInvalid(f"The table '{table.name}' has no field '{name}'.{nearest(name, list(fields))}")
    _check_groups(fields, plan)
    _check_field(table, plan)


def _check_groups(fields: Mapping[str, Mapping[str, Any]], plan: Proposal) -> None:
    if len(plan.group_by) > _MOST_FIELDS or any(fields[name]["type"] in _NO_GROUPS for name in plan.group_by):
        raise FilterInvalid(f"Rows are taken together by at most {_MOST_FIELDS} fields that hold single values.")
    if plan.order not in ("", *ORDERS) or type(plan.limit) is not int or not 1 <= plan.limit <= MOST_GROUPS:
        raise FilterInvalid(f"The order is one of {', '.join(ORDERS)}, and the limit from 1 to {MOST_GROUPS}.")


def _check_field(table: ComputableTable, plan: Proposal) -> None:
    allowed = [*table.numbers, *(table.days if plan.function in ("min", "max") else ())]
    if plan.function in _OF_NUMBERS and plan.field not in allowed:
        told = "holds keys, or no number" if plan.field else "is missing"
        raise FilterInvalid(f"{plan.function}: the field '{plan.field}' of '{table.name}' {told}. Fields: {allowed}.")
    if plan.function == "distinct" and not plan.field:
        raise FilterInvalid("distinct needs a field.")


@dataclass(frozen=True)
class _Work:
    """One checked computation."""

    database: ComputingDatabase
    shape: TableShape
    plan: Proposal
    filters: Mapping[str, Any]

    def check_values(self) -> None:
        """Refuse a text that no row holds: a count of none would only say that it is written otherwise.

        Raises:
            FilterInvalid: there is one.
        """
        for name, condition in self.plan.filters.items():
            found = self.shape.column(name)
            texts = [value for value in listed(condition) if isinstance(value, str)]
            for value in texts if found and found.kind in ("string", "text") else ():
                if not compute(self.database, self._computation("count", "", {name: value})).rows:
                    raise FilterInvalid(f"No row of '{self.shape.name}' has {name} = {value!r}.")

    def result(self, named: tuple[str, str]) -> SourceResult:
        """The outcome in words, with what it was computed from."""
        total = self._total()
        groups, more = self._groups() if self.plan.group_by else ([], [])
        about = {
            **asdict(self.plan),
            "filters": jsonable(self._computation("count", "").merged_filters()),
            "computed": True,
            "proposed": True,
            "rows": total.rows,
            "value": jsonable(None if groups else total.value),
            "groups": jsonable(groups),
            "section": self.shape.name,
        }
        content = self._in_words(total, groups, more)
        digest = hashlib.blake2b(json.dumps(about, sort_keys=True, default=str).encode(), digest_size=6).hexdigest()
        return SourceResult(content, f"{self.shape.name}/computed:{digest}", *named, 1.0, about)

    def _computation(self, function: str, field: str, more: Mapping[str, Any] | None = None) -> Computation:
        own = self.plan.filters if more is None else more
        return Computation(function, self.shape, field, tuple(filter(None, (self.filters, own))))

    def _total(self) -> Any:
        """The outcome over all rows; of a count of different values, how many rows have one."""
        plan = self.plan
        if plan.function != "distinct":
            return compute(self.database, self._computation(plan.function, plan.field))
        counted = compute(self.database, self._computation("count", plan.field))
        statement = select(func.count(distinct(column(plan.field)))).select_from(from_clause(self.shape))
        (value,) = self.database.one(statement.where(self._kept()))
        return replace(counted, value=value)

    def _kept(self) -> ColumnElement[bool]:
        conditions = (self.filters, self.plan.filters)
        return and_(*(self.database.condition(self.shape, one) for one in conditions))

    def _groups(self) -> tuple[list[list[Any]], list[str]]:
        """The groups with their values, and a sentence when there are more."""
        plan = self.plan
        by: list[ColumnElement[Any]] = [column(name) for name in plan.group_by]
        value = self._value()
        order = {"largest": [desc(value)], "smallest": [asc(value)]}.get(plan.order, [])
        statement = select(*by, value).select_from(from_clause(self.shape)).where(self._kept())
        statement = statement.group_by(*by).having(value.is_not(None)).order_by(*order, *by).limit(plan.limit + 1)
        found = [list(row) for row in self.database.some(statement)]
        _check_finite(row[-1] for row in found)
        if len(found) <= plan.limit:
            return found, []
        tie = plan.order and found[-1][-1] == found[-2][-1]
        return found[:-1], ["more groups have the value of the last one" if tie else "there are more groups"]

    def _value(self) -> ColumnElement[Any]:
        plan, found = self.plan, self.shape.column(self.plan.field)
        if found is None:
            return func.count()
        here: ColumnElement[Any] = column(plan.field)
        if plan.function in ("count", "distinct"):
            return func.count(distinct(here) if plan.function == "distinct" else here)
        value: ColumnElement[Any] = SQL[plan.function](self.database.as_number(found) if is_numeric(found) else here)
        return value

    def _in_words(self, total: Any, groups: Sequence[Sequence[Any]], more: Sequence[str]) -> str:
        plan = self.plan
        function = "count of different values" if plan.function == "distinct" else plan.function
        said = self._computation(function, plan.field).in_words()
        over = f"over {total.rows} rows"
        rows = "row was" if total.left_out == 1 else "rows were"
        others = f"; {total.left_out} {rows} left out for a value that is no number" if total.left_out else ""
        if not plan.group_by:
            value = (
                "there is none, since no row has a value" if total.value is None else _shown(total.value, plan.function)
            )
            return f"{said}: {value} ({over}){others}"
        ordered = f", the {plan.order} first" if plan.order else ""
        lines = [f"{', '.join(map(_shown, key))}: {_shown(value, plan.function)}" for *key, value in groups]
        return "\n".join([f"{said}, by {' and '.join(plan.group_by)}{ordered} ({over}{others}):", *lines, *more])


def _shown(value: Any, function: str = "") -> str:
    """`value` as a reader sees it; the outcome of `function` without what floats add to it: 0.1 + 0.2 is 0.3."""
    if value is None:
        return "(none)"
    if not isinstance(value, float):
        return on_one_line(str(jsonable(value)))
    if function == "average":
        return rounded_number(value, _AVERAGE_DIGITS)
    return rounded_number(value, _SUM_DIGITS) if function == "sum" and type(value) is float else shown_number(value)
