"""The source over SQL tables. Importing this package loads no SQLAlchemy."""

from groundgraph.sources.sql.source import SqlSource, sql_from_options

__all__ = ["SqlSource", "sql_from_options"]
