"""Does a knowledge store keep the contract of `groundgraph.core.knowledge_store.KnowledgeStore`?

::

    (await check_store(lambda: MyStore("an empty place"))).raise_for_failures()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from groundgraph.core.document import MARKDOWN, Chunk, Document, Heading, Part
from groundgraph.core.errors import EmbeddingModelChanged, SourceError
from groundgraph.core.knowledge_store import BaseIdentity, KnowledgeStore, PreparedChunk, PreparedDocument
from groundgraph.sources.conformance import Broken, Check, ConformanceReport, outcomes, require

SMALL, LARGE = BaseIdentity("kit-4", 4), BaseIdentity("kit-6", 6)
WORDS = BaseIdentity()
# Half of a pair, which no UTF-8 can hold.
_NO_TEXT = "half \ud800"


@dataclass
class _Base:
    """A base, and how to open it: every check does so anew, so that what it finds was kept."""

    make: Callable[[], KnowledgeStore]

    @asynccontextmanager
    async def opened(self, identity: BaseIdentity = WORDS, *, rebuild: bool = False) -> AsyncIterator[KnowledgeStore]:
        store = self.make()
        try:
            await store.open(identity, rebuild=rebuild)
            yield store
        finally:
            await store.close()

    async def written(self, *batch: PreparedDocument, identity: BaseIdentity = WORDS) -> None:
        """Write `batch`, all of which must be taken."""
        async with self.opened(identity) as store:
            failed = await store.write(batch)
            require(not failed, f"documents with nothing wrong were not written: {failed}")


def _prepared(
    document: Document | str, *texts: str, identity: BaseIdentity = WORDS, hash_: str = "h", from_file: bool = True
) -> PreparedDocument:
    """A document of a chunk for each of `texts`; each chunk is found by itself and by a question."""
    if isinstance(document, str):
        document = Document(document, "\n\n".join(texts))
    chunks, start = [], 0
    for position, text in enumerate(texts):
        start = document.text.index(text, start)
        chunk = Chunk(document, position, start, start + len(text), ("Guide", f"Part {position}"), text)
        vectors = _unit_vectors(2, identity.dimension) if identity.dimension else None
        chunks.append(PreparedChunk(chunk, (text, f"What is said in part {position}?"), "About.", vectors))
    return PreparedDocument(document, chunks, hash_, from_file=from_file, content_hash="content")


def _unit_vectors(count: int, dimension: int) -> Any:
    import numpy as np

    return np.eye(dimension, dtype=np.float32)[:count]


def _report() -> Document:
    """A document that has all that a document can have."""
    return Document(
        "a/report.pdf", "Page one.Page two.", MARKDOWN, {"title": "Report", "year": 2026, "tags": ["x"], "none": None},
        2, kind="web_pages", parts=(Part(0, 9, {"page": 1}), Part(9, 18, {"page": 2})),
        headings=(Heading(0, 4, 2, "Page"),),
    )  # fmt: skip


async def _nothing_yet(base: _Base) -> None:
    async with base.opened() as store:
        require(await store.documents() == [], "the base is not empty; the kit needs one of its own")
        await _nothing_of(store, "nowhere")


async def _nothing_of(store: KnowledgeStore, name: str) -> None:
    found = (
        await store.stored([name]),
        await store.document(name),
        await store.chunks(name),
        await store.remove([name]),
    )
    require(found == ({}, None, [], 0), f"of {name!r}, which is not there, there are {found!r}")


async def _ledger(base: _Base) -> None:
    report = _report()
    await base.written(
        _prepared(report, "Page one.", "Page two.", hash_="h1"), _prepared("b", "Text.", from_file=False)
    )
    async with base.opened() as store:
        rows = await store.documents()
        require([row.name for row in rows] == ["a/report.pdf", "b"], f"the ledger has {rows}, and not both by name")
        first, second = rows
        told = (first.hash, first.kind, first.title, first.chunks, first.from_file, second.from_file)
        require(told == ("h1", "web_pages", "Report", 2, True, False), f"the ledger says {first} and {second}")
        require(first.metadata == report.metadata, f"the metadata in the ledger is {first.metadata}")
        written_at = datetime.fromisoformat(first.written_at)
        require(written_at.utcoffset() == timedelta(0), f"written_at is {first.written_at!r}, not a time in UTC")
        found = await store.stored(["b", "nowhere"])
        require(found == {"b": second}, f"stored() gives {found}")
        names = await store.names_from_files()
        require(names == ["a/report.pdf"], f"names_from_files() gives {names}")
        require(
            await store.remove(iter(["b", "nowhere", "a/report.pdf"])) == 2, "remove() does not count what was there"
        )


async def _read_back(base: _Base) -> None:
    written = _prepared(_report(), "Page one.", "Page two.")
    derived = Chunk(written.document, 2, 0, 18, (), "What a model made of it.", metadata={"page": 1}, derived=True)
    written = replace(written, chunks=[*written.chunks, PreparedChunk(derived, ("one", "два"))])
    await base.written(written)
    async with base.opened() as store:
        document, chunks = await store.document("a/report.pdf"), await store.chunks("a/report.pdf")
        require(document == written.document, f"the document comes back as {document!r}")
        require(chunks == list(written.chunks), f"the chunks come back as {chunks!r}")


async def _replaced(base: _Base) -> None:
    await base.written(_prepared("d", "Old one.", "Old two."), _prepared("e", "Kept."))
    await base.written(_prepared("d", "New.", hash_="new"))
    async with base.opened() as store:
        texts = [one.chunk.text for name in ("d", "e") for one in await store.chunks(name)]
        require(texts == ["New.", "Kept."], f"after a new version there are the chunks {texts}")
        row = (await store.stored(["d"]))["d"]
        require((row.hash, row.chunks) == ("new", 1), f"after a new version the ledger says {row}")


async def _same_name_twice(base: _Base) -> None:
    await base.written(_prepared("d", "First."), _prepared("d", "Second."))
    async with base.opened() as store:
        texts = [one.chunk.text for one in await store.chunks("d")]
        require(texts == ["Second."], f"of two documents of one name in a batch there are the chunks {texts}")


async def _names_differ(base: _Base) -> None:
    names = ["Guide", "guide", " guide", "guide ", "guide%", "руководство", "Руководство", "'; DROP TABLE x; --"]
    await base.written(*(_prepared(name, f"Text of {name!r}.") for name in names))
    async with base.opened() as store:
        require(await store.remove(["guide"]) == 1, "removing 'guide' removes another number than 1")
        for name in names:
            document = await store.document(name)
            wanted = None if name == "guide" else f"Text of {name!r}."
            require((document and document.text) == wanted, f"the document {name!r} is {document!r}")
        require(await store.remove(names) == len(names) - 1, "not all that were written were there to remove")


async def _failures(base: _Base) -> None:
    await base.written(_prepared("old", "Old text."))
    bad = replace(
        _prepared("old", "New text."), chunks=[replace(_prepared("old", "New text.").chunks[0], matching_texts=())]
    )
    async with base.opened() as store:
        failed = await store.write(
            [_prepared("good", "Good."), bad, _prepared("odd", _NO_TEXT), _prepared(_NO_TEXT, "x")]
        )
        require(failed.keys() == {"old", "odd", _NO_TEXT} and all(failed.values()), f"write() tells {failed!r}")
        document = await store.document("old")
        require(document is not None and document.text == "Old text.", f"what failed left {document!r} of the old one")
        require(bool(await store.stored(["good"])), "what was written beside a failure is not there")
        await _nothing_of(store, _NO_TEXT)


async def _at_once(base: _Base) -> None:
    async with base.opened() as store:
        await asyncio.gather(*(store.write([_prepared(f"n{n}", f"Text {n}.")]) for n in range(8)))
        found = await store.stored([f"n{n}" for n in range(8)])
        require(len(found) == 8, f"of 8 documents that were written at once there are {sorted(found)}")
        await store.tidy()


async def _vectors_come_later(base: _Base) -> None:
    await base.written(_prepared("words", "Words alone."))
    await base.written(_prepared("v", "With vectors.", identity=SMALL), identity=SMALL)
    async with base.opened(SMALL) as store:
        found = await store.stored(["words", "v"])
        require(len(found) == 2, f"after a base got an embedding model there are {sorted(found)}")


async def _refused(work: Awaitable[Any], told: str) -> str:
    try:
        await work
    except EmbeddingModelChanged as error:
        return str(error)
    raise Broken(f"{told} is not refused with EmbeddingModelChanged")


async def _other_model(base: _Base) -> None:
    for wanted in (LARGE, BaseIdentity(SMALL.embedding_model, LARGE.dimension)):
        store = base.make()
        try:
            said = await _refused(store.open(wanted), f"a base of {SMALL} opened as {wanted}")
            named = SMALL.embedding_model in said and wanted.embedding_model in said
            require(named, f"the error does not name both models: {said}")
        finally:
            await store.close()


async def _other_vectors(base: _Base) -> None:
    async with base.opened(SMALL) as store:
        await _refused(
            store.write([_prepared("w", "Text.", identity=LARGE)]), "a document with vectors of another size"
        )
        await _refused(store.write([_prepared("w", "Text.")]), "a document without vectors in a base that has some")
        [chunk] = _prepared("w", "Text.", identity=SMALL).chunks
        short = replace(_prepared("w", "Text."), chunks=[replace(chunk, vectors=_unit_vectors(1, SMALL.dimension))])
        failed = await store.write([short])
        require(failed.keys() == {"w"}, f"a text without its vector is written: {failed}")
        require(await store.stored(["w"]) == {}, "a document that was refused is in the ledger")


async def _rebuilt(base: _Base) -> None:
    async with base.opened(LARGE, rebuild=True) as store:
        hashes = {row.hash for row in await store.documents()}
        require(hashes == {""}, f"after a rebuild the hashes are {hashes}, so not every document counts as changed")
        require(bool(await store.chunks("v")), "after a rebuild a document has lost its chunks")
        require(not await store.write([_prepared("v", "Anew.", identity=LARGE)]), "the new model is not taken")


async def _closed(base: _Base) -> None:
    store = base.make()
    await store.open(LARGE)
    await store.close()
    await store.close()
    try:
        await store.write([_prepared("z", "Text.", identity=LARGE)])
    except SourceError:
        return
    raise Broken("a closed store writes, or does not raise SourceError")


CHECKS: dict[str, Check[_Base]] = {
    "nothing_yet": _nothing_yet,
    "ledger": _ledger,
    "read_back": _read_back,
    "replaced": _replaced,
    "same_name_twice": _same_name_twice,
    "names_differ": _names_differ,
    "failures": _failures,
    "at_once": _at_once,
    "vectors_come_later": _vectors_come_later,
    "other_model": _other_model,
    "other_vectors": _other_vectors,
    "rebuilt": _rebuilt,
    "closed": _closed,
}


async def check_store(make: Callable[[], KnowledgeStore], *, timeout: float = 60.0) -> ConformanceReport:
    """Make every check on a base, which must be empty at first and holds what the kit wrote in the end.

    Args:
        make: gives a store that is not open yet, each time a new one over the same base.
        timeout: the longest that one check may take, in seconds.
    """
    return ConformanceReport(type(make()).__name__, await outcomes(CHECKS, _Base(make), timeout), "knowledge store")
