"""Where the database and its index lie, and what else an engine is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.sources.sql.records import MemoryTable
from groundgraph.sources.sql.shape import Wanted

if TYPE_CHECKING:
    from sqlalchemy import URL

_PREFIXES = ("sqlite+aiosqlite://", "sqlite+pysqlite://", "sqlite://")
_SERVERS = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+asyncpg")
_DRIVER = "postgresql+psycopg"


@dataclass(frozen=True)
class Address:
    """A database that is reached by a URL.

    Attributes:
        url: the address as SQLAlchemy wants it, password and all.
    """

    url: str

    @property
    def shown(self) -> str:
        """`host:port/database`, which names no user and holds no password."""
        rest = self.url.partition("://")[2].rpartition("@")[2].partition("?")[0]
        return rest or "localhost"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown})"


@dataclass(frozen=True, repr=False)
class ServerAddress(Address):
    """A database on a PostgreSQL server."""


@dataclass(frozen=True, repr=False)
class OtherAddress(Address):
    """A database of which nothing is known but that SQLAlchemy has a dialect for it."""


def is_server(url: str | Path) -> bool:
    """Whether `url` is the address of a PostgreSQL server."""
    scheme, _, rest = str(url).partition("://")
    return bool(rest) and scheme in _SERVERS


def is_other(url: str | Path) -> bool:
    """Whether `url` is an address of neither a SQLite file nor a PostgreSQL server."""
    text = str(url)
    return "://" in text and not is_server(text) and not text.startswith((*_PREFIXES, "file:"))


def locate(url: str | Path, base_dir: Path, source: str) -> Path | Address:
    """The file or the server that `url` names.

    Raises:
        ConfigurationError: the URL is of a database that groundgraph does not read, or names no file.
    """
    if is_server(url):
        address = f"{_DRIVER}://{str(url).partition('://')[2]}"
        _parsed(address, source)
        return ServerAddress(address)
    if is_other(url):
        return other_address(str(url), source)
    return database_file(url, base_dir, source)


def other_address(url: str, source: str) -> OtherAddress:
    """The database at `url`, for which SQLAlchemy must have a dialect and the environment its driver.

    Raises:
        ConfigurationError: one of them is missing, or `url` is no URL.
    """
    from sqlalchemy.exc import NoSuchModuleError

    parsed = _parsed(url, source)
    try:
        parsed.get_dialect().import_dbapi()
    except NoSuchModuleError:
        told = (
            f"'{_without_password(url)}' is no database that groundgraph reads: it knows SQLite (sqlite:///file.db), "
            "PostgreSQL (postgresql://user@host/database), and others that have a dialect for SQLAlchemy, which is not "
            "installed for this one. Or export the rows and name them as `records`"
        )
        raise ConfigurationError([Problem(f"{source}.url", told)]) from None
    except ImportError as error:
        told = f"'{_without_password(url)}' needs a driver that is not installed: {error}"
        raise ConfigurationError([Problem(f"{source}.url", told)]) from error
    return OtherAddress(url)


def _parsed(url: str, source: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # Their texts quote parts of the address, which may be parts of the password.
        told = f"'{_without_password(url)}' is no address: it is written as dialect://user@host:port/database"
        raise ConfigurationError([Problem(f"{source}.url", told)]) from None


def database_file(url: str | Path, base_dir: Path, source: str) -> Path:
    """The file that `url` names: `sqlite:///relative.db`, `sqlite:////absolute.db` or a plain path.

    Raises:
        ConfigurationError: the URL names no file.
    """
    text = str(url)
    prefix = next((prefix for prefix in _PREFIXES if text.startswith(prefix)), "")
    path = unquote(text[len(prefix) :].split("?", maxsplit=1)[0]).removeprefix("/") if prefix else text
    if text.startswith("file:"):
        told = "is a URI of SQLite's own; write sqlite:///file.db, or the path alone"
        raise ConfigurationError([Problem(f"{source}.url", f"'{text}' {told}")])
    if not path or path == ":memory:":
        raise ConfigurationError(
            [Problem(f"{source}.url", "names no file; a table in memory is `backend: memory` with `records`")]
        )
    return base_dir / path


# What an engine is made of.


@dataclass(frozen=True)
class EngineOptions:
    """What a source was given, as far as its engine needs it.

    Attributes:
        named: the name and the type of the source.
        location: a file, the name of a database in memory, or the address of a server.
        index: the file of the index of our own, `:memory:`, or None for one in `folder`, named by what it is of.
        folder: where relative paths start.
        wanted: what the configuration says of the tables.
        max_tables: the most tables that one question searches.
        fts: an FTS5 table of a SQLite database.
        records: what a database in memory is filled from.
        server: the options that only a server has; see `PostgresOptions`.
    """

    named: tuple[str, str]
    location: str | Path | Address
    index: str | Path | None
    wanted: Wanted
    max_tables: int
    folder: Path = Path()
    fts: str | None = None
    records: MemoryTable | None = None
    server: PostgresOptions | None = None


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
