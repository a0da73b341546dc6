"""Where the index of a source lies when the configuration names no file for it."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

INDEX_FOLDER = Path(".groundgraph/index")
# Part of a long name is enough for people; the hash tells the files apart.
_READABLE = 60
_HASH_BYTES = 8
_FORMER_LAYOUT = 2
_FORMER_TABLES = {"tables", "rows", "row_stems", "terms", "state"}


def default_index(folder: Path, source: str, identity: str) -> Path:
    """The file for the source called `source`, over the database that `AnyDatabase.identity` tells of."""
    told = hashlib.blake2b(f"{source}\0{identity}".encode(), digest_size=_HASH_BYTES).hexdigest()
    return folder / INDEX_FOLDER / f"{quote(source, safe=' ')[:_READABLE]}-{told}.sqlite"


def delete_former_index(folder: Path, source: str) -> None:
    """Delete the file that version 0.1 kept for `source`: named by the source alone, it may hold rows that another
    session saw. What lies there and is no such index stays."""
    path = folder / INDEX_FOLDER / f"{quote(source, safe=' ')}.sqlite"
    if not path.is_symlink() and path.is_file() and _is_former(path):
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _is_former(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as index:
            (layout,) = index.execute("PRAGMA user_version").fetchone()
            (made_by,) = index.execute("PRAGMA application_id").fetchone()
            tables = {name for (name,) in index.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return False
    own = {name for name in tables if not name.startswith("row_stems_")}
    return layout == _FORMER_LAYOUT and made_by == 0 and own == _FORMER_TABLES
