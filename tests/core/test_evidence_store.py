"""Evidence by reference: bodies are written once and never silently missing (T3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from groundgraph.core.errors import EvidenceMissing
from groundgraph.core.evidence import SourceResult, evidence_key, to_record
from groundgraph.core.evidence_store import NAMESPACE, WRITTEN_AGAIN_AFTER, EvidenceStore

pytestmark = pytest.mark.covers("T3")


class CountingStore(InMemoryStore):
    """An in-memory store that remembers its batches."""

    def __init__(self):
        super().__init__()
        self.batches = []

    async def abatch(self, ops):
        self.batches.append(list(ops))
        return await super().abatch(self.batches[-1])

    def operations(self, kind) -> list[str]:
        return [op.key for batch in self.batches for op in batch if isinstance(op, kind)]


def records(*contents: str):
    found = [to_record(SourceResult(content, "id", "docs", "memory")) for content in contents]
    return {evidence_key(record): record for record in found}


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=8))
async def test_each_record_is_written_once_in_at_most_one_batch_per_save(saves):
    store, evidence = CountingStore(), EvidenceStore()
    for contents in saves:
        before = len(store.batches)
        assert await evidence.save(store, records(*contents)) == {}
        assert len(store.batches) - before <= 1
    written = store.operations(PutOp)
    assert len(written) == len(set(written))
    assert set(written) == set(records(*(content for contents in saves for content in contents)))


async def test_another_process_reads_from_the_store_in_one_batch_and_remembers():
    store, given_records = CountingStore(), records("a", "b")
    await EvidenceStore().save(store, given_records)
    store.batches.clear()
    fresh = EvidenceStore()
    for _ in range(2):
        assert await fresh.load(store, list(given_records) * 2) == given_records
    assert len(store.batches) == 1
    assert store.operations(GetOp) == list(given_records)


@pytest.mark.covers("K12")
async def test_a_record_in_use_is_written_again_after_a_while_so_that_its_age_tells_whether_it_is(monkeypatch):
    store, evidence, given_records = CountingStore(), EvidenceStore(), records("a", "b")
    a, b = given_records
    now = 1_000_000.0
    monkeypatch.setattr("groundgraph.core.evidence_store.time.time", lambda: now)
    await evidence.save(store, {a: given_records[a]})
    now += WRITTEN_AGAIN_AFTER
    await evidence.save(store, given_records)
    assert store.operations(PutOp) == [a, b]
    now += 1
    await evidence.save(store, given_records)
    assert store.operations(PutOp) == [a, b, a]
    now -= 7 * WRITTEN_AGAIN_AFTER
    await evidence.save(store, given_records)
    assert store.operations(PutOp) == [a, b, a, a, b], "the clock was set back"


@pytest.mark.covers("K12")
async def test_more_records_than_a_statement_takes_are_removed_in_several(monkeypatch):
    monkeypatch.setattr("groundgraph.core.evidence_store._BATCH", 2)
    store, evidence, given_records = CountingStore(), EvidenceStore(), records(*"abcde")
    await evidence.save(store, given_records)
    store.batches.clear()
    assert await evidence.remove(store, [*given_records, "unknown"]) == 5
    assert max(len(batch) for batch in store.batches) == 2
    with pytest.raises(EvidenceMissing):
        await evidence.load(store, list(given_records))


async def test_only_the_latest_records_are_held():
    store, evidence, given_records = CountingStore(), EvidenceStore(capacity=2), records("a", "b", "c")
    a, b, c = given_records
    await evidence.save(store, {a: given_records[a], b: given_records[b]})
    # Every turn reads what it saves.
    await evidence.load(store, [a])
    await evidence.save(store, {c: given_records[c]})
    await evidence.load(store, [a, c])
    assert store.operations(GetOp) == []
    assert await evidence.load(store, [b]) == {b: given_records[b]}
    assert store.operations(GetOp) == [b]


@given(st.lists(st.sampled_from("abcdefgh"), max_size=30), st.integers(1, 4))
async def test_whatever_is_held_every_record_can_be_read(contents, capacity):
    store, evidence = InMemoryStore(), EvidenceStore(capacity=capacity)
    for content in contents:
        await evidence.save(store, records(content))
        assert await evidence.load(store, list(records(content))) == records(content)
    everything = records(*contents)
    assert await evidence.load(store, list(everything)) == everything


async def test_a_missing_body_is_a_typed_error_never_an_answer_without_evidence():
    evidence = EvidenceStore()
    for store in (None, InMemoryStore()):
        with pytest.raises(EvidenceMissing, match="gone"):
            await evidence.load(store, ["gone"])
        with pytest.raises(EvidenceMissing):
            await evidence.results(store, [["gone", 1.0, 1.0]])


async def test_without_a_store_the_bodies_stay_in_the_state():
    given_records = records("a", "b")
    kept = await EvidenceStore().save(None, given_records)
    assert kept == given_records
    assert await EvidenceStore().load(None, list(given_records), kept) == given_records


async def test_the_runs_store_wins_over_the_graphs_own():
    own, running = CountingStore(), CountingStore()
    evidence = EvidenceStore(own)
    assert evidence.store_of(running) is running
    assert evidence.store_of(None) is own
    await evidence.save(None, records("a"))
    await evidence.save(running, records("a"))
    assert len(own.operations(PutOp)) == len(running.operations(PutOp)) == 1
    assert (await running.aget(NAMESPACE, next(iter(records("a"))))).value == records("a").popitem()[1]


async def test_a_failed_write_is_tried_again_by_the_next_save():
    class Failing(CountingStore):
        fails = True

        async def abatch(self, ops):
            if self.fails:
                raise ConnectionError
            return await super().abatch(ops)

    store, evidence = Failing(), EvidenceStore()
    with pytest.raises(ConnectionError):
        await evidence.save(store, records("a"))
    store.fails = False
    await evidence.save(store, records("a"))
    assert len(store.operations(PutOp)) == 1


async def test_references_become_results_in_their_order_with_their_numbers():
    store, evidence, given_records = InMemoryStore(), EvidenceStore(), records("a", "b")
    a, b = given_records
    await evidence.save(store, given_records)
    results = await evidence.results(store, [[b, 0.5, 7.0], [a, 0.25, None], [b, 0.1, 1.0]])
    assert [(one.content, one.relevance, one.score) for one in results] == [
        ("b", 0.5, 7.0),
        ("a", 0.25, None),
        ("b", 0.1, 1.0),
    ]


@pytest.mark.covers("F19", "fault 94")
@pytest.mark.parametrize("held", [True, False])
async def test_evidence_is_read_in_its_own_scope_only(held):
    store, evidence = InMemoryStore(), EvidenceStore()
    result = SourceResult("a", "id", "docs", "memory")
    named = dict(evidence.named([result], scope)[0] for scope in ("", "acme", "globex"))
    assert len(named) == 3, "each scope has a reference of its own"
    await evidence.save(store, named)
    reader = evidence if held else EvidenceStore()
    for key, record in named.items():
        own = record.get("scope", "")
        assert await reader.load(store, [key], scope=own) == {key: record}
        assert await reader.load(store, [key], scope=None) == {key: record}
        for other in {"", "acme", "globex"} - {own}:
            with pytest.raises(EvidenceMissing, match="another scope"):
                await reader.load(store, [key], scope=other)
            # Whoever has the text in a state has read it.
            assert await reader.load(store, [key], {key: record}, scope=other) == {key: record}
    assert await evidence.remove(store, named) == 3
