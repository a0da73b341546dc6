"""Evidence by reference: records go to a store once, the state holds their keys."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem

from groundgraph.core.errors import EvidenceMissing, StorageDamaged
from groundgraph.core.evidence import EvidenceRecord, SourceResult, evidence_key, from_record, to_record
from groundgraph.core.latest import Latest
from groundgraph.core.turn_values import Ref

# Values from the rows of a store, of which one that is damaged must not keep others from being read.

UNREADABLE: dict[str, Any] = {}
"""In place of a value that is no mapping: it holds nothing that a reader looks for."""


def readable_value(content: Any) -> dict[str, Any]:
    """The mapping that a row holds as JSON; `UNREADABLE` when it is none."""
    try:
        value = json.loads(content)
    except (TypeError, ValueError, RecursionError):
        return dict(UNREADABLE)
    return value if isinstance(value, dict) else dict(UNREADABLE)


def lacks(value: Any, parts: Iterable[tuple[str, type | tuple[type, ...]]]) -> str:
    """The name of the first of `parts` that a stored value has not, or not of its type; empty when it has all."""
    held = value if isinstance(value, Mapping) else {}
    return next((name for name, kind in parts if not isinstance(held.get(name), kind)), "")


# Batches that a turn which is cut off does not break off in the middle.

T = TypeVar("T")


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which goes on to its end when the caller is cancelled, however often; then the caller is.

    Raises:
        CancelledError: the caller was cancelled; whatever `work` raised is lost.
    """
    task = asyncio.ensure_future(work)
    cut: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cut = error
    if cut is None:
        return task.result()
    if not task.cancelled():
        # Taken note of, so that asyncio does not report it.
        task.exception()
    raise cut


async def run_batch(store: BaseStore, operations: Iterable[Op]) -> list[Result]:
    """The results of a batch of `store`.

    LangGraph's own SQLite store, and one that is derived from it, stays inside the transaction of a batch that is
    broken off, and nobody can begin another.

    Raises:
        StorageDamaged: a row that it reads is damaged, in a store that fails at such a row.
    """
    batch = store.abatch(operations)
    # By name: whoever keeps nothing in SQLite does not load it.
    of_sqlite = any(one.__name__ == "AsyncSqliteStore" for one in type(store).__mro__)
    with _rows_read():
        return await (unbroken(batch) if of_sqlite else batch)


async def stored_item(store: BaseStore, space: tuple[str, ...], key: str) -> Item | None:
    """What `store` holds in `space` under `key`; `run_batch` tells the error."""
    with _rows_read(space):
        return await store.aget(space, key)


async def stored_items(store: BaseStore, space: tuple[str, ...], **wanted: Any) -> list[SearchItem]:
    """What `store` finds in `space`, where `wanted` are the options of its search; `run_batch` tells the error."""
    with _rows_read(space):
        return await store.asearch(space, **wanted)


@contextmanager
def _rows_read(space: tuple[str, ...] = ()) -> Iterator[None]:
    """Tells that a row is damaged whose value or date a store that was passed in cannot read."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not (isinstance(error, json.JSONDecodeError | UnicodeDecodeError) or "isoformat" in str(error)):
            raise
        below = f" below '{'.'.join(space)}'" if space else ""
        raise StorageDamaged(
            f"A row of the store{below} cannot be read: it is damaged ({error}). It is in the store that this graph "
            "was given: take the row out of its database; what refers to it has to be asked again.",
            row=f"a row of the store{below}",
        ) from error


NAMESPACE = ("groundgraph", "evidence")

# A record that a turn saves was written to the store within so many seconds, by whatever process: what is older, and
# what nothing refers to, no turn is about to refer to.
WRITTEN_AGAIN_AFTER = 3600.0

# What everything that is made of a record takes from it.
_RECORD = (("content", str), ("metadata", dict), ("source_id", str), ("source_name", str), ("source_type", str))

# SQLite takes no more than 32766 parameters in a statement.
_BATCH = 1000


class EvidenceStore:
    """Writes and reads evidence records, with the latest ones held in memory.

    Args:
        own: the store to use in runs that bring none.
        capacity: how many records are held in memory.
    """

    def __init__(self, own: BaseStore | None = None, *, capacity: int = 4096) -> None:
        self.own = own
        self._capacity = capacity
        self._recent: Latest[str, EvidenceRecord] = Latest(capacity)
        self._named: Latest[tuple[str, str, str], tuple[str, EvidenceRecord]] = Latest(capacity)
        self._written: WeakKeyDictionary[BaseStore, Latest[str, float]] = WeakKeyDictionary()
        self._watching: list[set[str]] = []

    def store_of(self, running: BaseStore | None) -> BaseStore | None:
        """The store of the run when it has one, else the graph's own.

        A child's own store is ignored by LangGraph inside a parent without one, hence the second.
        """
        return running if running is not None else self.own

    def named(self, results: Sequence[SourceResult], scope: str = "") -> list[tuple[str, EvidenceRecord]]:
        """The key and the record of each of `results` in `scope`, not made again while a source gives the same text."""
        identities = [(scope, result.source_name, result.source_id) for result in results]
        known = self._named.get_all(identities)
        named: list[tuple[str, EvidenceRecord]] = []
        for identity, result in zip(identities, results, strict=True):
            one = known.get(identity)
            if one is None or not _same(one[1], result):
                record = to_record(result, scope)
                one = evidence_key(record), record
                self._named.put(identity, one)
            named.append(one)
        return named

    async def save(self, running: BaseStore | None, records: Mapping[str, EvidenceRecord]) -> dict[str, EvidenceRecord]:
        """Write what the store does not hold yet, or was not told of for a while, in one batch.

        Returns:
            What must stay in the state because there is no store: all of `records`, or nothing.
        """
        for seen in self._watching:
            seen.update(records)
        store = self.store_of(running)
        if store is None:
            self._recent.add(records)
            return dict(records)
        written = self._written.setdefault(store, Latest(self._capacity))
        now, before = time.time(), written.get_all(records)
        # A clock that was set back makes a time in the future.
        new = [key for key in records if not 0 <= now - before.get(key, 0.0) <= WRITTEN_AGAIN_AFTER]
        if new:
            await run_batch(store, [PutOp(NAMESPACE, key, dict(records[key]), index=False) for key in new])
        for key in new:
            written.put(key, now)
        # What was written before is held since then, or is read from the store once more.
        self._recent.add({key: records[key] for key in new})
        return {}

    async def load(
        self,
        running: BaseStore | None,
        keys: Sequence[str],
        in_state: Mapping[str, EvidenceRecord] | None = None,
        *,
        scope: str | None = "",
    ) -> dict[str, EvidenceRecord]:
        """The records called `keys`.

        Args:
            running: the store of the run, if it has one.
            keys: of references, which anybody may have put into a state.
            in_state: what the state itself holds.
            scope: that of the run; None for a caller who may read whatever a record refers to.

        Raises:
            EvidenceMissing: neither memory, state nor store holds one of them for this scope; an answer without its
                evidence would look like any other.
        """
        records = self._remembered(keys, scope)
        if len(records) == len(keys):
            return records
        if in_state:
            # Whoever brings a text in a state has read it.
            records.update({key: in_state[key] for key in keys if key not in records and key in in_state})
        if missing := [key for key in dict.fromkeys(keys) if key not in records]:
            records.update(await self._fetch(self.store_of(running), missing, scope))
        return records

    def _remembered(self, keys: Sequence[str], scope: str | None) -> dict[str, EvidenceRecord]:
        """Those of the records that memory holds for the scope."""
        recent = self._recent.get_all(keys)
        if scope is None:
            return recent
        return {key: record for key, record in recent.items() if record.get("scope", "") == scope}

    async def results(
        self,
        running: BaseStore | None,
        refs: Sequence[Ref],
        in_state: Mapping[str, EvidenceRecord] | None = None,
        *,
        scope: str | None = "",
    ) -> list[SourceResult]:
        """The results that `refs` stand for, in their order; the arguments are those of `load`.

        Raises:
            EvidenceMissing: see `load`.
        """
        records = await self.load(running, [ref[0] for ref in refs], in_state, scope=scope)
        return [from_record(records[ref[0]], ref[1], ref[2]) for ref in refs]

    @contextmanager
    def watched(self) -> Iterator[set[str]]:
        """The keys of what is saved while the block runs: some turn refers to it, whatever the checkpoints say yet."""
        seen = set[str]()
        self._watching.append(seen)
        try:
            yield seen
        finally:
            self._watching = [one for one in self._watching if one is not seen]

    async def remove(self, running: BaseStore | None, keys: Iterable[str]) -> int:
        """Remove the records called `keys`, and count those that the store held.

        What is saved meanwhile stays. Another process that wrote one of them does not write it again as long as it
        remembers that it did.
        """
        wanted = dict.fromkeys(keys)
        store = self.store_of(running)
        # Of what is named anew, the key is the same.
        self._named.clear()
        for key in wanted:
            self._recent.drop(key)
            for written in self._written.values():
                written.drop(key)
        if store is None or not wanted:
            return 0
        names, removed = list(wanted), 0
        with self.watched() as again:
            for start in range(0, len(names), _BATCH):
                removed += await _remove_from(store, names[start : start + _BATCH], again)
        return removed

    async def _fetch(
        self, store: BaseStore | None, keys: Sequence[str], scope: str | None
    ) -> dict[str, EvidenceRecord]:
        operations: list[Op] = [GetOp(NAMESPACE, key) for key in keys]
        items = await run_batch(store, operations) if store is not None else [None] * len(keys)
        fetched: dict[str, EvidenceRecord] = {}
        for key, item in zip(keys, items, strict=True):
            # Whether it is there for another scope is nobody's business.
            if not isinstance(item, Item) or not _readable(item.value, scope):
                raise EvidenceMissing(
                    f"The evidence {key} of this turn is in no store any more, or was found in another scope. Run the "
                    "graph with the store and the scope that the turn began with, or ask the question again."
                )
            if missing := lacks(item.value, _RECORD):
                raise StorageDamaged(
                    f"The evidence {key} of this turn cannot be read: its '{missing}' is missing in the store, or "
                    "damaged. Remove the conversation with groundgraph forget THREAD, and ask again.",
                    row=f"the evidence {key} in the store",
                )
            fetched[key] = item.value  # type: ignore[assignment]
            self._recent.put(key, fetched[key])
        return fetched


async def _remove_from(store: BaseStore, keys: Sequence[str], kept: set[str]) -> int:
    """Remove those of `keys` that the store holds and that are not `kept` by the time they were found."""
    items = await run_batch(store, [GetOp(NAMESPACE, key) for key in keys])
    held = [item.key for item in items if isinstance(item, Item) and item.key not in kept]
    removals: list[Op] = [PutOp(NAMESPACE, key, None) for key in held]
    if removals:
        await run_batch(store, removals)
    return len(held)


def _readable(record: Mapping[str, Any], scope: str | None) -> bool:
    """Whether a run in `scope` may read `record`; what was stored without a scope serves only runs without one."""
    return scope is None or record.get("scope", "") == scope


def _same(record: EvidenceRecord, result: SourceResult) -> bool:
    """Whether `result` still says what `record` holds; the result itself may have been changed in place."""
    return (
        record["content"] == result.content
        and record["source_type"] == result.source_type
        and record["metadata"] == result.metadata
    )
