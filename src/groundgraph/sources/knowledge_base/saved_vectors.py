"""The vectors of a large base in files beside it, which searches map in place of reading them into memory.

SQLite is the truth and names the folder that suits it, so files of another base, of a copy that was put back or of a
writer that was killed are never taken for its own. A folder is written whole and never changed: what is written into
the base later is read from SQLite, until it is so much that the files are written anew.
"""

from __future__ import annotations

import logging
import mmap
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)

# Vectors up to this many are read into memory and all compared: 30 MB with 384 numbers, and 1.5 ms.
FEW = 20_000
# The files are written anew when what is not in them, or no longer in the base, is more than such a share of them.
_MOST_BEHIND = 0.125
_NAME = "vectors_folder"
_FIELDS = ("rows", "signs", "documents", "chunks", "starts")
_FETCHED = 1_024

_NEW_CHUNKS = (
    "SELECT texts.document_id, chunk_id, count(*) FROM vectors JOIN texts USING (document_id) "
    "WHERE vectors.document_id > ? GROUP BY texts.document_id, chunk_id ORDER BY texts.document_id, chunk_id"
)


@dataclass(frozen=True)
class SavedVectors:
    """What the files hold, mapped.

    Attributes:
        name: of their folder.
        rows: float32 array of shape (texts, dimension).
        signs: those of the rows; see `signs_of`.
        documents: for each chunk the row of its document.
        chunks: the rows of the chunks, ascending.
        starts: for each chunk its first row in `rows`.
    """

    name: str
    rows: Any
    signs: Any
    documents: Any
    chunks: Any
    starts: Any


def folder_of(path: Path) -> Path:
    """Where the files of the base at `path` lie."""
    return Path(f"{path}-vectors")


def saved_name(connection: sqlite3.Connection) -> str:
    """The folder that suits the state that `connection` sees; empty where there is none."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_NAME,)).fetchone()
    return row[0] if row else ""


def open_saved(folder: Path, name: str, dimension: int) -> SavedVectors | None:
    """What lies in the folder called `name`; None when it is not there or damaged."""
    import numpy as np

    try:
        mapped = {field: np.load(folder / name / f"{field}.npy", mmap_mode="r") for field in _FIELDS}
    except (OSError, ValueError):
        return None
    _read_singly(mapped["rows"])
    # Without numpy's class for what is mapped, which every small step with it would pass.
    saved = SavedVectors(name, **{field: np.asarray(array) for field, array in mapped.items()})
    fits = saved.rows.shape[1:] == (dimension,) and saved.signs.shape == (words_of(dimension), len(saved.rows))
    return saved if fits and len(saved.documents) == len(saved.chunks) == len(saved.starts) else None


def save(connection: sqlite3.Connection, path: Path, dimension: int, *, anew: bool = False) -> None:
    """Within a write transaction, write the files where the base has outgrown those that it names, or `anew` in any
    case; a small base gets none.

    Raises:
        OSError: they cannot be written.
    """
    held = vectors_after(connection, 0, dimension)
    known = saved_name(connection)
    saved = open_saved(folder_of(path), known, dimension) if known and held > FEW and not anew else None
    if saved is not None and not _is_behind(connection, saved, held, dimension):
        return
    forget_saved(connection)
    if held > FEW:
        name = secrets.token_hex(16)
        try:
            _write(connection, folder_of(path), name, dimension)
        except BaseException:
            # Most likely the disk is full.
            shutil.rmtree(folder_of(path) / name, ignore_errors=True)
            raise
        connection.execute("INSERT INTO meta VALUES (?, ?)", (_NAME, name))


def forget_saved(connection: sqlite3.Connection) -> None:
    """Within a write transaction, let no files suit the base any more."""
    connection.execute("DELETE FROM meta WHERE name = ?", (_NAME,))


def sweep(connection: sqlite3.Connection, path: Path) -> None:
    """Within a write transaction, delete what an earlier one no longer names, and what a writer that was killed left
    behind."""
    known = saved_name(connection)
    for folder in folder_of(path).glob("[0-9a-f]" * 32):
        if folder.name != known:
            shutil.rmtree(folder, ignore_errors=True)


def vectors_after(connection: sqlite3.Connection, last: int, dimension: int) -> int:
    """How many vectors the documents after `last` have."""
    statement = "SELECT coalesce(sum(length(vectors)), 0) FROM vectors WHERE document_id > ?"
    stored: int = connection.execute(statement, (last,)).fetchone()[0]
    return stored // (2 * dimension) if dimension else 0


def new_rows(connection: sqlite3.Connection, last: int, dimension: int) -> Iterator[Any]:
    """The vectors of the documents after `last` in their order, as 16-bit rows."""
    import numpy as np

    found = connection.execute("SELECT vectors FROM vectors WHERE document_id > ? ORDER BY document_id", (last,))
    while fetched := found.fetchmany(_FETCHED):
        yield np.frombuffer(b"".join(blob for (blob,) in fetched), dtype=np.float16).reshape(-1, dimension)


def words_of(dimension: int) -> int:
    """How many words of 64 bits the signs of `dimension` numbers take."""
    return -(-dimension // 64)


def signs_of(rows: Any) -> Any:
    """Which numbers of `rows` are positive: a bit for each, in uint64 words, of shape (words, rows)."""
    import numpy as np

    packed = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), 8 * words_of(rows.shape[1])), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def _is_behind(connection: sqlite3.Connection, saved: SavedVectors, held: int, dimension: int) -> bool:
    new = vectors_after(connection, int(saved.documents[-1]), dimension)
    gone = len(saved.rows) - (held - new)
    return new + gone > _MOST_BEHIND * len(saved.rows)


def _read_singly(rows: Any) -> None:
    """Tell the system that few of the mapped `rows` are read and far from each other, where it can be told."""
    if hasattr(mmap, "MADV_RANDOM"):
        rows._mmap.madvise(mmap.MADV_RANDOM)


def new_chunks(connection: sqlite3.Connection, last: int) -> tuple[Any, Any, Any]:
    """Document, row and number of matching texts of each chunk of the documents after `last` that have vectors."""
    import numpy as np

    table = np.fromiter(connection.execute(_NEW_CHUNKS, (last,)), dtype=np.dtype((np.int64, 3)))
    return table[:, 0], table[:, 1], table[:, 2]


def _write(connection: sqlite3.Connection, folder: Path, name: str, dimension: int) -> None:
    import numpy as np

    # What is close to a text can be told from its vector, so the files are as private as the texts.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / name).mkdir(mode=0o700)
    documents, chunks, counts = new_chunks(connection, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1])
    parts: dict[str, Any] = {"documents": documents, "chunks": chunks, "starts": ends - counts}
    for field, values in parts.items():
        np.save(folder / name / f"{field}.npy", np.ascontiguousarray(values))
    signs = np.empty((words_of(dimension), total), dtype=np.uint64)
    with (folder / name / "rows.npy").open("wb") as file:
        shape = {"descr": "<f4", "fortran_order": False, "shape": (total, dimension)}
        np.lib.format.write_array_header_1_0(file, shape)
        done = 0
        for rows in new_rows(connection, 0, dimension):
            file.write(rows.astype("<f4").tobytes())
            signs[:, done : done + len(rows)] = signs_of(rows)
            done += len(rows)
            if done // _TOLD > (done - len(rows)) // _TOLD:
                _LOG.info("Writing the vectors of '%s': %d of %d", folder, done, total)
    np.save(folder / name / "signs.npy", signs)
    for path in (*(folder / name).iterdir(), folder / name, folder):
        _settle(path)


_TOLD = 100_000


def _settle(path: Path) -> None:
    """Wait until `path` is on the disk: SQLite is to name nothing that a loss of power could take."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
