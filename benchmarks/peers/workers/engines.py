"""Search engines alone: tantivy, bm25s and SQLite's FTS5 by words, faiss and numpy by vectors."""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.workers import made_up
from benchmarks.peers.workers.worker import serve

_WORD = re.compile(r"\w+")
_DIMENSION = 384


def tantivy_words(size: int) -> Callable[[int], Any]:
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("body", stored=True, tokenizer_name="en_stem").build()
    index = tantivy.Index(schema, path=tempfile.mkdtemp())
    writer = index.writer()
    for text in made_up.texts(size):
        writer.add_document(tantivy.Document(body=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def turn(number: int) -> Any:
        asked = " ".join(_WORD.findall(made_up.asked(number, made_up.topics_of(size))))
        found = searcher.search(index.parse_query(asked, ["body"]), 10).hits
        return [searcher.doc(address)["body"] for _, address in found]

    return turn


def bm25s_words(size: int) -> Callable[[int], Any]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    kept = made_up.texts(size)
    index = bm25s.BM25(corpus=kept)
    index.index(bm25s.tokenize(kept, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def turn(number: int) -> Any:
        asked = made_up.asked(number, made_up.topics_of(size))
        tokens = bm25s.tokenize([asked], stopwords="en", stemmer=stemmer, show_progress=False)
        return index.retrieve(tokens, k=min(10, size), show_progress=False)

    return turn


def fts5_words(size: int) -> Callable[[int], Any]:
    base = sqlite3.connect(tempfile.mkdtemp() + "/fts.sqlite")
    base.execute("create virtual table texts using fts5(body, tokenize='porter')")
    base.executemany("insert into texts values (?)", ([text] for text in made_up.texts(size)))
    base.commit()

    def turn(number: int) -> Any:
        asked = " OR ".join(f'"{word}"' for word in _WORD.findall(made_up.asked(number, made_up.topics_of(size))))
        return base.execute("select body from texts where texts match ? order by rank limit 10", [asked]).fetchall()

    return turn


def _matrix(size: int) -> Any:
    rows = np.random.default_rng(1).normal(size=(size, _DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def faiss_vectors(size: int) -> Callable[[int], Any]:
    import faiss

    faiss.omp_set_num_threads(1)
    rows = _matrix(size)
    index = faiss.IndexFlatIP(_DIMENSION)
    index.add(rows)
    return lambda number: index.search(rows[number % size : number % size + 1], 10)


def numpy_vectors(size: int) -> Callable[[int], Any]:
    rows = _matrix(size)
    return lambda number: np.argpartition(-(rows @ rows[number % size]), 10)[:10]


_KINDS = {
    "tantivy": {"words": tantivy_words},
    "bm25s": {"words": bm25s_words},
    "fts5": {"words": fts5_words},
    "faiss": {"vectors": faiss_vectors},
    "numpy": {"vectors": numpy_vectors},
}
serve(_KINDS[sys.argv[1]])
