"""The statement that gives a table a full-text index of PostgreSQL's own."""

from __future__ import annotations

from groundgraph.core.text import detect_language
from groundgraph.sources.sql.shape import TableShape

_CONFIGS = {"en": "english", "ru": "russian"}


def create_index(shape: TableShape, sample: str = "") -> str:
    """The statement that gives `shape` a full-text index; `sample` is some of its text, which tells the language.

    PostgreSQL's rules for Russian treat words in Latin letters as English, so they serve texts of both languages.
    """
    config = _CONFIGS.get(detect_language(sample), "simple")
    fields = [name for name in shape.search_fields if (found := shape.column(name)) and found.stored_as == "string"]
    own = [name for name in fields if not any(name in dict(join.columns) for join in shape.joins)]
    columns = " || ' ' || ".join(f"coalesce({quoted(name)}, '')" for name in own) or "''"
    table = ".".join(quoted(part) for part in (shape.namespace, shape.relation) if part)
    return f"CREATE INDEX ON {table} USING gin (to_tsvector('{config}', {columns}));"


def quoted(name: str) -> str:
    """`name` as PostgreSQL reads it whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
