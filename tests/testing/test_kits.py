"""Each check of each kit has something that breaks just that promise, and what keeps all of them passes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from contract_subjects import EVERYTHING, SOURCES, TOPICS

from groundgraph import KnowledgeBase, load_settings
from groundgraph.core.errors import EmbeddingModelChanged, SourceContractBroken, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.knowledge_store import BaseIdentity, StoredDocument
from groundgraph.sources.conformance import Broken
from groundgraph.sources.in_memory import InMemorySource
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.testing import (
    base_kit,
    check_base,
    check_filters,
    check_store,
    check_topics,
    filter_kit,
    store_kit,
    topic_kit,
)


def failed(report):
    if report.failures:
        with pytest.raises(SourceContractBroken, match=f"{report.kind} .* breaks its contract"):
            report.raise_for_failures()
        assert all(failure.detail for failure in report.failures)
    return [failure.id for failure in report.failures]


class DictStore:
    """A knowledge store of somebody else's: documents in a mapping that outlives it."""

    def __init__(self, base):
        self.base, self.closed = base, False

    async def open(self, identity, *, rebuild=False):
        held = self.base.get("identity")
        if rebuild:
            self.base["hashes"] = dict.fromkeys(self.base["hashes"], "")
        elif held and identity.embedding_model and identity != held:
            raise EmbeddingModelChanged(f"'{held.embedding_model}' is not '{identity.embedding_model}'")
        if identity.embedding_model:
            self.base["identity"] = identity
        self.base.setdefault("documents", {})
        self.base.setdefault("hashes", {})
        return ()

    def reason(self, prepared):
        if not all(chunk.matching_texts for chunk in prepared.chunks):
            return "a chunk has no matching text"
        if any(chunk.vectors is not None and len(chunk.vectors) < 2 for chunk in prepared.chunks):
            return "a matching text has no vector"
        try:
            (prepared.document.name + prepared.document.text).encode()
        except UnicodeEncodeError as error:
            return str(error)
        return ""

    async def write(self, batch):
        if self.closed:
            raise SourceUnavailable("closed")
        sizes = {0 if chunk.vectors is None else chunk.vectors.shape[1] for one in batch for chunk in one.chunks}
        dimension = self.base.get("identity", BaseIdentity()).dimension
        if sizes - {dimension}:
            raise EmbeddingModelChanged(f"vectors of {sizes} numbers, not {dimension}")
        told = {one.document.name: reason for one in batch if (reason := self.reason(one))}
        for one in batch:
            if not self.reason(one):
                self.base["documents"][one.document.name] = one
                self.base["hashes"][one.document.name] = one.hash
        return told

    async def documents(self):
        return [self.row(self.base["documents"][name]) for name in sorted(self.base["documents"])]

    def row(self, one):
        made, now = one.document, datetime(2026, 1, 1, tzinfo=UTC).isoformat()
        own = (self.base["hashes"][made.name], len(one.chunks), made.kind, made.title, now, made.metadata)
        return StoredDocument(made.name, *own, one.from_file)

    async def stored(self, names):
        return {row.name: row for name in names for row in await self.documents() if row.name == name}

    async def names_from_files(self):
        return [row.name for row in await self.documents() if row.from_file]

    async def remove(self, names):
        return sum(self.base["documents"].pop(name, None) is not None for name in names)

    async def document(self, name):
        found = self.base["documents"].get(name)
        return found and found.document

    async def chunks(self, name):
        found = self.base["documents"].get(name)
        return [replace(chunk, vectors=None) for chunk in found.chunks] if found else []

    async def tidy(self):
        pass

    async def close(self):
        self.closed = True


class NeverEmpty(DictStore):
    async def documents(self):
        if not self.base["documents"]:
            raise SourceUnavailable("there is nothing yet")
        return await super().documents()


class AllFromFiles(DictStore):
    async def names_from_files(self):
        return sorted(self.base["documents"])


class LosesParts(DictStore):
    async def document(self, name):
        found = await super().document(name)
        return found and replace(found, parts=())


class KeepsOldChunks(DictStore):
    async def write(self, batch):
        old = {one.document.name: await self.chunks(one.document.name) for one in batch if one.hash == "new"}
        told = await super().write(batch)
        for name, chunks in old.items():
            known = self.base["documents"][name]
            self.base["documents"][name] = replace(known, chunks=[*known.chunks, *chunks])
        return told


class FirstOfAName(DictStore):
    async def write(self, batch):
        return await super().write(list({one.document.name: one for one in reversed(batch)}.values()))


class FoldsNames(DictStore):
    async def remove(self, names):
        folded = {name.casefold() for name in names}
        return await super().remove([name for name in self.base["documents"] if name.casefold() in folded])


class AllOrNothing(DictStore):
    async def write(self, batch):
        return {one.document.name: "x" for one in batch if self.reason(one)} or await super().write(batch)


class OneAtATime(DictStore):
    busy = False

    async def write(self, batch):
        if self.busy:
            return {}
        self.busy = True
        await asyncio.sleep(0)
        self.busy = False
        return await super().write(batch)


class DropsWhatHasNoVectors(DictStore):
    async def open(self, identity, *, rebuild=False):
        if identity.embedding_model and "identity" not in self.base:
            self.base["documents"].clear()
        return await super().open(identity, rebuild=rebuild)


class TakesAnyModel(DictStore):
    async def open(self, identity, *, rebuild=False):
        self.base.pop("identity", None)
        return await super().open(identity, rebuild=rebuild)


class MixesVectors(DictStore):
    async def write(self, batch):
        dimension = self.base.get("identity", BaseIdentity()).dimension
        fitting = [c.vectors is None or c.vectors.shape[1] == dimension for one in batch for c in one.chunks]
        return await super().write(batch) if all(fitting) else {}


class KeepsHashes(DictStore):
    async def open(self, identity, *, rebuild=False):
        kept = dict(self.base.get("hashes", {}))
        told = await super().open(identity, rebuild=rebuild)
        self.base["hashes"] |= kept
        return told


class WritesWhenClosed(DictStore):
    async def close(self):
        pass


STORES = {
    "nothing_yet": NeverEmpty, "ledger": AllFromFiles, "read_back": LosesParts, "replaced": KeepsOldChunks,
    "same_name_twice": FirstOfAName, "names_differ": FoldsNames, "failures": AllOrNothing, "at_once": OneAtATime,
    "vectors_come_later": DropsWhatHasNoVectors, "other_model": TakesAnyModel, "other_vectors": MixesVectors,
    "rebuilt": KeepsHashes, "closed": WritesWhenClosed,
}  # fmt: skip


@pytest.mark.covers("K1")
@pytest.mark.parametrize("check", [*store_kit.CHECKS, ""])
async def test_of_a_store_exactly_the_broken_promise_is_reported(check):
    base = {}
    assert failed(await check_store(lambda: STORES.get(check, DictStore)(base))) == [check][: bool(check)]


class Around:
    """Is what is inside it but for `changes`, each called with the inner object and what the caller gives."""

    def __init__(self, inner, **changes):
        self.inner, self.changes = inner, changes

    def __getattr__(self, name):
        if name not in self.changes:
            return getattr(self.inner, name)
        return lambda *given, **more: self.changes[name](self.inner, *given, **more)


async def twisted(store):
    outline = await store.outline()
    places = [place._replace(document=f"{n % 2}") for n, place in enumerate(outline.places)]
    return replace(outline, places=places)


async def another_revision(store):
    return replace(await store.outline(), revision="older")


def crowded():
    running = []

    async def outline(store):
        first = not running
        running.append(1)
        await asyncio.sleep(0)
        made = await store.outline()
        running.pop()
        return made if first else replace(made, places=made.places[1:])

    return outline


async def invents(store, ids, filters):
    given = await store.passages(ids, filters)
    unknown = {name: SourceResult("?", name, "docs", "x") for name in ids if name not in given and not filters}
    return {**given, **unknown}


async def keeps_too_little(store, filters):
    return frozenset(sorted(await store.kept(filters))[bool(filters) :])


async def escapes_by_id(store, ids, _filters):
    return await store.passages(ids, {})


def escaping(when):
    async def seeds(store, question, *, limit, filters, by_vector):
        ignored = {} if by_vector is when else filters
        return await store.seeds(question, limit=limit, filters=ignored, by_vector=by_vector)

    return seeds


async def long_vectors(store):
    vectors = await store.vectors()
    return replace(vectors, rows=vectors.rows * 2)


async def long_question(store, question):
    return 2 * await store.question_vector(question)


TOPIC_FAULTS = {
    "outline": {"outline": twisted}, "revision": {"outline": another_revision}, "at_once": {"outline": crowded()},
    "passages": {"passages": invents}, "kept": {"kept": keeps_too_little},
    "passages_filtered": {"passages": escapes_by_id}, "seeds": {"seeds": escaping(False)},
    "seeds_by_vector": {"seeds": escaping(True)}, "vectors": {"vectors": long_vectors},
    "question_vector": {"question_vector": long_question}, "": {},
}  # fmt: skip


@pytest.mark.covers("X1", "X2", "fault 60")
@pytest.mark.parametrize("check", [*topic_kit.CHECKS, ""])
async def test_of_a_topic_store_the_broken_promise_is_reported(check, tmp_path):
    source = await TOPICS["embedded base"](None, tmp_path)
    store = Around(source.topic_store(), **TOPIC_FAULTS[check])
    found = failed(await check_topics(store, question="linux safety", filters={"audience": "staff"}))
    await source.close()
    # Passages that are not kept are passages too many as well.
    assert found == {"kept": ["kept", "passages_filtered", "seeds", "seeds_by_vector"]}.get(
        check, [check][: bool(check)]
    )


def _changed(form, change):
    """A source in which `change` is made to every condition that `form` says yes to."""

    class Changed(InMemorySource):
        async def query(self, intent, **options):
            filters = intent.filters.get("rows", {})
            own = {name: change(value) if form(value) else value for name, value in filters.items()}
            own = {name: value for name, value in own.items() if value is not None}
            return await super().query(replace(intent, filters={"rows": own}), **options)

    return Changed


def _is(*operators):
    return lambda value: isinstance(value, dict) and set(value) == set(operators)


class OnlyTheFirst(InMemorySource):
    async def query(self, intent, **options):
        filters = dict(list(intent.filters.get("rows", {}).items())[:1])
        return await super().query(replace(intent, filters={"rows": filters}), **options)


class FindsNothing(InMemorySource):
    async def query(self, intent, **options):
        return []


def _folded(value):
    return [value, value.swapcase()] if isinstance(value, str) else value


FILTER_FAULTS = {
    "rows": FindsNothing,
    "equal": _changed(lambda value: not isinstance(value, dict | list), _folded),
    "one_of": _changed(lambda value: isinstance(value, list) and len(value) > 1, lambda value: value[:1]),
    "not": _changed(_is("not"), lambda _: None),
    "contains": _changed(_is("contains"), lambda value: value["contains"]),
    "compared": _changed(
        lambda value: isinstance(value, dict) and "not" not in value and "gt" in value,
        lambda value: {("gte" if name == "gt" else name): operand for name, operand in value.items()},
    ),
    "compared_and_not": _changed(
        lambda value: isinstance(value, dict) and "not" in value and len(value) > 1, lambda value: {"not": value["not"]}
    ),
    "several": OnlyTheFirst,
    "": InMemorySource,
}


@pytest.mark.covers("R2")
@pytest.mark.parametrize("check", [*filter_kit.CHECKS, ""])
async def test_of_a_filter_the_broken_form_is_reported(check, tmp_path):
    good = await SOURCES["memory"](None, tmp_path)
    source = FILTER_FAULTS[check](good._results, name="rows", schema=good.get_schema())
    found = failed(await check_filters(source, query=EVERYTHING))
    # Several conditions at once have every form among them.
    assert set(found) - {"several"} == {check} - {"several", ""}
    assert ("several" in found) or check != "several"


@pytest.mark.covers("R2")
async def test_a_source_whose_filters_nobody_can_draw_is_no_failure():
    report = await check_filters(InMemorySource(["a pump", "a pump is serviced"]), query="pump")
    assert failed(report) == []
    assert {check.detail for check in report.checks[1:]} == {
        "does not apply: no declared field has a value in the results"
    }


async def unsorted(base):
    return (await base.adocuments())[::-1]


async def always_anew(base, documents):
    for one in (given := list(documents)):
        await base.aremove(one.name)
    return await base.aadd_documents(given)


async def moved_chunks(base, name):
    return [replace(one, chunk=replace(one.chunk, start=one.chunk.start + 1)) for one in await base.achunks(name)]


async def keeps_all(base, name):
    return await base.adocument(name) is not None


async def backwards(source, intent, **options):
    return (await source.query(intent, **options))[::-1]


async def unfiltered(source, intent, **options):
    return await source.query(replace(intent, filters={}), **options)


BASE_FAULTS = {
    "added": ({"adocuments": unsorted}, {}), "unchanged": ({"aadd_documents": always_anew}, {}),
    "read_back": ({"achunks": moved_chunks}, {}), "found": ({}, {"query": backwards}),
    "filtered": ({}, {"query": unfiltered}), "removed": ({"aremove": keeps_all}, {}), "": ({}, {}),
}  # fmt: skip


@pytest.mark.covers("K1", "R5")
@pytest.mark.parametrize("check", [*BASE_FAULTS])
async def test_of_a_base_the_broken_promise_is_reported(check, tmp_path):
    base_change, source_change = BASE_FAULTS[check]
    base = KnowledgeBase.open(load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}}))
    inner = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    found = failed(await check_base(Around(base, **base_change), Around(inner, **source_change)))
    await inner.close()
    assert found == [check][: bool(check)] or (check in ("unchanged", "filtered") and check in found)


@pytest.mark.covers("K1")
async def test_a_reader_that_finds_two_versions_at_once_or_none_is_reported():
    versions = []

    class Base:
        async def aadd_documents(self, documents):
            versions.extend(documents)
            return SimpleNamespace(failed=[])

    class Source:
        name = "kb"

        async def query(self, intent, *, top_k, score_threshold):
            await asyncio.sleep(0)
            return [SourceResult(one.text, one.name, "kb", "x") for one in versions[-2:]]

    filled = base_kit._Filled(Base(), Source())
    with pytest.raises(Broken, match="these versions at once"):
        await base_kit.CHECKS["one_version"](filled)
