"""Computations that a model proposes: over one table and its declared relations, as SQL with bound values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, asc, column, desc, distinct, func, select

from groundgraph.core.computation import FUNCTIONS, MOST_GROUPS, ORDERS, ComputableTable, Proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.filters import check_filters
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.answer_by_computing import is_fit
from groundgraph.sources.sql.any_database import ComputingDatabase
from groundgraph.sources.sql.compute import SQL, Computation, compute, is_numeric
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import from_clause, may_match
from groundgraph.text.words import stems

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
    fit = (item for item in shape.columns if item.kind != "blob" and is_fit(database, shape, item, filters))
    fields = {item.name: _field(database, shape, item, filters) for item in fit}
    numbers = tuple(item.name for item in shape.columns if is_numeric(item) and item.name not in keys)
    return ComputableTable(shape.name, SourceSchema(shape.name, fields), numbers)


def _field(database: ComputingDatabase, shape: TableShape, item: Column, filters: Mapping[str, Any]) -> dict[str, Any]:
    if item.labels:
        return {"type": item.kind, "enum": list(item.labels)}
    if item.kind != "string" or item.name == shape.content_field:
        return {"type": item.kind}
    values = [value for value in database.values(shape, item.name, filters, _MOST_VALUES) if isinstance(value, str)]
    return {"type": item.kind, "enum": sorted(filter(str.strip, values))} if any(values) else {"type": item.kind}


def _keys(shape: TableShape, all_shapes: Sequence[TableShape]) -> Iterator[str]:
    """The columns that tell rows apart or refer to others: a sum of them says nothing."""
    named = [set(stems(other.name.replace("_", " "))) for other in all_shapes if other.name != shape.name]
    yield from shape.primary_key
    yield from shape.references
    yield from (names[0] for names in shape.unique if len(names) == 1)
    for join in shape.joins:
        yield join.column
        inner = {*join.other.primary_key, *join.other.references, join.key}
        yield from (label for label, name in join.columns if name in inner or _is_named_key(name, named))
    yield from (item.name for item in shape.own_columns if _is_named_key(item.name, named))


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
    if len(plan.group_by) > _MOST_FIELDS or any(fields[name]["type"] in _NO_GROUPS for name in plan.group_by):
        raise FilterInvalid(f"Rows are taken together by at most {_MOST_FIELDS} fields that hold single values.")
    if plan.order not in ("", *ORDERS) or type(plan.limit) is not int or not 1 <= plan.limit <= MOST_GROUPS:
        raise FilterInvalid(f"The order is one of {', '.join(ORDERS)}, and the limit from 1 to {MOST_GROUPS}.")
    _check_field(table, plan)


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
            texts = [value for value in _listed(condition) if isinstance(value, str)]
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
        others = f"; {total.left_out} rows were left out, their value is no number" if total.left_out else ""
        if not plan.group_by:
            value = "there is none, since no row has a value" if total.value is None else _shown(total.value)
            return f"{said}: {value} ({over}){others}"
        ordered = f", the {plan.order} first" if plan.order else ""
        lines = [f"{', '.join(map(_shown, key))}: {_shown(value)}" for *key, value in groups]
        return "\n".join([f"{said}, by {' and '.join(plan.group_by)}{ordered} ({over}{others}):", *lines, *more])


def _listed(condition: Any) -> list[Any]:
    return condition if isinstance(condition, list) else [condition]


def _shown(value: Any) -> str:
    if value is None:
        return "(none)"
    return str(round(value, 6) if isinstance(value, float) else jsonable(value))
