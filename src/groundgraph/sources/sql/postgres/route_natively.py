"""Choosing among tables that PostgreSQL indexes (R14), by the same weights as `route_tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundgraph.core.lexical import bm25, idf
from groundgraph.core.text import stems
from groundgraph.sources.sql.route_tables import HEADER_WEIGHT
from groundgraph.sources.sql.shape import TableShape

# By table, in how many rows each stem is, how many rows there are, and the stems of its name and columns.
Known = Mapping[str, tuple[Mapping[str, int], int, Sequence[str]]]


def header_stems(shape: TableShape) -> list[str]:
    """The stems of the names of a table and of its columns."""
    return stems(" ".join([shape.name, *(column.name for column in shape.columns)]).replace("_", " "))


def route_natively(tables: Known) -> list[str]:
    """The tables with a word of the question, the best first."""
    average = sum(rows for _, rows, _ in tables.values()) / len(tables) if tables else 0.0
    asked = {stem for found, _, _ in tables.values() for stem in found}
    held = {
        name: {stem: found.get(stem, 0) + HEADER_WEIGHT * header.count(stem) for stem in asked}
        for name, (found, _, header) in tables.items()
    }
    scores = {}
    for name, (_, rows, _) in tables.items():
        scores[name] = sum(
            idf(len(tables), sum(bool(other[stem]) for other in held.values())) * bm25(int(count), rows, average)
            for stem, count in held[name].items()
            if count
        )
    return sorted((name for name in tables if scores[name]), key=lambda name: -scores[name])
