"""Keeping the index fresh: seeing that it is stale, and bringing it up to date beside the queries."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from groundgraph.core.errors import SourceUnavailable
from groundgraph.search.rank import add_frequencies
from groundgraph.sources.sql.any_database import AnyDatabase, Version
from groundgraph.sources.sql.index_file import LAYOUT, IndexFile, MemoryIndex
from groundgraph.sources.sql.introspect import ROWID_BITS
from groundgraph.sources.sql.shape import TableShape, header_stems, row_stems
from groundgraph.text.words import stemming

# Bringing the index up to date with the user's rows: only rows that changed are stemmed and written again.

_BATCH = 500
# An accumulated statement is flushed when it grows beyond this many different stems.
_TERMS = 200_000


def signature(identity: str, shapes: Sequence[TableShape]) -> str:
    """What an index was made for; an index with another signature must not be searched."""
    return _digest([LAYOUT, identity, *(_table_signature(shape) for shape in shapes)]).hex()


def update_index(
    index: sqlite3.Connection, database: AnyDatabase, shapes: Sequence[TableShape], *, stopped: Callable[[], bool]
) -> bool:
    """Make the index hold exactly the rows of `shapes`. Runs inside the caller's transaction on `index`.

    It reads every row of the tables (0.5 s for 100 000), and stems those whose hash differs.

    Returns:
        whether it held rows that are gone.

    Raises:
        SourceUnavailable: `stopped()` said so, or the database cannot be read.
    """
    mark = _digest([database.identity]).hex()
    wanted = {shape.name: f"{mark}{_table_signature(shape)}" for shape in shapes}
    kept, removed = _forget_others(index, wanted)
    for shape in shapes:
        if shape.name not in kept:
            _add_table(index, shape, wanted[shape.name])
        removed = _TableUpdate(index, shape, stopped).run(database) or removed
    return removed


def _forget_others(index: sqlite3.Connection, wanted: Mapping[str, str]) -> tuple[set[str], bool]:
    """Forget the tables whose signature is not the wanted one: the names of the others, and whether rows are gone."""
    kept, removed = set[str](), False
    for name, slot, made_for in index.execute("SELECT name, slot, signature FROM tables").fetchall():
        if wanted.get(name) == made_for:
            kept.add(name)
        else:
            removed = _forget_table(index, slot) or removed
    return kept, removed


class _TableUpdate:
    """The update of one table."""

    def __init__(self, index: sqlite3.Connection, shape: TableShape, stopped: Callable[[], bool]) -> None:
        self._index = index
        self._shape = shape
        self._stopped = stopped
        self._slot: int = index.execute("SELECT slot FROM tables WHERE name = ?", (shape.name,)).fetchone()[0]
        self._base = self._slot << ROWID_BITS
        self._counts: Counter[str] = Counter()
        self._rows = 0
        self._stems = 0

    def run(self, database: AnyDatabase) -> bool:
        """Whether rows are gone."""
        known = self._known()
        unused = max((number for number, _ in known.values()), default=self._base) + 1
        fields = self._shape.search_fields
        rows = database.rows(self._shape, fields)
        while batch := list(islice(rows, _BATCH)):
            if self._stopped():
                raise SourceUnavailable("The source was closed while its index was brought up to date.")
            changed: list[tuple[int, Any, bytes, str, str]] = []
            for key, *values in batch:
                digest = _digest(values)
                number, held = known.pop(key, (None, None))
                if held == digest:
                    continue
                if number is None:
                    number, unused = (self._base + key, unused) if self._shape.rowid else (unused, unused + 1)
                elif held is not None:
                    self._remove([number])
                content, other = row_stems(self._shape, dict(zip(fields, values, strict=True)))
                changed.append((number, key, digest, " ".join(content), " ".join(other)))
            self._add(changed)
        self._remove([number for number, _ in known.values()])
        self._flush()
        self._index.execute(
            "UPDATE tables SET rows = rows + ?, stems = stems + ? WHERE slot = ?", (self._rows, self._stems, self._slot)
        )
        return bool(known)

    def _known(self) -> dict[Any, tuple[int, bytes]]:
        found = self._index.execute(
            "SELECT key, number, hash FROM rows WHERE number >= ? AND number < ?",
            (self._base, self._base + (1 << ROWID_BITS)),
        )
        return {key: (number, digest) for key, number, digest in found}

    def _add(self, rows: Sequence[tuple[int, Any, bytes, str, str]]) -> None:
        self._index.executemany("INSERT INTO rows (number, key, hash, content, other) VALUES (?, ?, ?, ?, ?)", rows)
        self._count([f"{content} {other}".split() for *_, content, other in rows], 1)

    def _remove(self, numbers: Sequence[int]) -> None:
        for some in _pieces(numbers):
            listed = json.dumps(some)
            held = self._index.execute(
                "SELECT content, other FROM rows WHERE number IN (SELECT value FROM json_each(?))", (listed,)
            ).fetchall()
            self._index.execute("DELETE FROM rows WHERE number IN (SELECT value FROM json_each(?))", (listed,))
            self._count([f"{content} {other}".split() for content, other in held], -1)

    def _count(self, rows: Sequence[list[str]], sign: int) -> None:
        self._rows += sign * len(rows)
        for row in rows:
            self._stems += sign * len(row)
            for term in set(row):
                self._counts[term] += sign
        if len(self._counts) > _TERMS:
            self._flush()

    def _flush(self) -> None:
        changed = [(term, self._slot, count) for term, count in self._counts.items() if count]
        add_frequencies(self._index, ("term", "slot"), changed)
        self._counts.clear()


def _add_table(index: sqlite3.Connection, shape: TableShape, made_for: str) -> None:
    index.execute(
        "INSERT INTO tables (name, signature, header, rows, stems) VALUES (?, ?, ?, 0, 0)",
        (shape.name, made_for, " ".join(header_stems(shape))),
    )


def _forget_table(index: sqlite3.Connection, slot: int) -> bool:
    """Whether it had rows."""
    first, after = slot << ROWID_BITS, (slot + 1) << ROWID_BITS
    removed = index.execute("DELETE FROM rows WHERE number >= ? AND number < ?", (first, after)).rowcount
    index.execute("DELETE FROM terms WHERE slot = ?", (slot,))
    index.execute("DELETE FROM tables WHERE slot = ?", (slot,))
    return removed > 0


def _table_signature(shape: TableShape) -> str:
    joined = [(join.other.name, join.column, join.key, join.columns) for join in shape.joins]
    named = [stemming(), shape.name, shape.rowid, shape.key_columns, shape.content_field, shape.search_fields, *joined]
    return _digest([*named, [column.name for column in shape.columns]]).hex()


def _digest(values: Sequence[Any]) -> bytes:
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _pieces(numbers: Sequence[int]) -> Iterator[list[int]]:
    yield from (list(numbers[start : start + _BATCH]) for start in range(0, len(numbers), _BATCH))


# A query waits this long for an update, then answers from the rows as they were.
REFRESH_WAIT = 1.0
_CLOSE_WAIT = 5.0


class IndexKeeper:
    """One index and the thread that updates it. Every method blocks."""

    def __init__(self, index: IndexFile | MemoryIndex, database: AnyDatabase) -> None:
        self.index = index
        self._database = database
        self._guard = threading.Lock()
        self._update: _Update | None = None
        self._fresh: tuple[str, Version] | None = None
        self._stop = threading.Event()

    def ensure(self, version: Version, shapes: Sequence[TableShape], *, to_the_end: bool = False) -> bool:
        """Whether the index holds the rows of `version`, after an update if need be.

        An index that was never built, or was built for other tables, is waited for however long that takes, as all are
        `to_the_end`; otherwise at most `REFRESH_WAIT` seconds, and the update goes on meanwhile.

        Raises:
            SourceUnavailable: the index cannot be built, or the database cannot be read.
        """
        made_for = signature(self._database.identity, shapes)
        if self._is_current(made_for, version):
            return True
        usable = self._holds(made_for)
        if not usable:
            self._fresh = None  # another source of the same name has taken the file
        until = time.monotonic() + REFRESH_WAIT if usable and not to_the_end else None
        while self._fresh != (made_for, version):
            # An update for an earlier version may still run; this one's comes after it.
            update = self._started(made_for, version, shapes)
            update.join(_seconds_until(until))
            if update.error and (to_the_end or not usable):
                raise update.error
            if update.error or update.is_alive():
                return False
        return True

    def close(self) -> None:
        """Stop an update and close the index."""
        self._stop.set()
        with self._guard:
            update = self._update
        if update:
            update.join(_CLOSE_WAIT)
        self.index.close()

    def is_for(self, index: sqlite3.Connection, shapes: Sequence[TableShape]) -> bool:
        """Whether `index`, as it is now, was made for tables of these shapes."""
        return _signature_in(index) == signature(self._database.identity, shapes)

    def _holds(self, made_for: str) -> bool:
        with self.index.reading() as connection:
            return _signature_in(connection) == made_for

    def _is_current(self, made_for: str, version: Version) -> bool:
        """Whether the index is up to date already, be it that an earlier process left it so."""
        if self._fresh is not None:
            return self._fresh == (made_for, version) and self._holds(made_for)
        with self.index.reading() as connection:
            row: tuple[str, str] = connection.execute("SELECT signature, version FROM state").fetchone()
        if row == (made_for, _written(version)):
            self._fresh = (made_for, version)
        return self._fresh is not None

    def _started(self, made_for: str, version: Version, shapes: Sequence[TableShape]) -> _Update:
        with self._guard:
            if self._update is None or not self._update.is_alive():
                self._update = _Update(self, made_for, version, shapes)
                self._update.start()
            return self._update

    def run_update(self, made_for: str, version: Version, shapes: Sequence[TableShape]) -> None:
        """The work of the thread."""
        with self.index.writing() as write:
            write.removed = update_index(write.connection, self._database, shapes, stopped=self._stop.is_set)
            write.connection.execute(
                "UPDATE state SET signature = ?, version = ?, changes = changes + 1",
                (made_for, _written(version) if version.is_settled() else ""),
            )
        self._fresh = (made_for, version)


class _Update(threading.Thread):
    """One update; `error` is set when it failed."""

    def __init__(self, keeper: IndexKeeper, made_for: str, version: Version, shapes: Sequence[TableShape]) -> None:
        super().__init__(name="groundgraph-index", daemon=True)
        self._work = (keeper, made_for, version, shapes)
        self.error: BaseException | None = None

    def run(self) -> None:
        keeper, *rest = self._work
        try:
            keeper.run_update(*rest)  # type: ignore[arg-type]
        except BaseException as error:
            self.error = error


def _seconds_until(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())


def _signature_in(index: sqlite3.Connection) -> str:
    found: str = index.execute("SELECT signature FROM state").fetchone()[0]
    return found


def _written(version: Version) -> str:
    return json.dumps(version.file)
