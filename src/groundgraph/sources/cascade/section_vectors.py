"""The vectors of all sections, each computed once."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import EmbeddingFailed
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.cascade.knowledge import Knowledge

# Vectors of texts in a SQLite file, by model and hash of the text, so that none is computed twice.

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


# Seconds that one question spends on vectors which nobody has computed yet; the next one goes on.
PATIENCE = 5.0


class SectionVectors:
    """The vectors of the sections of one source.

    Args:
        embedder: makes them.
        path: of the file that keeps them.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._cache = VectorCache(path, embedder.name)
        self._known: dict[bytes, Any] = {}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._last: tuple[Knowledge, Any] | None = None

    async def rows(self, knowledge: Knowledge, dimension: int, patience: float = PATIENCE) -> Any:
        """The unit vectors of the sections: an array of shape (sections, `dimension`).

        Those of another dimension are computed anew: the model must have changed under its name.

        Raises:
            EmbeddingFailed: vectors are missing, and `patience` seconds were not enough for them, or the model gave
                none; its own exceptions are passed on. What was computed is kept.
        """
        # An instance of this class may be asked from several event loops, and no lock serves two.
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            last = self._last
            if last is None or last[0] is not knowledge or last[1].shape[1] != dimension:
                last = self._last = knowledge, await self._filled(knowledge, dimension, patience)
            return last[1]

    async def _filled(self, knowledge: Knowledge, dimension: int, patience: float) -> Any:
        names, known, missing = await run_blocking(self._missing, knowledge, dimension)
        # From here on only `known` is looked at: another loop may be at another state of the knowledge.
        self._known = known
        await self._embed(missing, known, dimension, patience)
        return await run_blocking(_stacked, names, known, dimension)

    def _missing(self, knowledge: Knowledge, dimension: int) -> tuple[list[bytes], dict[bytes, Any], dict[bytes, str]]:
        """The hash of each section's text, the vectors of `dimension` that are known, and the texts of the others."""
        names = [text_hash(section.embedded_text) for section in knowledge.sections]
        texts = dict(zip(names, (section.embedded_text for section in knowledge.sections), strict=True))
        known = _of_size({name: self._known[name] for name in texts.keys() & self._known.keys()}, dimension)
        known |= _of_size(self._cache.load([name for name in texts if name not in known]), dimension)
        return names, known, {name: text for name, text in texts.items() if name not in known}

    async def _embed(self, missing: dict[bytes, str], known: dict[bytes, Any], dimension: int, patience: float) -> None:
        """Adds the vectors of `missing` to those that are `known`, a batch at a time."""
        started, names, size = time.monotonic(), list(missing), self._embedder.batch_size
        for start in range(0, len(names), size):
            if start and time.monotonic() - started > patience:
                told = f"the vectors of {len(names) - start} sections are not computed yet; the next questions go on"
                raise EmbeddingFailed(told)
            part = names[start : start + size]
            vectors = await self._embedder.embed_texts([missing[name] for name in part])
            if vectors.shape[1] != dimension:
                told = (
                    f"the embedding model gave {vectors.shape[1]} numbers for a section and {dimension} for a question"
                )
                raise EmbeddingFailed(told)
            made = dict(zip(part, vectors, strict=True))
            known |= made
            await run_blocking(self._cache.save, made)


def _of_size(vectors: Mapping[bytes, Any], dimension: int) -> dict[bytes, Any]:
    return {name: vector for name, vector in vectors.items() if len(vector) == dimension}


def _stacked(names: Sequence[bytes], known: dict[bytes, Any], dimension: int) -> Any:
    import numpy as np

    rows = [known[name] for name in names]
    return np.stack(rows) if rows else np.empty((0, dimension), dtype=np.float32)
