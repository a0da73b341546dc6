"""Reading the shapes of PostgreSQL's tables from its catalogue.

One query for all tables, whatever schema they lie in: tables, partitioned and foreign ones, views and materialized
views, as far as the role may read them; a column that it may not read is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Text, cast, column, func, literal, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import ProgrammingError

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.exact_number import read_decimal
from groundgraph.sources.sql.introspect import TablesMissing, described, missing_tables
from groundgraph.sources.sql.postgres.options import create_index, quoted
from groundgraph.sources.sql.shape import (
    Column,
    ForeignKey,
    TableShape,
    Wanted,
    decode,
    with_relations,
    with_spoken_names,
)

# Tables that show other rows to other sessions: none of their rows is kept in a file.

# Views are followed to what they select from, but not materialized ones, whose rows are their own. For what a view
# reads, the rights of its owner may count, so any such table will do.
_FILTERED = text("""
WITH RECURSIVE used (oid, own) AS (
    SELECT c.oid, true FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :space AND c.relname = :name
    UNION
    SELECT d.refobjid, false FROM used u
    JOIN pg_class v ON v.oid = u.oid AND v.relkind = 'v'
    JOIN pg_rewrite r ON r.ev_class = u.oid
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
        AND d.refobjid <> u.oid
)
SELECT bool_or(CASE WHEN own THEN row_security_active(c.oid) ELSE c.relrowsecurity END)
FROM used JOIN pg_class c USING (oid)
""")


def refuse_a_file(connection: Connection, shapes: Sequence[TableShape], source: str) -> None:
    """Refuse to keep the rows of `shapes` in a file.

    Raises:
        ConfigurationError: one of the tables, or one that belongs to its rows, has row-level security.
    """
    for shape in shapes:
        for one in shape.with_partners:
            place = {"space": one.namespace, "name": one.relation}
            if connection.execute(_FILTERED, place).scalar_one():
                raise ConfigurationError(
                    f"The source '{source}': '{one.name}' has row-level security, so each session sees other rows, "
                    "and none are kept in an index file, which another session could read. Let PostgreSQL search "
                    f"itself: {create_index(shape)} Or set `index: ':memory:'`, which ends with the process."
                )


# How PostgreSQL's types are read, and values as the rest of groundgraph knows them.

STORED_AS = {
    "bool": "boolean",
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8", "numeric"), "number"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamptz"), "datetime"),
    **dict.fromkeys(("json", "jsonb"), "array"),
    "bytea": "blob",
}
# Of no use to a reader, or not comparable to anything that a filter can say.
SKIPPED = frozenset(["tsvector", "tsquery", "vector", "halfvec", "sparsevec", "geometry", "geography", "raster"])
TEXTS = frozenset(["text", "varchar"])
# Types that psycopg reads as the values that are wanted; all others are read as PostgreSQL writes them.
_READ = frozenset([*TEXTS, "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "json", "jsonb"])
_READ_ARRAYS = frozenset(f"_{name}" for name in (*TEXTS, "bool", "int2", "int4", "int8", "float4", "float8", "numeric"))
_FRACTION = re.compile(r"(?<=:\d\d)\.(\d{1,6})")
_ZONE = re.compile(r"([+-]\d\d)$")


def stored_as(type_name: str) -> str:
    """The kind of field for a type of PostgreSQL, by its name in `pg_type`."""
    return "array" if type_name.startswith("_") else STORED_AS.get(type_name, "string")


def selected(found: Column) -> ColumnElement[Any]:
    """What to select for a column, so that `read_row` gets a value that it knows."""
    here: ColumnElement[Any] = column(found.name)
    if found.type == "bytea":
        return literal("<").concat(cast(func.octet_length(here), Text)).concat(" bytes>")
    if found.type in _READ or found.type in _READ_ARRAYS:
        return here
    return cast(here, ARRAY(Text)) if found.type.startswith("_") else cast(here, Text)


def read_value(found: Column, value: Any) -> Any:
    """A selected value, decoded as the field is declared."""
    if isinstance(value, Decimal):
        return decode(found.kind, read_decimal(value))
    if isinstance(value, list):
        return _without_decimals(value)
    if found.stored_as == "datetime" and isinstance(value, str):
        value = iso_moment(value)
    return decode(found.kind, value)


def _without_decimals(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_decimals(item) for item in value]
    return read_decimal(value) if isinstance(value, Decimal) else value


def iso_moment(written: str) -> str:
    """`2026-03-01 10:00:00.5+00` as Python writes it: `2026-03-01T10:00:00.500000+00:00`."""
    text = written.replace(" ", "T", 1)
    text = _FRACTION.sub(lambda found: "." + found[1].ljust(6, "0"), text)
    return _ZONE.sub(r"\1:00", text) if ":" in text else text


def read_row(shape: TableShape, values: Any) -> dict[str, Any]:
    """The decoded values of a row by column; `values` come in the order of `shape.columns`."""
    return {item.name: read_value(item, value) for item, value in zip(shape.columns, values, strict=True)}


_COLUMNS = text("""
SELECT n.nspname AS namespace, c.relname AS name, c.oid AS oid, c.relkind AS relkind, c.reltuples AS rows,
    n.nspname = ANY (current_schemas(false)) AS on_path, c.relispartition AS is_part,
    a.attname AS column, a.attnum AS number,
    CASE WHEN co.collisdeterministic IS FALSE THEN 'folded' ELSE t.typname END AS type, t.typtype AS typtype,
    CASE WHEN t.typtype = 'e' THEN format('%I.%I', tn.nspname, t.typname) END AS enum,
    CASE WHEN t.typtype = 'e' THEN (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e
        WHERE e.enumtypid = t.oid) END AS labels
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type own ON own.oid = a.atttypid
JOIN pg_type under ON under.oid = CASE WHEN own.typtype = 'd' THEN own.typbasetype ELSE own.oid END
JOIN pg_type t ON t.oid = CASE WHEN under.typtype = 'd' THEN under.typbasetype ELSE under.oid END
JOIN pg_namespace tn ON tn.oid = t.typnamespace
LEFT JOIN pg_collation co ON co.oid = a.attcollation
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND (NOT c.relispartition OR ARRAY[c.relname, n.nspname || '.' || c.relname]::text[] && CAST(:named AS text[]))
    AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY array_position(current_schemas(false), n.nspname), n.nspname, c.relname, a.attnum
""")

_KEYS = text("""
SELECT i.indrelid AS oid, i.indisprimary AS is_primary, array_agg(a.attname::text ORDER BY k.place) AS columns,
    bool_and(a.attnotnull) AS complete
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (number, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
    AND i.indrelid = ANY (CAST(:oids AS oid[]))
GROUP BY i.indexrelid, i.indrelid, i.indisprimary
ORDER BY i.indisprimary DESC, i.indexrelid
""")

_REFERENCES = text("""
SELECT c.conrelid AS oid, c.confrelid AS other, array_agg(a.attname::text ORDER BY k.place) AS columns,
    array_agg(b.attname::text ORDER BY k.place) AS keys
FROM pg_constraint c
CROSS JOIN LATERAL unnest(c.conkey, c.confkey) WITH ORDINALITY AS k (number, other, place)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other
WHERE c.contype = 'f' AND c.conrelid = ANY (CAST(:oids AS oid[]))
GROUP BY c.oid, c.conrelid, c.confrelid
ORDER BY c.oid
""")

_TEXT_INDEXES = text("""
SELECT i.indrelid AS oid, pg_get_indexdef(i.indexrelid, k.place::int, true) AS expression,
    (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d
        WHERE d.adrelid = i.indrelid AND d.adnum = i.indkey[k.place - 1]) AS generated,
    (SELECT string_agg(pg_get_triggerdef(g.oid), ' ') FROM pg_trigger g
        WHERE g.tgrelid = i.indrelid AND pg_get_triggerdef(g.oid) ~ 'tsvector_update_trigger') AS filled
FROM pg_index i
JOIN pg_class x ON x.oid = i.indexrelid
JOIN pg_am m ON m.oid = x.relam AND m.amname = 'gin'
CROSS JOIN LATERAL unnest(i.indclass::oid[]) WITH ORDINALITY AS k (class, place)
JOIN pg_opclass o ON o.oid = k.class AND o.opcintype = 'tsvector'::regtype
WHERE i.indisvalid AND i.indpred IS NULL AND i.indrelid = ANY (CAST(:oids AS oid[]))
ORDER BY i.indrelid, i.indexrelid, k.place
""")
_CONFIG = re.compile(r"'([\w.\"]+)'(?:::regconfig)?\s*,|tsvector_update_trigger\('\w+', '([\w.]+)'")


def read_shapes(connection: Connection, wanted: Wanted, *, source: str, where: str) -> list[TableShape]:
    """The shapes of the wanted tables; without names, of all tables of the schemas on the search path.

    Raises:
        TablesMissing: a table is not there or may not be read, or there is none at all.
    """
    found = _alone(connection, wanted.tables)
    usual = [name for name, (shape, on_path) in found.items() if on_path and not shape.name.startswith("_")]
    names = [shape.name for shape, _ in found.values()]
    if told := missing_tables(wanted, usual, found, names, suffix=" that this role may read"):
        raise TablesMissing.of(f"The source '{source}': the database {where} {told}", wanted, found)
    shapes = _with_keys(connection, {name: shape for name, (shape, _) in found.items()}, wanted.tables or usual, wanted)
    chosen = [replace(shapes[name], name=name) for name in wanted.tables or usual]

    def related(shape: TableShape) -> TableShape:
        # PostgreSQL's own index knows no word of a partner, and would join all that it finds to rank it.
        served = [] if shape.text_index else chosen
        joined = with_relations(shape, wanted.relations, shapes.get, source, served)
        _check_joins(connection, joined, source)
        return described(joined, wanted)

    return with_spoken_names(list(map(related, chosen)))


_NO_OPERATOR = "42883"


def _check_joins(connection: Connection, shape: TableShape, source: str) -> None:
    """
    Raises:
        ConfigurationError: the server cannot compare the columns of a relation; told later, it would be an outage.
    """
    for join in shape.joins:
        sides = [(shape, join.column), (join.other, join.key)]
        tables = [".".join(map(quoted, (one.namespace, one.relation))) for one, _ in sides]
        columns = [f"{alias}.{quoted(name)}" for alias, (_, name) in zip("ab", sides, strict=True)]
        query = f"SELECT 1 FROM {tables[0]} a, {tables[1]} b WHERE {columns[0]} = {columns[1]} LIMIT 0"
        try:
            connection.execute(text(query.replace(":", r"\:")))
        except ProgrammingError as error:
            if getattr(error.orig, "sqlstate", "") != _NO_OPERATOR:
                raise
            told = " and ".join(f"'{one.name}.{name}' ({_type_of(one, name)})" for one, name in sides)
            problem = f"{told} cannot be compared; a relation leads to a key of the same type"
            raise ConfigurationError([Problem(f"{source}.relations", problem)]) from error


def _type_of(shape: TableShape, name: str) -> str:
    return next((column.type or column.kind for column in shape.columns if column.name == name), "")


def _alone(connection: Connection, named: Iterable[str]) -> dict[str, tuple[TableShape, bool]]:
    """By name every table alone and whether the search path reaches it; one that it does not also by `schema.name`. A
    partition is a table where it is `named`; else its rows are those of the whole."""
    tables: dict[tuple[str, str], list[Any]] = {}
    for row in connection.execute(_COLUMNS, {"named": list(named)}):
        tables.setdefault((row.namespace, row.name), []).append(row)
    found: dict[str, tuple[TableShape, bool]] = {}
    for (namespace, name), rows in tables.items():
        columns = tuple(_column(row) for row in rows if row.type not in SKIPPED)
        vectors = tuple(row.column for row in rows if row.type == "vector")
        on_path = bool(rows[0].on_path)
        short = name if on_path and name not in found else f"{namespace}.{name}"
        shape = TableShape(
            short,
            columns,
            (),
            "",
            None,
            (),
            namespace=namespace,
            relation=name,
            estimated_rows=int(rows[0].rows),
            vector_fields=vectors,
        )
        found[short] = (shape, on_path and not rows[0].is_part)
        found.setdefault(f"{namespace}.{name}", (shape, False))
    return found


def _column(row: Any) -> Column:
    kind = stored_as(row.type)
    if row.labels:
        return Column(row.column, "string", "string", row.enum, tuple(row.labels))
    return Column(row.column, kind, kind, row.type)


def _with_keys(
    connection: Connection, shapes: Mapping[str, TableShape], served: Sequence[str], wanted: Wanted
) -> dict[str, TableShape]:
    """`shapes` with their keys; foreign ones name the other table as it is `served`."""
    places = {(shape.namespace, shape.relation) for shape in shapes.values()}
    oids = _oids(connection, sorted(places))
    given = {"oids": list(oids.values())}
    keys: dict[int, list[Any]] = {}
    for row in connection.execute(_KEYS, given):
        keys.setdefault(row.oid, []).append(row)
    names = {oids[shapes[name].namespace, shapes[name].relation]: name for name in served}
    foreign: dict[int, list[ForeignKey]] = {}
    for row in connection.execute(_REFERENCES, given):
        key = ForeignKey(tuple(row.columns), names.get(row.other, ""), tuple(row.keys))
        foreign.setdefault(row.oid, []).append(key)
    indexes: dict[int, list[Any]] = {}
    for row in connection.execute(_TEXT_INDEXES, given):
        indexes.setdefault(row.oid, []).append(row)

    def told(shape: TableShape, oid: int) -> TableShape:
        keyed = replace(_keyed(shape, keys.get(oid, [])), foreign_keys=tuple(foreign.get(oid, ())))
        return _with_index(keyed, indexes[oid], wanted) if oid in indexes else keyed

    return {name: told(shape, oids[shape.namespace, shape.relation]) for name, shape in shapes.items()}


def _oids(connection: Connection, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    rows = connection.execute(
        text(
            "SELECT n.nspname, c.relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE (n.nspname, c.relname) IN (SELECT * FROM unnest(CAST(:spaces AS text[]), CAST(:names AS text[])))"
        ),
        {"spaces": [space for space, _ in places], "names": [name for _, name in places]},
    )
    return {(row[0], row[1]): row[2] for row in rows}


def _keyed(shape: TableShape, keys: Sequence[Any]) -> TableShape:
    names = {column.name for column in shape.columns}
    readable = [row for row in keys if set(row.columns) <= names]
    unique = tuple(tuple(row.columns) for row in readable)
    key = next((tuple(row.columns) for row in readable if row.is_primary or row.complete), ())
    return replace(shape, primary_key=key, unique=unique)


def _with_index(shape: TableShape, indexes: Sequence[Any], wanted: Wanted) -> TableShape:
    """`shape` with the one of `indexes` that holds most of what is searched, the text of a row before all."""
    seen = described(shape, wanted)
    texts = [item.name for item in seen.columns if item.name in seen.search_fields and item.stored_as == "string"]
    missing = [_not_held(index, seen, texts) for index in indexes]
    best = min(range(len(indexes)), key=lambda number: (seen.content_field in missing[number], len(missing[number])))
    index = indexes[best]
    return replace(shape, text_index=index.expression, text_config=_config_of(index), unindexed=missing[best])


def _config_of(index: Any) -> str:
    told = next((part for part in (index.generated, index.filled, index.expression) if part and "'" in part), "")
    found = _CONFIG.search(told)
    return (found[1] or found[2] or "").replace('"', "") if found else ""


def _not_held(index: Any, shape: TableShape, texts: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns `texts` that are not in `index`; none where it names no column of `shape`, as one that a
    trigger of the user's fills."""
    told = " ".join(filter(None, (index.generated, index.filled, index.expression)))
    held = {
        item.name
        for item in shape.columns
        if quoted(item.name) in told or re.search(rf"\b{re.escape(item.name)}\b", told)
    }
    return tuple(name for name in texts if name not in held) if held else ()
