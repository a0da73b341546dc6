"""Connections to a PostgreSQL server: read-only, bounded in number and in time."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from groundgraph.core.errors import (
    AccessRefused,
    ConfigurationError,
    EmbeddingModelChanged,
    FilterInvalid,
    GroundGraphError,
    Problem,
    SourceTimeout,
    SourceUnavailable,
)
from groundgraph.sources.sql.location import ServerAddress

# Ending on the server what nobody waits for any more.

_CANCEL_SECONDS = 2.0


class Running:
    """The statements of one query of a source. `cancel` may be called from any thread."""

    def __init__(self) -> None:
        self._connections: set[Any] = set()
        self._cancelled = False
        self._guard = threading.Lock()

    @contextmanager
    def using(self, connection: Any) -> Iterator[None]:
        """Makes the statements of a psycopg connection end when the query is cancelled.

        Raises:
            SourceUnavailable: the query was cancelled before.
        """
        with self._guard:
            if self._cancelled:
                raise SourceUnavailable("The query was cancelled.")
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._guard:
                self._connections.discard(connection)

    def cancel(self) -> None:
        """Ask the server to end every statement that runs now; blocks for two seconds at most for each."""
        # Held until the server was told: a connection that went back to its pool meanwhile may serve another query,
        # whose statement would be ended.
        with self._guard:
            self._cancelled = True
            for connection in self._connections:
                with contextlib.suppress(Exception):
                    connection.cancel_safe(timeout=_CANCEL_SECONDS)


current: ContextVar[Running | None] = ContextVar("groundgraph_running_statements", default=None)


CONNECT_SECONDS = 5
# The role may not read what it was asked for.
DENIED = "42501"
POOL_SECONDS = 5.0
_SESSION = {
    "default_transaction_read_only": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    # Compiling a statement costs more than any of ours takes.
    "jit": "off",
}
# What to do about an error, by the beginning of its SQLSTATE.
_TODO = {
    "22021": "Its encoding is SQL_ASCII, and it holds bytes that are no UTF-8: convert the database, or leave those "
    "rows out in a view.",
    "28 database": "Let the role connect: GRANT CONNECT ON DATABASE ... TO ...",
    "28": "Check the user and the password; the password can come from PGPASSWORD or ~/.pgpass.",
    "3D": "Check the name of the database in the url.",
    DENIED: "Let the role read it: GRANT SELECT ON TABLE ... TO ...",
    "53300": "The server has no connection left: lower `pool_size`, or raise max_connections.",
}
# What pgvector says of a column and a vector that cannot be compared, under the SQLSTATE of any data.
_SIZES = re.compile(r"different vector dimensions (\d+) and (\d+)")
# A connection that is refused has words alone, no SQLSTATE; the first that fit count.
_REFUSED = (
    (re.compile(r"too many c|connection slots"), "53300"),
    (re.compile(r'database "[^"]*" does not exist'), "3D"),
    (re.compile("permission denied for database"), "28 database"),
    (re.compile(r'pg_hba\.conf|password|authentication failed|role "[^"]*" (does|is) not'), "28"),
)
# It stays so until somebody changes the configuration, or the rights of its role.
_LASTING = ("28", "3D", DENIED)
# A sum beyond the largest float, for example: the server is well, and the same question fails again.
_OUT_OF_RANGE = "22003"
# A table, a column or an operator between their types is not there, or a right that was.
CHANGED = ("42P01", "42703", "42883", DENIED)


def make_engine(address: ServerAddress, *, source: str, pool_size: int, statement_timeout: float) -> Any:
    """SQLAlchemy's engine over at most `pool_size` read-only connections.

    A connection that the server has closed meanwhile is noticed before it is used, and replaced.

    Raises:
        ConfigurationError: psycopg is not installed.
    """
    if find_spec("psycopg") is None:
        problem = 'needs psycopg: pip install "groundgraph[postgres]"'
        raise ConfigurationError([Problem(f"{source}.url", problem)])
    from sqlalchemy import create_engine, event, make_url

    url = make_url(address.url)
    given = str(url.query.get("options", ""))
    session = {**_SESSION, "statement_timeout": f"{int(statement_timeout * 1000)}ms"}
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        pool_pre_ping=True,
        # A generic plan does not know how common the words of a question are.
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "groundgraph",
            "options": " ".join([given, *(f"-c {name}={value}" for name, value in session.items())]).strip(),
            "prepare_threshold": None,
        },
    )

    # Before SQLAlchemy itself asks anything.
    @event.listens_for(engine, "connect", insert=True)
    def prepare(connection: Any, _: Any) -> None:
        _speak_utf8(connection)
        _read_all_times(connection)
        # Once more for each transaction: a pooler between us and the server may drop the session's settings.
        connection.read_only = True

    return engine


def _speak_utf8(connection: Any) -> None:
    """Have texts as texts from a database that minds no encoding; psycopg would give them as bytes."""
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        connection.autocommit = True
        connection.execute("SET client_encoding TO 'UTF8'")
        connection.autocommit = False


def _read_all_times(connection: Any) -> None:
    """Have times that Python knows none for (`infinity`, before year 1, beyond 9999) as PostgreSQL writes them."""
    from psycopg import DataError
    from psycopg.types import datetime as times

    def lenient(loader: Any) -> Any:
        class Lenient(loader):  # type: ignore[misc]  # a class of psycopg's, which is loaded here
            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except DataError:
                    return bytes(data).decode()

        return Lenient

    loaders = {"date": times.DateLoader, "timestamp": times.TimestampLoader, "timestamptz": times.TimestamptzLoader}
    for name, loader in loaders.items():
        connection.adapters.register_loader(name, lenient(loader))


@contextmanager
def typed_errors(source: str, where: str, todo: str = "") -> Iterator[None]:
    """Raises what goes wrong on the server as an error of ours.

    Raises:
        SourceUnavailable: the server does not answer.
        AccessRefused: it refuses the login, has no such database, or lets the role not read.
        SourceTimeout: a statement ran into its limit; `todo` says what helps against that.
        FilterInvalid: a value holds no valid text, or what is computed is beyond all numbers of its type.
        EmbeddingModelChanged: the vector of a question is of another size than those of the table.
    """
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    try:
        yield
    except DBAPIError as error:
        raise _typed(error.orig, source, where, todo) from error
    except PoolTimeout as error:
        raise SourceUnavailable(
            f"The source '{source}': all its connections to {where} were in use for {POOL_SECONDS:g} seconds. "
            "Raise its `pool_size`."
        ) from error
    except UnicodeEncodeError as error:
        raise _no_text(source, error) from error


def _typed(error: BaseException | None, source: str, where: str, todo: str) -> GroundGraphError:
    """The error of ours for one of the driver's; see `typed_errors`."""
    if isinstance(error, UnicodeEncodeError):
        return _no_text(source, error)
    # The primary message stands without the statement that libpq draws below it.
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    reason = " ".join(str(primary or error).split())
    state = getattr(error, "sqlstate", None) or _state_in(reason)
    if state == "57014":
        return SourceTimeout(f"The source '{source}': PostgreSQL at {where} ended a statement at its limit.{todo}")
    if sizes := _SIZES.search(reason):
        return EmbeddingModelChanged(
            f"The source '{source}': the vectors in {where} have {sizes[1]} numbers, but the embedding model gives "
            f"{sizes[2]}. Use the model that they were made with."
        )
    if state == _OUT_OF_RANGE:
        return FilterInvalid(f"The source '{source}': {reason}.")
    kind = AccessRefused if state.startswith(_LASTING) else SourceUnavailable
    hint = next((f" {text}" for start, text in _TODO.items() if state.startswith(start)), "")
    return kind(f"The source '{source}': PostgreSQL at {where} cannot answer ({reason}).{hint}")


def _state_in(reason: str) -> str:
    """The SQLSTATE that the words of a refused connection stand for; empty for others."""
    return next((like for words, like in _REFUSED if words.search(reason)), "")


def _no_text(source: str, error: Exception) -> FilterInvalid:
    return FilterInvalid(f"The source '{source}': a value holds no valid text: {error}.")


def state_of(error: BaseException) -> str:
    """The SQLSTATE behind an error of ours; empty without one."""
    cause = error.__cause__
    return str(getattr(getattr(cause, "orig", None), "sqlstate", None) or "")
