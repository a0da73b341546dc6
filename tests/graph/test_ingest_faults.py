"""What goes wrong in the middle of an ingest: the model, the store, a chain; and who reads meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from groundgraph import ingest_graph, load_settings
from groundgraph.core.document import DOCUMENTS, Chunk, Document
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.ingest import ingest_documents, run_ingest
from groundgraph.ingest.builtin_chains import ingest_chains
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.knowledge_base.store import EmbeddedStore
from groundgraph.testing import NgramEmbeddings, Rule, ScriptedChatModel


@dataclass
class CountedEmbeddings(NgramEmbeddings):
    """Counts texts and calls, and fails where it is told to."""

    poison: tuple[str, ...] = ()
    outages: int = 0
    texts: list[str] = field(default_factory=list)
    calls: int = 0
    at_once: int = 0
    most_at_once: int = 0

    def __post_init__(self):
        super().__init__(64)

    async def aembed_documents(self, texts):
        self.calls += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if self.outages:
            self.outages -= 1
            raise ConnectionError("the model is restarting")
        if any(word in text for text in texts for word in self.poison):
            raise ValueError("this text cannot be embedded")
        self.texts += texts
        return self.embed_documents(texts)


def settings_in(folder: Path, **sections):
    base = {"file": str(folder / "kb.sqlite"), **sections.pop("knowledge_base", {})}
    return load_settings({"knowledge_base": base, **sections}).model_copy(update={"base_dir": folder})


def some(count: int, word: str = "apples") -> list[Document]:
    return [Document(f"d{n}", f"Number{n} {word}.") for n in range(count)]


async def ledger(folder: Path) -> dict:
    return {row.name: row for row in await EmbeddedStore(folder / "kb.sqlite").documents()}


@pytest.mark.covers("fault 53")
async def test_a_batch_that_fails_costs_only_the_document_that_must_fail(tmp_path):
    model = CountedEmbeddings(poison=("Number7 ",))
    graph = ingest_graph(settings_in(tmp_path, embeddings={"model": "x:y", "batch_size": 5}), embeddings=model)
    report = await run_ingest(graph, {"documents": some(20)})
    assert [entry["document"] for entry in report.failed] == ["d7"]
    assert "this text cannot be embedded" in report.failed[0]["reason"]
    assert (report.written, len(await ledger(tmp_path))) == (19, 19)
    # Four batches, and then each document of the batch that failed once on its own.
    assert model.calls == 4 + 5


@pytest.mark.covers("fault 53")
async def test_an_outage_that_passes_is_tried_again_and_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("groundgraph.models.call_model._BACKOFF", lambda state: 0.0)
    model = CountedEmbeddings(outages=2)
    report = await run_ingest(ingest_graph(settings_in(tmp_path), embeddings=model), {"documents": some(3)})
    assert (report.written, report.failed, model.calls) == (3, [], 3)


@pytest.mark.covers("fault 53")
async def test_a_service_that_stays_down_is_given_up_soon_and_every_document_is_listed(tmp_path):
    model = CountedEmbeddings(outages=10**9)
    settings = settings_in(tmp_path, limits={"attempts": 1})
    report = await run_ingest(ingest_graph(settings, embeddings=model), {"documents": some(60)})
    assert [entry["document"] for entry in report.failed] == sorted(f"d{n}" for n in range(60))
    assert model.calls < 10
    model.outages = 0
    assert (await run_ingest(ingest_graph(settings, embeddings=model), {"documents": some(60)})).written == 60


@pytest.mark.covers("fault 50")
async def test_what_did_not_change_is_not_embedded_again_and_one_change_costs_one(tmp_path):
    model = CountedEmbeddings()
    graph = ingest_graph(settings_in(tmp_path), embeddings=model)
    await run_ingest(graph, {"documents": some(30)})
    before, rows = len(model.texts), await ledger(tmp_path)
    again = await run_ingest(graph, {"documents": some(30)})
    assert (again.unchanged, again.written, len(model.texts)) == (30, 0, before)
    assert await ledger(tmp_path) == rows
    changed = some(30)
    changed[4] = Document("d4", "Number4 bananas.")
    report = await run_ingest(graph, {"documents": changed})
    assert (report.written, report.unchanged, len(model.texts)) == (1, 29, before + 1)


@pytest.mark.covers("K1")
async def test_calls_of_the_model_run_at_once_up_to_the_setting(tmp_path):
    model = CountedEmbeddings()
    sections = {"embeddings": {"model": "x:y", "batch_size": 1}, "knowledge_base": {"concurrency": 3}}
    await run_ingest(ingest_graph(settings_in(tmp_path, **sections), embeddings=model), {"documents": some(20)})
    assert model.most_at_once == 3


@dataclass
class EmbeddingsBeside(NgramEmbeddings):
    """While the first texts are embedded, another ingest runs from its beginning to its end."""

    other: list = field(default_factory=list)

    def __post_init__(self):
        super().__init__(64)

    async def aembed_documents(self, texts):
        while self.other:
            await self.other.pop()
        return self.embed_documents(texts)


@pytest.mark.covers("F11")
async def test_two_ingests_at_once_count_each_document_once(tmp_path):
    settings = settings_in(tmp_path, embeddings={"model": "x:y"})
    model, reports = EmbeddingsBeside(), []

    async def beside():
        reports.append(await run_ingest(ingest_graph(settings, embeddings=model), {"documents": some(6)}))

    model.other.append(beside())
    documents = [*some(5), *some(8)[6:]]
    reports.append(await run_ingest(ingest_graph(settings, embeddings=model), {"documents": documents}))
    assert [(report.written, report.unchanged, report.documents) for report in reports] == [(6, 0, 6), (2, 5, 7)]
    assert set(await ledger(tmp_path)) == {f"d{n}" for n in range(8)}


@dataclass
class FlakyStore:
    """A real store that refuses documents for a while, as a server would."""

    inner: EmbeddedStore
    refuse: dict[str, int]
    writes: list[list[str]] = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def write(self, batch):
        names = [prepared.document.name for prepared in batch]
        self.writes.append(names)
        refused = {name for name in names if self.refuse.get(name, 0) > 0}
        for name in refused:
            self.refuse[name] -= 1
        failed = await self.inner.write([one for one in batch if one.document.name not in refused])
        return {**failed, **dict.fromkeys(refused, "the server was busy")}


@pytest.mark.covers("fault 53")
async def test_what_a_store_refuses_is_written_once_more_on_its_own_and_then_listed(tmp_path):
    store = FlakyStore(EmbeddedStore(tmp_path / "kb.sqlite"), {"d2": 1, "d5": 2})
    report = await run_ingest(ingest_graph(settings_in(tmp_path), knowledge_store=store), {"documents": some(8)})
    assert report.failed == [{"document": "d5", "reason": "the server was busy"}]
    assert store.writes[1] == ["d2", "d5"]
    assert set(await ledger(tmp_path)) == {f"d{n}" for n in range(8)} - {"d5"}
    await store.close()


@pytest.mark.covers("fault 48")
@pytest.mark.parametrize("part", ["chunker", "qualifying_text", "matching_texts"])
async def test_a_chain_that_fails_for_one_document_costs_that_document(tmp_path, part):
    chains = ingest_chains(load_settings({}), "documents")

    class Chain:
        signature = "mine"
        generated = False

        async def __call__(self, *given):
            name = given[0].name if isinstance(given[0], Document) else given[0].document.name
            if name == "d3":
                raise RuntimeError("no answer")
            inner = getattr(chains, part)(*given)
            return await inner if asyncio.iscoroutine(inner) else inner

    mixed = replace(chains, **{part: Chain()})
    report = await ingest_documents(tmp_path / "kb.sqlite", some(9), chains=mixed)
    assert report.failed == [{"document": "d3", "reason": "RuntimeError: no answer"}]
    assert set(await ledger(tmp_path)) == {f"d{n}" for n in range(9)} - {"d3"}


@pytest.mark.covers("K5")
@pytest.mark.parametrize(
    ("cut", "told"),
    [
        (lambda document: [Chunk(document, 0, 0, 3, (), "other")], "not what stands at its offsets"),
        (lambda document: [Chunk(document, 1, 0, 1, (), document.text[:1])], "numbered chunk 0 as 1"),
        (lambda document: ["text"], "gave a str in place of a Chunk"),
    ],
)
async def test_a_chunker_that_breaks_its_contract_is_told_and_nothing_is_written(tmp_path, cut, told):
    cut.signature = "mine"
    chains = replace(ingest_chains(load_settings({}), DOCUMENTS), chunker=cut)
    report = await ingest_documents(tmp_path / "kb.sqlite", some(1), chains=chains)
    assert told in report.failed[0]["reason"]
    assert await ledger(tmp_path) == {}


@pytest.mark.covers("fault 54")
async def test_a_reader_always_finds_one_version_while_a_document_is_replaced(tmp_path):
    kb = tmp_path / "kb.sqlite"
    versions = [Document("d", f"The pump is serviced every {days} days. " * 40) for days in (30, 90)]
    await ingest_documents(kb, versions[:1])
    found: list[list[str]] = []
    stop = asyncio.Event()

    async def read() -> None:
        source = KnowledgeBaseSource(kb)
        while not stop.is_set():
            results = await source.query(RetrievalIntent(["How often is the pump serviced?"]), top_k=50)
            found.append([result.content for result in results])
            await asyncio.sleep(0.01)
        await source.close()

    reading = asyncio.create_task(read())
    for n in range(1, 25):
        await ingest_documents(kb, [versions[n % 2]])
        reads = len(found)
        while len(found) == reads and not reading.done():
            await asyncio.sleep(0.001)
    stop.set()
    await reading
    assert len(found) >= 24
    for contents in found:
        days = {word for content in contents for word in content.split() if word in ("30", "90")}
        assert len(days) == 1, "a reader found no version, or two at once"


WITH_MODEL = {"chains": {"documents": {"matching_text": "questions", "qualifying_text": "summary"}}}


def writing_model() -> ScriptedChatModel:
    """Writes a summary, or two questions."""
    rules = [Rule("uestion", "Which apples are there?\nWhat is counted?")]
    return ScriptedChatModel(rules=rules, default="A list of apples.")


@pytest.mark.covers("fault 50", "K10")
async def test_unchanged_documents_cost_no_call_of_the_chat_model(tmp_path):
    model = writing_model()
    graph = ingest_graph(settings_in(tmp_path, **WITH_MODEL), chat_model=model)
    assert (await run_ingest(graph, {"documents": some(5)})).written == 5
    assert len(model.calls) == 10
    [chunk] = await EmbeddedStore(tmp_path / "kb.sqlite").chunks("d3")
    assert chunk.qualifying_text == "A list of apples."
    assert {"Which apples are there?", "What is counted?"} <= set(chunk.matching_texts)
    assert any("A list of apples." in call.text for call in model.calls), "matching texts know the qualifying text"
    assert (await run_ingest(graph, {"documents": some(5)})).unchanged == 5
    assert len(model.calls) == 10
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    found = await source.query(RetrievalIntent(["What is counted?"]), top_k=10)
    await source.close()
    # By whichever of its texts a chunk is found, it is found once.
    assert sorted(result.source_id for result in found) == [f"d{n}#0" for n in range(5)]


@pytest.mark.covers("K1")
async def test_another_model_or_chain_processes_unchanged_documents_again(tmp_path):
    await run_ingest(ingest_graph(settings_in(tmp_path)), {"documents": some(2)})
    model = writing_model()
    graph = ingest_graph(settings_in(tmp_path, **WITH_MODEL), chat_model=model)
    assert (await run_ingest(graph, {"documents": some(2)})).written == 2
    other = ingest_graph(settings_in(tmp_path, **WITH_MODEL), chat_model=ScriptedChatModel("x", model_name="other"))
    assert (await run_ingest(other, {"documents": some(2)})).written == 2
