"""The source types `sql` and `database` of a configuration."""

from __future__ import annotations

from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.sources.check_options import COUNT, LIST, TEXT, unknown_names, wrong_values
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.sql.location import is_other, is_server
from groundgraph.sources.sql.postgres.options import OPTIONS, PostgresOptions
from groundgraph.sources.sql.source import SqlSource
from groundgraph.sources.sql.topic_store import option_problems, table_problems

_DATABASE = ("url", "path", "table", "tables", "index", "fts", "max_tables", "relations")
_MEMORY = ("records", "path", "table")
_BOTH = ("backend", "content_field", "text_search_fields", "schema", "description", "topic_columns")
_BACKENDS = ("sqlite", "postgresql", "memory")
_LISTS = ("tables", "text_search_fields", "records", "relations")
_TEXTS = ("url", "path", "table", "content_field", "description", "index", "fts", "text_config", "vector_field")
_KINDS = {**dict.fromkeys(_LISTS, LIST), **dict.fromkeys(_TEXTS, TEXT), "max_tables": COUNT}


def database_from_options(entry: SourceOptions) -> SqlSource:
    """`type: database`; see `sql_from_options`."""
    return sql_from_options(entry, source_type="database")


def sql_from_options(entry: SourceOptions, *, source_type: str = "sql") -> SqlSource:
    """`type: sql`: a SQLite or PostgreSQL database at `url` or `path`, or with `backend: memory` a table of records.

    Raises:
        ConfigurationError: an option is unknown, has a bad value, or is missing.
    """
    options = dict(entry.options)
    problems = _problems(entry, options)
    if problems:
        raise ConfigurationError(problems)
    kept: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    memory = _in_memory(options)
    kept.pop("backend", None)
    if memory:
        path = kept.pop("path", None)
        return SqlSource.from_records(
            kept.pop("records", ()),
            name=entry.name,
            path=entry.base_dir / path if path else None,
            source_type=source_type,
            **kept,
        )
    url = kept.pop("url", None) or kept.pop("path", None)
    kept.pop("path", None)
    if is_server(url):
        options = {name: kept.pop(name) for name in OPTIONS if name in kept}
        kept["postgres"] = PostgresOptions.of(options, entry.embedder)
    return SqlSource(url, name=entry.name, base_dir=entry.base_dir, source_type=source_type, **kept)


def _in_memory(options: dict[str, Any]) -> bool:
    backend = options.get("backend")
    return backend == "memory" or (backend is None and "records" in options)


def _problems(entry: SourceOptions, options: dict[str, Any]) -> list[Problem]:
    server = OPTIONS if is_server(options.get("url") or "") else ()
    known = (*_BOTH, *(_MEMORY if _in_memory(options) else (*_DATABASE, *server)))
    return [
        *unknown_names(options, known, entry.key, "a SQL source has no option '{name}'"),
        *_place_problems(entry.key, options),
        *wrong_values(options, _KINDS, entry.key),
        *_topic_problems(entry, options),
    ]


def _place_problems(key: str, options: dict[str, Any]) -> list[Problem]:
    backend, url = options.get("backend"), options.get("url")
    if backend not in (None, *_BACKENDS):
        hint = f"{nearest(str(backend), list(_BACKENDS))} Known: {', '.join(_BACKENDS)}."
        return [Problem(f"{key}.backend", f"'{backend}' is not supported.{hint}")]
    if not _in_memory(options) and not (url or options.get("path")):
        return [Problem(f"{key}.url", "is missing: the database, such as sqlite:///data.db")]
    if backend and url and backend != _backend_of(url):
        return [Problem(f"{key}.backend", f"is '{backend}', but the url names another database")]
    return []


def _backend_of(url: str) -> str:
    if is_other(url):
        return "another"
    return "postgresql" if is_server(url) else "sqlite"


def _topic_problems(entry: SourceOptions, options: dict[str, Any]) -> list[Problem]:
    given, key = options.get("topic_columns"), f"{entry.key}.topic_columns"
    if given is None:
        return []
    tables = [options["table"]] if options.get("table") else options.get("tables") or []
    server = PostgresOptions.of(options) if is_server(options.get("url") or "") else None
    named = [entry.name] if _in_memory(options) else tables
    return [*option_problems(given, key), *table_problems(named, server, key)]
