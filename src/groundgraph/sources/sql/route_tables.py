"""Choosing the tables of a question by their names, headers and cells (R14)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from groundgraph.core.lexical import bm25, idf
from groundgraph.search.question import Question

HEADER_WEIGHT = 4

T = TypeVar("T")


@dataclass(frozen=True)
class TableWords:
    """The words of one table.

    Attributes:
        df: in how many rows each stem of the question is.
        header: the stems of its name and columns.
        length: how much there is of it: its stems or its rows, the same for all tables.
    """

    df: Mapping[str, int]
    header: Sequence[str]
    length: int


def route_tables(tables: Mapping[T, TableWords], asked: Iterable[str]) -> list[T]:
    """The tables with one of the stems `asked`, those that fit them best first."""
    average = sum(one.length for one in tables.values()) / len(tables) if tables else 0.0
    scores = dict.fromkeys(tables, 0.0)
    for stem in asked:
        counts = {name: one.df.get(stem, 0) + HEADER_WEIGHT * one.header.count(stem) for name, one in tables.items()}
        weight = idf(len(tables), sum(map(bool, counts.values())))
        for name, count in counts.items():
            if count:
                scores[name] += weight * bm25(count, tables[name].length, average)
    return sorted((name for name in tables if scores[name]), key=lambda name: -scores[name])


def routed_slots(index: sqlite3.Connection, question: Question) -> list[int]:
    """The slots of the tables that fit `question`, the best first; see `route_tables`."""
    df: dict[int, dict[str, int]] = {}
    cells = index.execute(
        "SELECT slot, term, df FROM terms WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(list(question.stems)),),
    )
    for slot, term, count in cells:
        df.setdefault(slot, {})[term] = count
    tables = index.execute("SELECT slot, header, stems FROM tables ORDER BY slot")
    known = {slot: TableWords(df.get(slot, {}), header.split(), length) for slot, header, length in tables}
    return route_tables(known, question.stems)
