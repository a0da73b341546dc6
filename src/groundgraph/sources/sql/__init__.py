"""The source over SQL tables. Importing this package loads no SQLAlchemy."""

from groundgraph.sources.sql.options import sql_from_options
from groundgraph.sources.sql.source import SqlSource

__all__ = ["SqlSource", "sql_from_options"]
