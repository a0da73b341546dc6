"""The store in Weaviate, on a real server: the same as the embedded one (K1, K4, K10, K12)."""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import contextmanager
from dataclasses import replace

import pytest
from asking import ask, ask_ids, opened
from filled_base import prepared
from weaviate_bases import objects_of

from groundgraph.core.document import MARKDOWN, Chunk, Document, Heading, Part
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import (
    ConfigurationError,
    EmbeddingModelChanged,
    SchemaChanged,
    SourceError,
    SourceUnavailable,
    StorageLocked,
)
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument, Verified
from groundgraph.sources.weaviate_base import WeaviateBaseSource, WeaviateStore, ledger
from groundgraph.sources.weaviate_base import lock as lock_module
from groundgraph.sources.weaviate_base import verify as verify_module
from groundgraph.sources.weaviate_base import writer as writer_module
from groundgraph.sources.weaviate_base.collections import tenant_name
from groundgraph.sources.weaviate_base.lock import writing
from groundgraph.sources.weaviate_base.objects import chunk_id, document_id
from groundgraph.sources.weaviate_base.searcher import WeaviateSearcher
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.testing import NgramEmbeddings

pytestmark = [pytest.mark.live, pytest.mark.covers("K1")]
SMALL = Embedder(NgramEmbeddings(16), "ngram-16")
LARGE = Embedder(NgramEmbeddings(24), "ngram-24")


async def texts_of(place, question: str, *, embedder=None, **filters) -> list[str]:
    source = opened(WeaviateBaseSource(place, fields={"year": {"type": "integer"}}, embedder=embedder))
    return [result.content for result in await ask(source, question, top_k=50, **filters)]


async def write(store, *documents, embedder=SMALL, **how):
    """What could not be written of `documents`."""
    return await store.write([await prepared(one, embedder=embedder, **how) for one in documents])


@contextmanager
def cut_off(step, error=ConnectionAbortedError):
    """A writer ends with `error` in place of its `step`."""

    async def ends(*_args):
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer_module, step, ends)
        with pytest.raises(error):
            yield


async def test_nothing_is_there_before_the_first_ingest_and_reading_makes_nothing(store, place):
    assert await store.documents() == []
    with pytest.raises(SourceUnavailable, match="groundgraph ingest PATH"):
        await ask(opened(WeaviateBaseSource(place)), "anything")


@pytest.mark.covers("fault 54")
async def test_a_new_version_leaves_no_chunk_of_the_old_one_behind(store, place):
    long = Document("d", "\n\n".join(f"# Part {n}\n\nOld words number{n}." for n in range(12)), MARKDOWN)
    await store.open(BaseIdentity("ngram-16"))
    assert await write(store, long, Document("e", "Kept.")) == {}
    assert len(await objects_of(place, place.chunks(1))) == 13
    assert await write(store, Document("d", "New words.")) == {}
    left = await objects_of(place, place.chunks(1))
    assert sorted(one.properties["text"] for one in left.values()) == ["Kept.", "New words."]
    assert sorted(await texts_of(place, "old words number7", embedder=SMALL)) == ["Kept.", "New words."]
    assert await store.remove(["d"]) == 1
    assert [one.properties["text"] for one in (await objects_of(place, place.chunks(1))).values()] == ["Kept."]


@pytest.mark.covers("fault 54", "R5")
async def test_what_is_replaced_between_being_found_and_being_shown_is_found_as_it_is_now(store, place, monkeypatch):
    await store.open(BaseIdentity("ngram-16"))
    assert await write(store, Document("d", "The old text.")) == {}
    plain, versions = WeaviateSearcher._objects, ["The new text.", "The newest text."]

    async def replaced_before(self, *given):
        if versions:
            assert await write(store, Document("d", versions.pop(0))) == {}
        return await plain(self, *given)

    monkeypatch.setattr(WeaviateSearcher, "_objects", replaced_before)
    assert await texts_of(place, "text", embedder=SMALL) == ["The newest text."]


@pytest.mark.covers("fault 50")
async def test_the_same_document_again_has_the_same_ids(store, place):
    batch = [await prepared(Document(f"d{n}", f"Text number{n}."), embedder=SMALL) for n in range(5)]
    await store.open(BaseIdentity("ngram-16"))
    assert await store.write(batch) == {}
    before = sorted(await objects_of(place, place.chunks(1)))
    assert await store.write(batch) == {}
    assert sorted(await objects_of(place, place.chunks(1))) == before
    assert len(before) == 5


@pytest.mark.covers("fault 53")
async def test_of_a_batch_that_is_refused_in_part_the_exact_names_are_told(store, place):
    await store.open(BaseIdentity("ngram-16", 16))
    assert await write(store, Document("old", "Old text.")) == {}
    half = Document("half", "half of a pair \ud800")
    without = PreparedDocument(half, [PreparedChunk(Chunk(half, 0, 0, 4, (), "half"), ())], "h")
    # One chunk whose second vector is of another size: the server itself refuses it.
    odd = await prepared(Document("old", "New text."), embedder=SMALL, texts=lambda chunk: [chunk.text, "more"])
    [chunk] = odd.chunks
    bad = replace(odd, chunks=[replace(chunk, vectors=[chunk.vectors[0], chunk.vectors[1][:5]])])
    failed = await store.write(
        [await prepared(Document("good", "good words"), embedder=SMALL), without,
         await prepared(Document("odd", "a \ud800"), embedder=SMALL), bad]
    )  # fmt: skip
    assert sorted(failed) == ["half", "odd", "old"]
    assert "no matching text" in failed["half"]
    assert "surrogate" in failed["odd"]
    assert sorted(row.name for row in await store.documents()) == ["good", "old"]
    # The old version stays, in the ledger and in what is found.
    assert (await store.document("old")).text == "Old text."
    assert await texts_of(place, "old text", embedder=SMALL) == ["Old text.", "good words"]
    assert len(await objects_of(place, place.chunks(1))) == 2


@pytest.mark.covers("fault 40")
async def test_a_rebuild_takes_another_model_and_documents_are_found_by_words_meanwhile(store, place):
    await store.open(BaseIdentity("ngram-16"))
    documents = [Document(f"d{n}", f"Text about subject{n}.", metadata={"year": n}) for n in range(30)]
    assert await write(store, *documents) == {}
    with pytest.raises(EmbeddingModelChanged, match="ngram-24"):
        await texts_of(place, "text", embedder=LARGE)
    await store.open(BaseIdentity("ngram-24"), rebuild=True)
    assert {row.hash for row in await store.documents()} == {""}
    assert (await texts_of(place, "subject7"))[0] == "Text about subject7."
    assert await texts_of(place, "text", year={"gte": 28}) == ["Text about subject28.", "Text about subject29."]
    assert await write(store, *documents, embedder=LARGE) == {}
    assert {row.hash for row in await store.documents()} == {"hash"}
    assert (await texts_of(place, "subject7", embedder=LARGE))[0] == "Text about subject7."
    assert len(await objects_of(place, place.chunks(2))) == 30


@pytest.mark.covers("K11")
async def test_a_field_that_is_declared_later_can_filter_what_is_there(store, place):
    batch = [await prepared(Document(f"d{n}", "apple pie", metadata={"colour": c}), embedder=SMALL)
             for n, c in enumerate(("red", "Red", "green"))]  # fmt: skip
    await store.open(BaseIdentity("ngram-16"))
    assert await store.write(batch) == {}
    source = opened(WeaviateBaseSource(place, fields={"colour": {"type": "string"}}, embedder=SMALL))
    with pytest.raises(SchemaChanged, match="'colour' yet; run `groundgraph ingest`"):
        await ask(source, "apple", colour="red")
    later = opened(WeaviateStore(place, fields=["colour"]))
    await later.open(BaseIdentity("ngram-16"))
    assert await ask_ids(source, "apple", colour="red") == ["d0#0"]
    assert (await later.verify()).repaired == 0


async def test_two_writers_take_turns_and_one_that_waits_too_long_says_so(store, place):
    await store.open(BaseIdentity())
    other = opened(WeaviateStore(place))
    batches = [[await prepared(Document(f"{who}{n}", f"Text {n}.")) for n in range(3)] for who in "ab"]
    assert await asyncio.gather(store.write(batches[0]), other.write(batches[1])) == [{}, {}]
    assert len(await store.documents()) == 6
    impatient = opened(WeaviateStore(place, lock_timeout=0.5))
    server = opened(BaseServer(place))
    async with writing(server, 5):
        with pytest.raises(StorageLocked, match="Another process"):
            await impatient.write(batches[0])
    assert await impatient.write(batches[0]) == {}


async def test_the_lock_of_a_writer_that_was_killed_is_taken_over(store, place, monkeypatch):
    monkeypatch.setattr(lock_module, "LEASE", 1.0)
    await store.open(BaseIdentity())
    server = opened(BaseServer(place))
    await server.call(
        lambda client: server.state_of(client).data.insert({"value": "x", "beat": "y"}, uuid=lock_module._ID)
    )
    assert await store.write([await prepared(Document("d", "Text."))]) == {}


async def test_a_writer_whose_lock_was_taken_over_stops_and_leaves_it_to_the_other(store, place, monkeypatch):
    monkeypatch.setattr(lock_module, "LEASE", 1.0)
    await store.open(BaseIdentity())
    mine, other = opened(BaseServer(place)), opened(BaseServer(place))
    held = {"value": "other", "beat": "1"}

    async def taken_over(client):
        await other.state_of(client).data.delete_by_id(lock_module._ID)
        await other.state_of(client).data.insert(held, uuid=lock_module._ID)

    async def write():
        async with writing(mine, 5):
            await other.call(taken_over)
            await asyncio.sleep(60)

    with pytest.raises(StorageLocked, match="took over"):
        await write()
    left = await other.call(lambda client: other.state_of(client).query.fetch_object_by_id(lock_module._ID))
    assert left.properties == held


@pytest.mark.parametrize("tenant", ["", "user"])
async def test_what_a_writer_left_that_was_cut_off_is_removed_by_the_next_write(place, tenant):
    place = replace(place, tenant_from=tenant)
    metadata = {tenant: "Ann"} if tenant else {}
    store = opened(WeaviateStore(place))
    await store.open(BaseIdentity("ngram-16"))
    old = await prepared(Document("old", "Text.", metadata=metadata), embedder=SMALL)
    assert await store.write([old]) == {}
    collection = (place.memory(1), tenant_name("Ann")) if tenant else (place.chunks(1), "")

    with cut_off("_switch"):
        await write(store, Document("new", "Unfinished.", metadata=metadata))
    assert len(await objects_of(place, *collection)) == 2
    assert await write(store, Document("next", "Other.")) == {}
    texts = [one.properties["text"] for one in (await objects_of(place, *collection)).values()]
    assert "Unfinished." not in texts
    assert "Text." in texts


@pytest.mark.covers("X2")
async def test_readers_are_told_of_what_a_writer_did_before_it_was_cut_off(store, place):
    await store.open(BaseIdentity("ngram-16"))
    assert await write(store, Document("d", "Old text.")) == {}
    source = opened(WeaviateBaseSource(place, embedder=SMALL))
    assert [one.id for one in (await source.topic_store().outline()).places] == ["d#0"]
    with cut_off("_remove_others"):
        await write(store, Document("d", "# One\n\nNew text.\n\n# Two\n\nMore text.", MARKDOWN))
    again = opened(WeaviateStore(place))
    await again.open(BaseIdentity("ngram-16"))
    assert [one.id for one in (await source.topic_store().outline()).places] == ["d#0", "d#1"]


async def test_what_a_killed_writer_left_is_removed_when_the_base_is_opened_again(store, place):
    await store.open(BaseIdentity("ngram-16"))
    assert await write(store, Document("d", "Old text.")) == {}
    with cut_off("_switch", KeyboardInterrupt):
        await write(store, Document("d", "New text of three.\n\n# A\n\nNew part.", MARKDOWN))
    assert len(await objects_of(place, place.chunks(1))) == 3
    # The new chunks are there, but the ledger does not name them.
    assert await texts_of(place, "new text part", embedder=SMALL) == ["Old text."]
    again = opened(WeaviateStore(place))
    await again.open(BaseIdentity("ngram-16"))
    assert len(await objects_of(place, place.chunks(1))) == 1


async def test_documents_whose_state_somebody_deleted_are_not_taken_for_those_of_a_new_base(store, place):
    await store.open(BaseIdentity("ngram-16"))
    assert await write(store, Document("d", "Text.")) == {}
    server = opened(BaseServer(place))
    await server.call(lambda client: client.collections.delete(place.state))
    for rebuild in (False, True):
        with pytest.raises(ConfigurationError, match=f"'{place.state}' at .* is gone"):
            await opened(WeaviateStore(place)).open(BaseIdentity("ngram-32"), rebuild=rebuild)
    # Nor is there nothing to search yet, which an ingest would mend.
    with pytest.raises(ConfigurationError, match=f"'{place.state}' at .* is gone"):
        await texts_of(place, "text", embedder=SMALL)
    assert len(await objects_of(place, place.chunks(1))) == 1
    for name in (place.state, place.documents, place.chunks(1)):
        await server.call(lambda client, name=name: client.collections.delete(name))
    await opened(WeaviateStore(place)).open(BaseIdentity("ngram-32"))


async def test_verify_finds_chunks_that_belong_to_nothing_and_documents_that_lack_some(store, place):
    from weaviate.classes.data import DataObject

    batch = [await prepared(Document(f"d{n}", f"Text number{n}."), embedder=SMALL) for n in range(6)]
    await store.open(BaseIdentity("ngram-16"))
    assert await store.write(batch) == {}
    ids = sorted(await objects_of(place, place.chunks(1)))
    server = opened(BaseServer(place))
    stray = {"document_id": str(uuid.uuid4()), "version": str(uuid.uuid4()), "position": 0, "text": "stray"}
    await server.call(lambda c: server.chunks(c, 1).data.delete_by_id(ids[0]))
    await server.call(lambda c: server.chunks(c, 1).data.insert_many([DataObject(uuid=uuid.uuid4(), properties=stray)]))
    found = await store.verify()
    assert (found.documents, found.chunks, found.removed, found.repaired) == (6, 5, 1, 0)
    assert len(found.incomplete) == 1
    # It is gone from the ledger, so the next ingest takes it for a new one.
    missing = await store.stored([f"d{n}" for n in range(6)])
    assert set(found.incomplete) == {f"d{n}" for n in range(6)} - set(missing)
    assert await store.write(batch) == {}
    assert sorted(await objects_of(place, place.chunks(1))) == ids
    assert (await store.verify()).incomplete == []


def odd_documents() -> list[Document]:
    """Documents in which something is empty or unusual."""
    page = Part(0, 9, {"page": 1})
    return [
        Document("plain", "Text."),
        Document("empty", "Насос «17» \u00a0 № 5\ttabs\n\nend  ", metadata={"x": None, "y": [], "z": {"a": 1.5}}),
        Document(
            "a/report.pdf", "Page one.Page two.", MARKDOWN, {"title": "Report", "year": 2026}, 2, kind="web_pages",
            parts=(page, Part(9, 18, {"page": 2})), headings=(Heading(0, 4, 2, "Page"),),
        ),
        Document("long", "# One\n\n" + "word " * 500 + "\n\n## Two\n\n" + "other " * 500, MARKDOWN),
        Document("... ---", "... --- ..."),
    ]  # fmt: skip


@pytest.mark.covers("F16", "fault 97")
@pytest.mark.parametrize("embedder", [None, SMALL])
async def test_verify_finds_nothing_altered_in_what_was_written(store, embedder):
    await store.open(BaseIdentity(embedder.name if embedder else ""))
    batch = [await prepared(one, embedder=embedder) for one in odd_documents()]
    batch.append(await prepared(Document("two texts", "Body."), texts=lambda c: [f"T\n{c.text}", "", "other"],
                                qualifying_text="about", embedder=embedder))  # fmt: skip
    assert await store.write(batch) == {}
    found = await store.verify()
    assert (found.documents, found.taken_out, found.repaired) == (6, [], 0)


@pytest.mark.covers("F16", "fault 97")
@pytest.mark.parametrize(
    "changed", [{"text": "Text number1 is poisoned."}, {"metadata": "{}"}, {"matching_texts": "x"}]
)
async def test_verify_names_and_takes_out_a_document_whose_text_was_overwritten(store, place, changed):
    chunker = {"metadata": lambda d: [Chunk(d, 0, 0, len(d.text), (), d.text, (), {"page": 1})]}.get(
        next(iter(changed))
    )
    batch = [await prepared(Document(f"d{n}", f"Text number{n}."), embedder=SMALL, chunker=chunker) for n in range(3)]
    await store.open(BaseIdentity("ngram-16"))
    assert await store.write(batch) == {}
    server = opened(BaseServer(place))
    state = await server.state()
    rows = await server.call(lambda client: ledger.all_rows(server, client, state))
    await server.call(lambda c: server.chunks(c, 1).data.update(uuid=rows[1].chunk_ids[0], properties=changed))
    found = await store.verify()
    assert (found.altered, found.incomplete, found.taken_out) == (["d1"], [], ["d1"])
    assert sorted(await store.stored(["d0", "d1", "d2"])) == ["d0", "d2"]
    assert await store.write(batch) == {}
    assert (await store.verify()).taken_out == []


@pytest.mark.covers("F16", "fault 97")
@pytest.mark.parametrize("by", ["verify", "open"])
async def test_what_opening_a_base_takes_out_is_told(store, place, by):
    batch = [await prepared(Document(f"d{n}", f"Text number{n}."), embedder=SMALL) for n in range(3)]
    await store.open(BaseIdentity("ngram-16"))
    assert await store.write(batch) == {}
    server = opened(BaseServer(place))
    state = await server.state()
    rows = await server.call(lambda client: ledger.all_rows(server, client, state))
    chunks = server.chunks
    poisoned = {"text": "Text number1 is poisoned."}
    await server.call(lambda c: chunks(c, 1).data.update(uuid=rows[1].chunk_ids[0], properties=poisoned))
    await server.call(lambda c: chunks(c, 1).data.delete_by_id(rows[2].chunk_ids[0]))
    later = opened(WeaviateStore(place))
    if by == "open":
        assert list(await later.open(BaseIdentity("ngram-16"))) == ["d1", "d2"]
        assert set(await later.stored(["d0", "d1", "d2"])) == {"d0"}
    else:
        found = await later.verify()
        assert (found.altered, found.incomplete) == (["d1"], ["d2"])
    assert (await later.verify()).taken_out == []


@pytest.mark.covers("F16", "fault 97")
async def test_verify_names_the_documents_of_a_tenant_that_somebody_removed(place):
    place = replace(place, tenant_from="user")
    store = opened(WeaviateStore(place))
    await store.open(BaseIdentity("ngram-16"))
    batch = [
        await prepared(Document(name, "Text.", metadata={"user": name}), embedder=SMALL) for name in ("Ann", "Bob")
    ]
    assert await store.write(batch) == {}
    server = opened(BaseServer(place))
    await server.call(lambda c: c.collections.use(place.memory(1)).tenants.remove([tenant_name("Ann")]))
    assert (await store.verify()).incomplete == ["Ann"]
    assert sorted(await store.stored(["Ann", "Bob"])) == ["Bob"]


@pytest.mark.covers("F16", "fault 97")
async def test_verify_names_what_each_of_its_looks_took_out(monkeypatch):
    looks = iter(
        [
            Verified(3, repaired=2, incomplete=["a"]),
            Verified(2, repaired=1, altered=["c"]),
            Verified(1, incomplete=["b"]),
        ]
    )

    async def next_look(*_: object) -> Verified:
        return next(looks)

    class Server:
        async def state(self) -> None: ...

    monkeypatch.setattr(verify_module, "_verified", next_look)
    found = await verify_module.verify(Server())
    assert (found.repaired, found.taken_out) == (3, ["a", "b", "c"])


@pytest.mark.covers("K8")
async def test_the_field_of_the_tenants_cannot_be_changed_for_a_base_that_is_there(store, place):
    await store.open(BaseIdentity())
    other = opened(WeaviateStore(replace(place, tenant_from="user")))
    with pytest.raises(ConfigurationError, match="another prefix"):
        await other.open(BaseIdentity())


@pytest.mark.parametrize("name", ["State", "Document", "Chunk1", "Chunk2"])
async def test_a_collection_of_another_application_is_neither_written_to_nor_deleted(store, place, name):
    from weaviate.classes.config import DataType, Property

    async def made(client):
        title = Property(name="title", data_type=DataType.TEXT)
        await (await client.collections.create(place.prefix + name, properties=[title])).data.insert({"title": "Mine."})

    async def rebuilt():
        await store.open(BaseIdentity("ngram-16"))
        assert await write(store, Document("d", "A text.")) == {}
        await opened(WeaviateStore(place)).open(BaseIdentity("ngram-24"), rebuild=True)

    await BaseServer(place, connection=store._server.connection).call(made)
    with pytest.raises(ConfigurationError, match=f"{name}' at .* is not one of a knowledge base"):
        await rebuilt()
    assert [one.properties["title"] for one in (await objects_of(place, place.prefix + name)).values()] == ["Mine."]


@pytest.mark.covers("fault 97")
async def test_documents_whose_chunks_somebody_removed_are_taken_out_and_written_anew(store, place):
    await store.open(BaseIdentity("ngram-16"))
    assert await write(store, Document("d", "A text."), Document("e", "Another.")) == {}
    # What was written last is looked for once; the loss comes later.
    assert await opened(WeaviateStore(place, fields=["year"])).open(BaseIdentity("ngram-16")) == []
    await BaseServer(place, connection=store._server.connection).call(
        lambda client: client.collections.delete(place.chunks(1))
    )
    later = opened(WeaviateStore(place, fields=["year"]))
    assert sorted(await later.open(BaseIdentity("ngram-16"))) == ["d", "e"]
    assert await later.documents() == []
    assert await write(later, Document("d", "A text.")) == {}
    assert await texts_of(place, "text", embedder=SMALL) == ["A text."]


@pytest.mark.parametrize("prefix", ["", "lower", "1st", "With space", "Ünicode", "A" * 300])
def test_a_prefix_that_no_collection_can_have_is_refused(place, prefix):
    with pytest.raises(ConfigurationError, match="capital letter"):
        replace(place, prefix=prefix)


def test_chunk_ids_are_made_of_version_and_position_alone():
    version = str(uuid.UUID(int=7))
    assert chunk_id(version, 0) == chunk_id(version, 0) != chunk_id(version, 1)
    assert chunk_id(version, 0) != chunk_id(str(uuid.UUID(int=8)), 0)


def test_the_id_of_a_document_is_the_uuid_of_its_name():
    from groundgraph.sources.weaviate_base.objects import _NAMES

    assert document_id("насос.md") == str(uuid.uuid5(_NAMES, "насос.md"))


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_a_state_of_an_older_version_is_read_and_one_of_a_newer_one_refused(place, schema):
    from groundgraph.core.errors import SchemaVersionUnsupported
    from groundgraph.sources.weaviate_base.server import BaseState

    given = json.loads(BaseState(pending=("d",), changes=7).as_text())
    given["schema"] = schema
    if schema == 1:
        del given["pending_tenants"]
    if schema > 3:
        with pytest.raises(SchemaVersionUnsupported, match="Upgrade"):
            BaseState.of(json.dumps(given), place)
        return
    read = BaseState.of(json.dumps(given), place)
    assert (read.pending, read.pending_tenants, read.changes, read.schema) == (("d",), (), 7, 3)


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"schema": 1}', '{"schema": "x"}'])
def test_a_damaged_state_is_told_as_that_and_how_to_mend_it(place, text):
    from groundgraph.sources.weaviate_base.server import BaseState

    with pytest.raises(SourceError, match=f"is damaged, in the collection '{place.state}'. Ingest with"):
        BaseState.of(text, place)
