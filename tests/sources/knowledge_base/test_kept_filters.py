"""Filters on the fields of a base, one after the other: each document is read once for all tenants (R13)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filled_base import fill, of_parts
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.document import Document, Part
from groundgraph.sources.knowledge_base import allowed_chunks
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks, KeptFilters
from groundgraph.sources.knowledge_base.schema import Revision, open_for_reading

pytestmark = pytest.mark.covers("R13")

TENANTS = 40
STATE = Revision("base", 1)
VALUES = [0, 1, True, 1.0, "1", "a", ["a", "b"], None]
Judged = Callable[[dict[str, Any]], AllowedChunks]


def table(name: str, *records: dict[str, Any], **metadata: Any) -> Document:
    parts = tuple(Part(n * 10, n * 10 + 10, record) for n, record in enumerate(records))
    return Document(name, "apple pie\n" * len(records), metadata=metadata, parts=parts)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "kb.sqlite"
    documents = [Document(f"{n}.md", "apple pie", metadata={"tenant": f"t{n % TENANTS}"}) for n in range(3 * TENANTS)]
    odd = [table(f"odd{n}", {"place": value}, {"place": n}, {}, place="all") for n, value in enumerate(VALUES)]
    plain = [table(f"plain{n}", {}, place=value) for n, value in enumerate(VALUES)]
    assert asyncio.run(fill(path, documents)) == {}
    assert asyncio.run(fill(path, [*odd, *plain], chunker=of_parts)) == {}
    return path


@pytest.fixture
def kept(base: Path) -> Iterator[tuple[Judged, list[str]]]:
    """What filters keep, and the statements that it took."""
    statements: list[str] = []
    with closing(open_for_reading(base)) as connection:
        connection.set_trace_callback(statements.append)
        filters = KeptFilters()
        yield lambda one: filters.at(connection, STATE, one), statements


def test_documents_are_read_once_for_however_many_tenants(kept: tuple[Judged, list[str]]) -> None:
    judged, statements = kept
    for _ in range(2):
        for n in range(TENANTS):
            assert judged({"tenant": f"t{n}"}).texts == 3
    assert len([one for one in statements if "FROM documents" in one]) == 1


@given(
    st.dictionaries(
        st.sampled_from(["place", "tenant", "kind"]),
        st.sampled_from(
            [*(one for one in VALUES if one is not None), {"not": "a"}, {"contains": "a"}, "t1", "documents"]
        ),
        min_size=1,
    )
)
@pytest.mark.guard
def test_a_filter_keeps_the_same_whether_documents_are_judged_together_or_one_by_one(
    base: Path, filters: dict[str, Any]
) -> None:
    with closing(open_for_reading(base)) as connection, pytest.MonkeyPatch.context() as patch:
        together = KeptFilters().at(connection, STATE, filters)
        patch.setattr(allowed_chunks, "_MOST_ALIKE", 0)
        assert KeptFilters().at(connection, STATE, filters) == together
