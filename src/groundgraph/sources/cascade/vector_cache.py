"""Vectors of texts in a SQLite file, by model and hash of the text, so that none is computed twice."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("groundgraph")
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors (model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, "
    "PRIMARY KEY (model, hash)) WITHOUT ROWID"
)
# Bound parameters of one statement.
_AT_ONCE = 500
_LOCK_TIMEOUT = 5.0


def text_hash(text: str) -> bytes:
    """The name of a text in the cache: its BLAKE2b hash, 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorCache:
    """Every method blocks. A file that cannot be used is done without: vectors are then kept in memory alone.

    Args:
        path: the file, which is made when it is not there; any number of sources and processes may share it. It may be
            deleted at any time.
        model: the name of the embedding model.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path = path
        self._model = model

    def load(self, hashes: Sequence[bytes]) -> dict[bytes, Any]:
        """The vectors of `hashes` that are known, each a float32 array."""
        import numpy as np

        found: dict[bytes, Any] = {}
        if not self._path.exists():
            return found
        try:
            with closing(self._connection()) as connection:
                for start in range(0, len(hashes), _AT_ONCE):
                    part = hashes[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(part))
                    rows = connection.execute(
                        f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({marks})",
                        (self._model, *part),
                    )
                    found |= {name: np.frombuffer(vector, dtype="<f4") for name, vector in rows}
        except (sqlite3.Error, OSError, ValueError) as error:
            self._tell(error)
        return found

    def save(self, vectors: Mapping[bytes, Any]) -> None:
        """Keep `vectors` by the hashes of their texts."""
        rows = [(self._model, name, vector.astype("<f4").tobytes()) for name, vector in vectors.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connection()) as connection, connection:
                connection.execute(_TABLE)
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            self._tell(error)

    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT)

    def _tell(self, error: Exception) -> None:
        _LOG.warning("Vectors are not kept in '%s' and will be computed again: %s", self._path, error)
