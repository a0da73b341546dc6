"""An embedded knowledge base into another store, as it is: nothing is loaded, cut or embedded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from groundgraph.core.knowledge_store import LOST, KnowledgeStore, StoredDocument
from groundgraph.sources.knowledge_base import EmbeddedStore

# Of one batch; what is lost when the process is killed.
_DOCUMENTS, _CHUNKS = 500, 2_000

# Called with the number of documents done and how many there are.
Progress = Callable[[int, int], None]


@dataclass
class Moved:
    """What came of a move.

    Attributes:
        documents: how many the embedded base holds.
        chunks: how many chunks they have.
        written: how many documents were written.
        unchanged: how many were there already.
        failed: by name, why a document could not be written, or is no longer in the store.
    """

    documents: int = 0
    chunks: int = 0
    written: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)


async def move_base(embedded: EmbeddedStore, store: KnowledgeStore, on_progress: Progress | None = None) -> Moved:
    """Write every document of `embedded` into `store`; the embedded base stays as it is.

    A move that was interrupted goes on where it stopped. Documents that only `store` has stay there.

    Raises:
        SourceUnavailable: there is no embedded base, or `store` cannot be reached.
        EmbeddingModelChanged: `store` holds vectors of another model.
        StorageLocked: another process writes to `store`.
    """
    identity = await embedded.identity()
    rows = await embedded.documents()
    lost = await store.open(identity)
    there = await store.stored([row.name for row in rows])
    todo = [row for row in rows if not _same(row, there.get(row.name))]
    moved = Moved(len(rows), sum(row.chunks for row in rows), 0, len(rows) - len(todo))
    for batch in _batches(todo):
        prepared = await embedded.prepared([row.name for row in batch])
        failed = await store.write(prepared)
        moved.failed |= failed
        moved.written += len(prepared) - len(failed)
        if on_progress:
            on_progress(moved.unchanged + moved.written + len(moved.failed), len(rows))
    # What the embedded base has as well is there again.
    moved.failed |= dict.fromkeys(set(lost) - {row.name for row in rows}, LOST)
    await store.tidy()
    return moved


def _same(row: StoredDocument, other: StoredDocument | None) -> bool:
    return other is not None and (row.hash, row.chunks) == (other.hash, other.chunks)


def _batches(rows: Sequence[StoredDocument]) -> Iterator[list[StoredDocument]]:
    batch: list[StoredDocument] = []
    for row in rows:
        if batch and (len(batch) >= _DOCUMENTS or sum(one.chunks for one in batch) + row.chunks > _CHUNKS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
