"""Looking whether a base finds by vectors what it holds, each text as near as its own vector is."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from killed_writers import vector_of

from groundgraph.sources.knowledge_base.searcher import Searcher
from groundgraph.sources.knowledge_base.vectors import Vectors

QUERY = vector_of("query")


def look_by_vectors(searcher: Searcher) -> bool:
    """Check every chunk in one state of the base, and say whether files were mapped for it."""

    def look(connection: sqlite3.Connection, _: object, loaded: Vectors) -> bool:
        texts = connection.execute("SELECT id, text FROM chunks")
        expected = {number: float(vector_of(text) @ QUERY) for number, text in texts}
        near = loaded.nearness(QUERY, None)
        assert near.nearest(len(expected) + 1) == pytest.approx(expected, abs=1e-3)
        assert near.of([*expected, 1_000_000_000]) == pytest.approx(expected, abs=1e-3)
        assert near.average == pytest.approx(np.mean(list(expected.values())), abs=1e-3)
        return loaded.saved is not None

    return bool(searcher.read_vectors("m", look))
