"""The public sets: passages, and a sample of the questions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from golden.vectors import FixedVectors
from golden.workshop import Workshop


@dataclass(frozen=True)
class PublicSet:
    """One set in memory.

    Attributes:
        name: of its folder.
        passages: their texts (title, space, text) by id.
        questions: theirs by id, a sample.
        vectors: knows both, where vectors are stored.
    """

    name: str
    passages: Mapping[str, str]
    questions: Mapping[str, str]
    vectors: FixedVectors


# The questions where they are not in queries.jsonl, and passages where they are not in corpus.jsonl.
_QUERIES = {"mtrag_pool": "queries_rewrite"}
_CORPORA = {"xquad_en": "corpus_sentences", "wtq": "corpus_tables"}


def public_set(workshop: Workshop, name: str) -> PublicSet:
    """The set in the folder `name`.

    Raises:
        CannotRun: it is not here.
    """
    folder = workshop.data(name)
    corpus, queries = _CORPORA.get(name, "corpus"), _QUERIES.get(name, "queries")
    passages = {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in _rows(folder / corpus)}
    asked = {row["_id"]: row["text"] for row in _rows(folder / queries)}
    stored: dict[str, Any] = {}
    for kind, texts in ((corpus, passages), (queries, asked)):
        file = folder.parent / "vectors" / f"{name}.{kind}.npy"
        if file.is_file():
            stored |= zip(texts.values(), np.load(file, allow_pickle=False), strict=True)
    kept = {key: text for key, text in passages.items() if text}
    return PublicSet(name, kept, _sample(asked, workshop.places.questions), FixedVectors(stored))


def _rows(file: Path) -> Iterable[dict[str, Any]]:
    with file.with_suffix(".jsonl").open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def _sample(asked: Mapping[str, str], at_most: int) -> dict[str, str]:
    """Questions at even distances, at most so many."""
    stride = max(1, -(-len(asked) // at_most))
    return dict(list(asked.items())[::stride])
