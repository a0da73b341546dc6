"""A full-text index by tantivy that is derived from a SQLite file and lies in a folder beside it.

SQLite is the truth. It says in which state it is by a random number that every write changes; the index says, in a
document of its own written in the same commit, which two states it suits: the one before a write and the one after it.
A write first adds its texts to the index, then commits in SQLite; what it removed leaves the index with the next write.
So whichever of the two states a reader sees in SQLite, the index holds every text of it, and what the index holds
beside is not found when it is looked up in SQLite. An index that suits neither state (missing, damaged, of another
base, of a copy that was put back) is built again from the stems that SQLite keeps.
"""

from __future__ import annotations

import ctypes
import json
import logging
import re
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundgraph.search.rank import MAX_STEMS, Question

if TYPE_CHECKING:
    from tantivy import DocAddress, Index, IndexWriter, Query, Schema, Searcher

_LOG = logging.getLogger(__name__)


class WordTable(NamedTuple):
    """The table of the texts in SQLite; the number of a text is never used again.

    Attributes:
        name: of the table; its key is called `id`.
        columns: of a text: what it belongs to, which part of that it is (two numbers), its stems, and those above it.
        shown: the columns that `Words.rows` gives.
        above_weight: how often a stem above counts in the term frequency.
    """

    name: str
    columns: str
    shown: str
    above_weight: int

    @property
    def tables(self) -> str:
        """What SQLite keeps for the index; `words_gone` are the texts that are to leave it."""
        return (
            "CREATE TABLE words (state INTEGER NOT NULL, top INTEGER NOT NULL);\n"
            f"INSERT INTO words SELECT random(), coalesce(max(id), 0) FROM {self.name};\n"
            "CREATE TABLE words_gone (id INTEGER NOT NULL, leaving INTEGER NOT NULL DEFAULT 0);\n"
            f"CREATE TRIGGER words_lost AFTER DELETE ON {self.name} "
            "BEGIN INSERT INTO words_gone (id) VALUES (old.id); END"
        )


class WordsOutdated(Exception):
    """The index does not suit the state that the reader sees: it begins a new transaction, or has the index mended."""


class WordsUnusable(Exception):
    """The index cannot be read or written: it is damaged, the disk is full, or the folder is read-only."""


@contextmanager
def _told() -> Iterator[None]:
    """Turns what tantivy raises into `WordsUnusable`; that may be a panic, which is no `Exception`."""
    try:
        yield
    except sqlite3.Error:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise WordsUnusable(str(error)) from error


@cache
def _schema() -> Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    # Of unsigned fields nothing is deleted by term, without an error.
    for name in ("id", "whole", "part", "stamp", "before", "after"):
        builder.add_integer_field(name, indexed=True, fast=True)
    builder.add_text_field("stems", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


class Kept:
    """The texts that a filter keeps, or what it leaves out, whichever is shorter to list.

    Args:
        wholes: what is listed with all its parts.
        parts: single parts that are listed.
        texts: how many texts the filter keeps.
        listed: what is listed is kept; otherwise everything else is.
    """

    def __init__(self, wholes: Collection[int], parts: Collection[int], texts: int, *, listed: bool = True) -> None:
        self.texts = texts
        self._listed = listed
        self._members = {"whole": frozenset(wholes), "part": frozenset(parts)}

    def is_dear(self, of: int) -> bool:
        """Whether going through the best texts of all `of` is cheaper than looking each of the listed ones up."""
        return sum(map(len, self._members.values())) > _FEW_LISTED and self.texts * _BROAD > of

    def among(self, searcher: Searcher, found: list[DocAddress]) -> list[DocAddress]:
        """Those of `found` that are kept."""
        inside = [False] * len(found)
        for name, members in self._members.items():
            if members:
                values = searcher.fast_field_values(name, found)
                inside = [known or value in members for known, value in zip(inside, values, strict=True)]
        return [address for address, known in zip(found, inside, strict=True) if known == self._listed]

    def within(self, asked: Query) -> Query:
        """`asked` among the texts that are kept."""
        import tantivy

        return tantivy.Query.boolean_query([(tantivy.Occur.Must, asked), *self._conditions])

    @cached_property
    def _conditions(self) -> list[tuple[Any, Query]]:
        from tantivy import Occur, Query

        sets = [Query.term_set_query(_schema(), name, list(of)) for name, of in self._members.items() if of]
        if not self._listed:
            return [(Occur.MustNot, one) for one in sets]
        either = Query.boolean_query([(Occur.Should, one) for one in sets])
        return [(Occur.Must, Query.const_score_query(either, 0.0))]


# Fewer numbers than these are looked up faster than any list is gone through; a filter that keeps one text in `_BROAD`
# has most of the best ones among a few thousand.
_FEW_LISTED = 500
_BROAD = 80
# So many times more than are likely to hold as many as are wanted: a filter that has little to do with the words has
# them in 199 of 200 searches, and what is left is asked the other way.
_SPARE = 1.3


@dataclass(frozen=True)
class Words:
    """The index in one state.

    Attributes:
        searcher: finds in it.
        states: the two states of SQLite that it suits.
        table: where the texts are.
    """

    searcher: Searcher
    states: tuple[int, int]
    table: WordTable

    def rows(
        self, connection: sqlite3.Connection, question: Question, *, limit: int, kept: Kept | None = None
    ) -> list[tuple[Any, ...]]:
        """The columns `shown` of the texts that fit `question` best by the index, about `limit`, in no order.

        Raises:
            WordsUnusable: the index is damaged.
        """
        asked = question.held[:MAX_STEMS]
        if not asked or (kept and not kept.texts):
            return []
        most = limit
        while True:
            with _told():
                found = self._best(asked, most, kept)
            rows = connection.execute(
                f"SELECT {self.table.shown} FROM {self.table.name} WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(found),),
            ).fetchall()
            # Some of the best may be gone from SQLite, or not yet there.
            if len(rows) >= limit or len(found) < most:
                return rows
            most *= 4

    def held(self, stems: Collection[str], kept: Kept) -> set[str]:
        """Those of `stems` that a text holds which is kept.

        Raises:
            WordsUnusable: the index is damaged.
        """
        with _told():
            return {stem for stem in stems if kept.texts and self._best([stem], 1, kept)}

    def _best(self, stems: Sequence[str], limit: int, kept: Kept | None) -> list[Any]:
        from tantivy import Occur, Query

        asked = Query.boolean_query(
            [(Occur.Should, Query.term_query(_schema(), "stems", stem, "freq")) for stem in stems]
        )
        return self.searcher.fast_field_values("id", self._addresses(asked, limit, kept))

    def _addresses(self, asked: Query, limit: int, kept: Kept | None) -> list[DocAddress]:
        if kept is None:
            return self._search(asked, limit)
        texts = self.searcher.num_docs
        if kept.is_dear(texts):
            most = round(_SPARE * limit * max(1, texts / kept.texts))
            found = self._search(asked, most)
            inside = kept.among(self.searcher, found)
            if len(inside) >= limit or len(found) < most:
                return inside[:limit]
        return self._search(kept.within(asked), limit)

    def _search(self, asked: Query, limit: int) -> list[DocAddress]:
        return [address for _, address in self.searcher.search(asked, limit, count=False).hits]


# What tantivy gathers in memory, in bytes: the least that it takes, and what makes building quick.
_SMALL, _LARGE = 15_000_000, 50_000_000
# So often an index is opened: a writer may take a file away between the look at the list of them and the opening.
_OPENINGS = 3
# What tantivy calls its files, so that nothing else that lies in the folder is ever deleted.
_OWN_FILES = re.compile(r"[0-9a-f]{32}\..*|meta\.json|\.managed\.json|\.tantivy-(writer|meta)\.lock")


class WordIndex:
    """The index over one table; may be used by several threads. Every method blocks.

    Args:
        folder: where it lies; None keeps it in memory.
        table: where SQLite keeps the texts.
    """

    def __init__(self, folder: Path | None, table: WordTable) -> None:
        self._folder = folder
        self._table = table
        self._memory: Index | None = None
        self._words: Words | None = None
        self._guard = threading.Lock()
        _share_freed_memory()

    def at(self, connection: sqlite3.Connection) -> Words:
        """The index in the state that the transaction on `connection` sees.

        Raises:
            WordsOutdated: it suits no such state.
        """
        state = _state(connection)
        with self._guard:
            if self._words is None or state not in self._words.states:
                self._words = self._opened()
            if self._words is None or state not in self._words.states:
                raise WordsOutdated
            return self._words

    def commit(self, connection: sqlite3.Connection, *, anew: bool = False) -> None:
        """Take in what the write transaction on `connection` has added and removed; SQLite commits right after it.

        With `anew` the index is built again, so that nothing of what was removed is left in its files.

        Raises:
            WordsUnusable: the index cannot be written; the caller rolls back.
        """
        before, top = connection.execute("SELECT state, top FROM words").fetchone()
        after = secrets.randbits(62)
        if not anew and self._suits(before):
            gone = connection.execute("SELECT id FROM words_gone WHERE leaving").fetchall()
            self._go_on(connection, gone, top, (before, after))
        else:
            self._build(connection, after)
        connection.execute("DELETE FROM words_gone WHERE leaving")
        connection.execute("UPDATE words_gone SET leaving = 1")
        connection.execute(
            f"UPDATE words SET state = ?, top = max(top, (SELECT coalesce(max(id), 0) FROM {self._table.name}))",
            (after,),
        )

    def mend(self, connection: sqlite3.Connection, *, anew: bool = False) -> None:
        """Build the index again when it does not suit the write transaction on `connection`, or `anew` in any case.

        Raises:
            WordsUnusable: the index cannot be written.
        """
        state = _state(connection)
        if anew or not self._suits(state):
            self._build(connection, state)

    def settle(self, connection: sqlite3.Connection) -> None:
        """Within a write transaction, let what was removed leave the index now."""
        gone = connection.execute("SELECT id FROM words_gone").fetchall()
        state, top = connection.execute("SELECT state, top FROM words").fetchone()
        if gone and self._suits(state):
            self._go_on(connection, gone, top, (state, state))
            connection.execute("DELETE FROM words_gone")

    def keep_in_memory(self, connection: sqlite3.Connection, reason: object) -> None:
        """Build an index in memory for the state that `connection` sees, since that in the folder cannot be used."""
        _LOG.warning("The text index '%s' cannot be used (%s); it is built in memory.", self._folder, reason)
        beside = WordIndex(None, self._table)
        beside.mend(connection)
        with self._guard:
            self._words = beside.at(connection)

    def _suits(self, state: int) -> bool:
        words = self._opened()
        return words is not None and state in words.states

    def _opened(self) -> Words | None:
        """The index as it is now; None when there is none that can be read."""
        for _ in range(_OPENINGS):
            with suppress(WordsUnusable), _told():
                return self._read()
        return None

    def _read(self) -> Words | None:
        import tantivy

        index = self._memory
        if self._folder is not None and tantivy.Index.exists(str(self._folder)):
            # Told the schema, tantivy refuses an index of another one, in place of ending in a panic when it is asked.
            index = tantivy.Index(_schema(), str(self._folder))
        if index is None:
            return None
        index.config_reader("manual")
        index.reload()
        searcher = index.searcher()
        stamps = searcher.search(tantivy.Query.term_query(_schema(), "stamp", 1), 1, count=False).hits
        if not stamps:
            return None
        states = [searcher.fast_field_values(name, [stamps[0][1]])[0] for name in ("before", "after")]
        return Words(searcher, (int(states[0] or 0), int(states[1] or 0)), self._table)

    def _go_on(self, connection: sqlite3.Connection, gone: list[tuple[int]], top: int, states: tuple[int, int]) -> None:
        try:
            self._write(connection, [number for (number,) in gone], top, states)
        except WordsUnusable:
            # Files of a writer that was killed can stand in the way of the next one.
            self._build(connection, states[1])

    def _build(self, connection: sqlite3.Connection, state: int) -> None:
        """Write all texts, and leave nothing of what was there; readers have the index as it was until that is done."""
        with _told():
            if self._folder is not None:
                # It holds the words of the texts, and tantivy's files can be read by their owner alone anyway.
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._write(connection, None, 0, (state, state), heap=_LARGE)
            except WordsUnusable:
                # What is there stands in the way, or takes the room.
                self._clear()
                self._write(connection, None, 0, (state, state), heap=_LARGE)
            self._sweep()

    def _clear(self) -> None:
        self._memory = None
        for path in self._files():
            path.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Delete what writers that were killed left of segments which the index does not know."""
        if self._folder is not None:
            segments = json.loads((self._folder / "meta.json").read_text("utf-8"))["segments"]
            known = {"", "meta", *(segment["segment_id"].replace("-", "") for segment in segments)}
            for path in self._files():
                if path.name.partition(".")[0] not in known:
                    path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        """What tantivy wrote."""
        return [path for path in self._folder.iterdir() if _OWN_FILES.fullmatch(path.name)] if self._folder else []

    def _write(
        self,
        connection: sqlite3.Connection,
        gone: list[int] | None,
        top: int,
        states: tuple[int, int],
        *,
        heap: int = _SMALL,
    ) -> None:
        """Let the texts `gone` leave, all for None, and add those after `top`; what has a higher number already is of a
        write that SQLite never committed."""
        from tantivy import FieldType, Query

        with _told():
            # Opened anew, since another process may have written meanwhile.
            writer = self._writable().writer(heap, 1)
            try:
                # What a writer that was killed left behind could stand in the way of this one.
                writer.garbage_collect_files()
                if gone is None:
                    writer.delete_all_documents()
                else:
                    writer.delete_documents_by_query(Query.range_query(_schema(), "id", FieldType.Integer, top + 1))
                    writer.delete_documents_by_query(Query.term_set_query(_schema(), "id", gone))
                    writer.delete_documents_by_term("stamp", 1)
                self._add(writer, connection, top)
                _add_document(writer, {"stamp": 1, "before": states[0], "after": states[1]})
                writer.commit()
            finally:
                # Its threads go on behind an error too, and would work on the files of the next writer.
                writer.wait_merging_threads()
                del writer
                _give_back_freed_memory()

    def _writable(self) -> Index:
        import tantivy

        if self._folder is not None:
            return tantivy.Index(_schema(), str(self._folder))
        if self._memory is None:
            self._memory = tantivy.Index(_schema())
        return self._memory

    def _add(self, writer: IndexWriter, connection: sqlite3.Connection, top: int) -> None:
        rows = connection.execute(
            f"SELECT id, {self._table.columns} FROM {self._table.name} WHERE id > ? ORDER BY id", (top,)
        )
        for done, (number, whole, part, body, above) in enumerate(rows, 1):
            stems = f"{body} {' '.join([above] * self._table.above_weight)}"
            _add_document(writer, {"id": number, "whole": whole, "part": part}, stems)
            if done % _TOLD == 0:
                _LOG.info("Building the text index '%s': %d texts", self._folder, done)


_TOLD = 100_000
_M_ARENA_MAX = -8


@cache
def _share_freed_memory() -> None:
    """Let the threads of this process share what they have freed, with glibc.

    Each writer of tantivy has threads of its own, and each would keep a pool of its own: an ingest would grow with what
    it takes in, up to 16 pools on two cores.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def _give_back_freed_memory() -> None:
    """What a writer gathered goes back to the system, with glibc.

    Its own limit for large blocks is left alone: a fixed one makes everything else that allocates, such as a pattern
    that reads a long text, several times as slow.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _add_document(writer: IndexWriter, numbers: Mapping[str, int], stems: str = "") -> None:
    import tantivy

    document = tantivy.Document()
    for name, value in numbers.items():
        document.add_integer(name, value)
    if stems:
        document.add_text("stems", stems)
    writer.add_document(document)


def _state(connection: sqlite3.Connection) -> int:
    state: int = connection.execute("SELECT state FROM words").fetchone()[0]
    return state
