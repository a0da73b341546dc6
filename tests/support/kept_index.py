"""The index beside a user's database: where it lies, and whether it holds what its counts say."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from groundgraph.search.rank import Question
from groundgraph.search.word_index import WordIndex
from groundgraph.sources.sql.index_file import WORDS


def index_files(folder: Path) -> list[Path]:
    """The indexes of the databases in `folder`."""
    return sorted((folder / ".groundgraph" / "index").glob("*.sqlite"))


def words_of(file: Path) -> Path:
    """The folder of the full-text index."""
    return Path(f"{file}-words")


def check_index(file: Path, asked: str) -> list[int]:
    """The keys of the rows that hold the stem `asked` by the full-text index, once every count was found true."""
    with closing(sqlite3.connect(file)) as index:
        held = {key: f"{content} {other}".split() for key, content, other in
                index.execute("SELECT key, content, other FROM rows")}  # fmt: skip
        assert len(held) == index.execute("SELECT count(*) FROM rows").fetchone()[0]
        counts = Counter(stem for row in held.values() for stem in set(row))
        assert dict(index.execute("SELECT term, df FROM terms")) == counts
        sizes = index.execute("SELECT sum(rows), sum(stems) FROM tables").fetchone()
        assert sizes == (len(held), sum(map(len, held.values())))
        words = WordIndex(words_of(file), WORDS).at(index)
        question = Question([asked], {asked: counts[asked]}, len(held), 1.0)
        found = sorted(key for _, key, *_ in words.rows(index, question, limit=len(held) + 1))
        assert found == sorted(key for key, row in held.items() if asked in row)
        return found
