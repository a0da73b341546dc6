"""What a statement selects rows from: a table, or a table with the columns of its partners."""

from __future__ import annotations

from typing import Any

from sqlalchemy import column, literal_column, select
from sqlalchemy import table as table_clause
from sqlalchemy.sql.elements import quoted_name

from groundgraph.sources.sql.shape import TableShape

# The name under which the full-text index of a table with partners is selected.
TEXT_INDEX = "groundgraph_text_index"


def from_clause(shape: TableShape) -> Any:
    """The rows of `shape`, with columns named as in `shape.columns`, and the row number where there is one."""
    base = _table(shape)
    if not shape.joins:
        return base
    here = base.alias("groundgraph_row")
    added = {label for join in shape.joins for label, _ in join.columns}
    selected: list[Any] = [here.c[item.name] for item in shape.columns if item.name not in added]
    if shape.rowid:
        selected.append(literal_column(f"groundgraph_row.{shape.rowid}").label(shape.rowid))
    selected += [here.c[name] for name in shape.vector_fields]
    if shape.text_index:
        selected.append(literal_column(shape.text_index).label(TEXT_INDEX))
    source: Any = here
    for number, join in enumerate(shape.joins):
        there = _table(join.other).alias(f"groundgraph_partner_{number}")
        source = source.outerjoin(there, here.c[join.column] == there.c[join.key])
        selected += [there.c[name].label(label) for label, name in join.columns]
    return select(*selected).select_from(source).subquery(shape.relation or shape.name)


def _table(shape: TableShape) -> Any:
    added = {label for join in shape.joins for label, _ in join.columns}
    names = [item.name for item in shape.columns if item.name not in added]
    # Quoted where that is right: PostgreSQL would fold a name that needs no quotes elsewhere.
    quote = True if shape.quoted else None
    columns: list[Any] = [column(quoted_name(name, quote)) for name in (*names, *shape.vector_fields)]
    space: Any = quoted_name(shape.namespace, quote) if shape.namespace else None
    return table_clause(quoted_name(shape.relation or shape.name, quote), *columns, schema=space)
