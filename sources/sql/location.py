"""Where the database and its index lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from groundgraph.core.errors import ConfigurationError, Problem

INDEX_FOLDER = Path(".groundgraph/index")
_PREFIXES = ("sqlite+aiosqlite://", "sqlite+pysqlite://", "sqlite://")
_SERVERS = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+asyncpg")
_DRIVER = "postgresql+psycopg"


@dataclass(frozen=True)
class ServerAddress:
    """A database on a PostgreSQL server.

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
        return f"ServerAddress({self.shown})"


def is_server(url: str | Path) -> bool:
    """Whether `url` is the address of a PostgreSQL server."""
    scheme, _, rest = str(url).partition("://")
    return bool(rest) and scheme in _SERVERS


def locate(url: str | Path, base_dir: Path, source: str) -> Path | ServerAddress:
    """The file or the server that `url` names.

    Raises:
        ConfigurationError: the URL is of a database that groundgraph does not read, or names no file.
    """
    if is_server(url):
        return ServerAddress(f"{_DRIVER}://{str(url).partition('://')[2]}")
    return database_file(url, base_dir, source)


def database_file(url: str | Path, base_dir: Path, source: str) -> Path:
    """The file that `url` names: `sqlite:///relative.db`, `sqlite:////absolute.db` or a plain path.

    Raises:
        ConfigurationError: the URL is of another database, or names no file.
    """
    text = str(url)
    prefix = next((prefix for prefix in _PREFIXES if text.startswith(prefix)), "")
    if prefix:
        path = unquote(text[len(prefix) :].split("?", maxsplit=1)[0]).removeprefix("/")
    elif "://" in text or text.startswith("file:"):
        raise ConfigurationError(
            [
                Problem(
                    f"{source}.url",
                    f"'{_without_password(text)}' is no database that groundgraph reads: it knows SQLite "
                    "(sqlite:///file.db) and PostgreSQL (postgresql://user@host/database), whose text indexes it "
                    "searches. For another one write a `GroundedSource`, or export the rows and name them as `records`",
                )
            ]
        )
    else:
        path = text
    if not path or path == ":memory:":
        raise ConfigurationError(
            [Problem(f"{source}.url", "names no file; a table in memory is `backend: memory` with `records`")]
        )
    return base_dir / path


def default_index(index: str | Path | None, base_dir: Path, source: str) -> Path:
    """The file of the index of the source called `source`."""
    return base_dir / (index if index is not None else INDEX_FOLDER / f"{quote(source, safe=' ')}.sqlite")


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
