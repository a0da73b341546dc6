"""Reading every row of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

# Rows of one statement.
PIECE = 2_000
# Beyond this many rows reading them all into an index here is no good idea any more.
MOST_ROWS_HERE = 1_000_000
Fetch = Callable[[Any], Sequence[Any]]


def by_key(statement: Any, key: Any, fetch: Fetch, size: int = PIECE) -> Iterator[tuple[Any, ...]]:
    """The rows of `statement`, in pieces that begin behind the last key of the one before.

    Between the pieces no lock is held: whoever writes to the database must not wait for an index.

    Args:
        statement: selects `key` first.
        key: the column, or the expression, that tells rows apart and can be compared.
        fetch: gives the rows of a statement.
        size: of a piece.
    """
    piece = statement.order_by(key).limit(size)
    after = None
    while True:
        rows = fetch(piece if after is None else piece.where(key > after))
        yield from map(tuple, rows)
        if len(rows) < size:
            return
        after = rows[-1][0]


def by_number(statement: Any, fetch: Fetch, size: int = PIECE) -> Iterator[tuple[Any, ...]]:
    """The rows of `statement`, which has an order, in pieces that begin at a number. What is written meanwhile may
    make a row come twice, or not at all."""
    for number in count():
        rows = fetch(statement.limit(size).offset(number * size))
        yield from map(tuple, rows)
        if len(rows) < size:
            return


def once_each(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """`rows` without those whose key, the first value, came before."""
    seen: set[Any] = set()
    for row in rows:
        if row[0] not in seen:
            seen.add(row[0])
            yield tuple(row)
