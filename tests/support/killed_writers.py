"""Two processes at a time that replace documents of a base, and are killed while they do; prints how many kills.

Started by the tests of the indexes beside a base: `python killed_writers.py BASE KILLS SEED`. The writers are forked,
so that the package is imported once.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from interruptible import killed

from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import StorageLocked
from groundgraph.core.knowledge_store import PreparedChunk, PreparedDocument
from groundgraph.sources.knowledge_base import KnowledgeBaseWriter, saved_vectors, vectors
from groundgraph.sources.knowledge_base.document_rows import DocumentRows, document_rows

DOCUMENTS, SIZE = 12, 8


def few_are(most: int, set_: Callable[[object, str, object], None] = setattr) -> None:
    """Have a base of more than so many vectors be a large one."""
    for module in (saved_vectors, vectors):
        set_(module, "FEW", most)


def vector_of(text: str) -> Any:
    """A unit vector that every text has for its own."""
    made = np.random.default_rng(zlib.crc32(text.encode())).normal(size=SIZE).astype(np.float32)
    return made / np.linalg.norm(made)


def version(name: int, number: int) -> DocumentRows:
    """Document `name`, which is found by a word of its own and by one that all share."""
    document = Document(f"d{name}", f"name{name} common version{number}")
    chunk = Chunk(document, 0, 0, len(document.text), (), document.text)
    prepared = PreparedChunk(chunk, (document.text,), "", vector_of(document.text)[None])
    return document_rows(PreparedDocument(document, [prepared], f"hash {number}"))


def write_on(path: Path, chance: random.Random) -> None:
    """Replace some of the documents again and again."""
    writer = KnowledgeBaseWriter(path)
    for _ in itertools.count():
        number = time.time_ns()
        try:
            writer.write([version(name, number) for name in chance.sample(range(DOCUMENTS), 3)])
            if chance.random() < 0.5:
                writer.tidy()
        except StorageLocked:
            continue


def main(path: Path, kills: int, seed: int) -> None:
    """Kill so often."""
    few_are(DOCUMENTS // 2)
    print(killed(lambda number: write_on(path, random.Random(seed * 1000 + number)), kills, random.Random(seed)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
