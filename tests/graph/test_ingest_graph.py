"""The ingest graph as a graph: its steps, its streams, its checkpoints, its place in a larger one (K1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filled_base import folder_of
from langgraph.checkpoint.memory import InMemorySaver
from parents import in_a_row
from turns import thread
from typing_extensions import TypedDict

from groundgraph import KnowledgeBase, ingest_graph, load_settings
from groundgraph.cli.progress import Course
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, EmbeddingModelChanged, InputInvalid
from groundgraph.graph.ingest import SHOWN, IngestState, run_ingest
from groundgraph.nodes.ingest import load_documents as load_step
from groundgraph.nodes.ingest.find_documents import OUTSIDE
from groundgraph.sources.knowledge_base.store import EmbeddedStore
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("K1")

SECRET = "pomegranate"


def settings_in(folder: Path, **base):
    settings = load_settings({"knowledge_base": {"file": str(folder / "kb.sqlite"), **base}})
    return settings.model_copy(update={"base_dir": folder})


def documents(count: int) -> list[dict]:
    return [{"name": f"d{n}", "text": f"Document number{n} about {SECRET}."} for n in range(count)]


async def names(folder: Path) -> list[str]:
    return [row.name for row in await EmbeddedStore(folder / "kb.sqlite").documents()]


@pytest.mark.covers("T5")
def test_the_step_that_embeds_is_there_only_with_an_embedding_model(tmp_path):
    without = ingest_graph(settings_in(tmp_path)).get_graph().nodes
    with_model = ingest_graph(settings_in(tmp_path), embeddings=NgramEmbeddings()).get_graph().nodes
    assert set(with_model) - set(without) == {"embed_texts"}
    assert not (tmp_path / "kb.sqlite").exists()


async def test_streams_and_checkpoints_hold_no_text_of_a_document(tmp_path):
    saver = InMemorySaver()
    graph = ingest_graph(settings_in(tmp_path), embeddings=NgramEmbeddings(), checkpointer=saver)
    modes = ["updates", "values", "custom"]
    shown = [item async for item in graph.astream({"documents": documents(3)}, thread(), stream_mode=modes)]
    assert [name for mode, item in shown if mode == "updates" for name in item][-1] == "finish_ingest"
    updates = [update for mode, item in shown if mode == "updates" for update in item.values() if update]
    values = [item for mode, item in shown if mode == "values"]
    assert {name for item in (*updates, *values) for name in item} <= set(SHOWN)
    assert SECRET not in str(shown)
    assert SECRET not in json.dumps(str([point async for point in graph.aget_state_history(thread())]))
    assert SECRET not in str(dict(saver.storage)) + str(dict(saver.blobs)) + str(dict(saver.writes))
    assert await names(tmp_path) == ["d0", "d1", "d2"]


def test_every_channel_that_may_be_large_is_kept_out_of_streams():
    assert set(IngestState.__annotations__) - set(SHOWN) == {"documents", "plan", "batch"}


@pytest.mark.covers("fault 49")
@pytest.mark.parametrize("step", ["load_documents", "write_matching_texts", "write_documents", "finish_ingest"])
async def test_a_run_resumed_from_its_checkpoint_plans_anew_and_repeats_no_finished_document(
    tmp_path, monkeypatch, step
):
    monkeypatch.setattr("groundgraph.graph.ingest_resources.BatchSize", lambda: load_step.BatchSize(documents=2))
    folder_of(tmp_path, **{str(n): f"Number{n}." for n in range(6)})
    saver = InMemorySaver()
    first = ingest_graph(settings_in(tmp_path), checkpointer=saver)
    reached = 0
    async for _ in first.astream({"paths": ["docs"]}, thread(), interrupt_before=[step]):
        reached += 1
    while reached < 20 and len(await names(tmp_path)) < 2 and step != "finish_ingest":
        async for _ in first.astream(None, thread(), interrupt_before=[step]):
            reached += 1
    before = {row.name: row for row in await EmbeddedStore(tmp_path / "kb.sqlite").documents()}
    # Another process has neither the plan nor the batch.
    fresh = ingest_graph(settings_in(tmp_path), checkpointer=saver)
    report = (await fresh.ainvoke(None, thread()))["report"]
    assert await names(tmp_path) == [f"docs/{n}.md" for n in range(6)]
    after = {row.name: row for row in await EmbeddedStore(tmp_path / "kb.sqlite").documents()}
    assert {name: after[name] for name in before} == before
    if step != "finish_ingest":
        assert (report["documents"], report["unchanged"]) == (6, len(before))
        assert report["failed"] == []


async def test_documents_that_were_passed_in_must_be_passed_in_again(tmp_path):
    saver = InMemorySaver()
    graph = ingest_graph(settings_in(tmp_path), checkpointer=saver)
    await graph.ainvoke({"documents": documents(2)}, thread(), interrupt_before=["cut_chunks"])
    with pytest.raises(InputInvalid, match="Run the ingest again with the same documents"):
        await ingest_graph(settings_in(tmp_path), checkpointer=saver).ainvoke(None, thread())
    await graph.ainvoke({"documents": documents(2)}, thread("other"))
    assert await names(tmp_path) == ["d0", "d1"]


async def test_a_run_on_a_thread_does_not_go_by_the_choices_of_the_last_one(tmp_path):
    (tmp_path / "a.md").write_text("Apples.")
    graph = ingest_graph(settings_in(tmp_path), checkpointer=InMemorySaver())
    await graph.ainvoke({"documents": documents(1), "dry_run": True}, thread())
    report = (await graph.ainvoke({"paths": ["a.md"]}, thread()))["report"]
    assert (report["written"], report["failed"], await names(tmp_path)) == (1, [], ["a.md"])


class Outer(TypedDict, total=False):
    paths: list[str]
    documents: list
    report: dict


@pytest.mark.covers("U4")
async def test_it_is_a_step_of_a_larger_graph_whose_recursion_limit_does_not_hold_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("groundgraph.graph.ingest_resources.BatchSize", lambda: load_step.BatchSize(documents=1))
    folder_of(tmp_path, **{str(n): f"Number{n}." for n in range(9)})
    larger = in_a_row(Outer, ingest=ingest_graph(settings_in(tmp_path))).compile(checkpointer=InMemorySaver())
    result = await larger.ainvoke({"paths": ["docs"]}, {"recursion_limit": 10, **thread()})
    assert result["report"]["written"] == 9


@pytest.mark.covers("U1")
def test_it_can_be_invoked_without_an_event_loop(tmp_path):
    graph = ingest_graph(settings_in(tmp_path))
    assert graph.invoke({"documents": documents(2)})["report"]["written"] == 2
    updates = list(graph.stream({"documents": documents(2)}, stream_mode="updates"))
    assert [name for update in updates for name in update] == ["find_documents", "load_documents", "finish_ingest"]


async def test_many_batches_run_through_one_graph(tmp_path, monkeypatch):
    monkeypatch.setattr("groundgraph.graph.ingest_resources.BatchSize", lambda: load_step.BatchSize(documents=1))
    report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"documents": iter(documents(40))})
    assert report.written == 40


async def test_an_asynchronous_iterator_of_documents(tmp_path):
    async def arriving():
        for document in documents(3):
            yield document

    report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"documents": arriving()})
    assert report.written == 3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"documents": [{"name": "a"}]}, "needs a 'name' and a 'text'"),
        ({"documents": [{"name": "a", "text": "b", "pages": 1}]}, "no attribute 'pages'"),
        ({"documents": [17]}, "not int"),
        ({"documents": "text"}, "must be a list"),
        ({"documents": [{"name": " ", "text": "b"}]}, "needs a name"),
        ({"documents": [{"name": "a", "text": "b", "parts": [{"from": 0}]}]}, "'a' has parts"),
        ({"documents": [{"name": "a", "text": "b", "warnings": 1}]}, "'a' has parts, headings or warnings"),
        ({"paths": [17]}, "'paths' must be a list of files"),
        ({"paths": ["a\0.md"]}, "A path cannot hold the character U\\+0000"),
        ({"rebuild": "false"}, "'rebuild' is true or false, not a str"),
        ({}, "nothing to ingest"),
    ],
)
async def test_an_input_that_is_none_is_refused_with_what_is_wrong(tmp_path, given, told):
    with pytest.raises(InputInvalid, match=told):
        await ingest_graph(settings_in(tmp_path)).ainvoke(given)


async def test_the_configured_path_is_the_default(tmp_path):
    folder_of(tmp_path, a="Apples.")
    assert (await ingest_graph(settings_in(tmp_path, path="docs")).ainvoke({}))["report"]["written"] == 1


async def test_a_dry_run_tells_and_touches_nothing(tmp_path):
    folder = folder_of(tmp_path, a="Apples.", b="Bananas.")
    (folder / "c.pdf").write_bytes(b"no PDF")
    graph = ingest_graph(settings_in(tmp_path), embeddings=NgramEmbeddings())
    report = await run_ingest(graph, {"paths": ["docs"], "dry_run": True})
    assert (report.written, report.changed) == (2, ["docs/a.md", "docs/b.md"])
    assert [entry["document"] for entry in report.failed] == ["docs/c.pdf"]
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]
    folder_of(tmp_path, e="Elderberries.")
    await run_ingest(graph, {"paths": ["docs"]})
    before = (tmp_path / "kb.sqlite").read_bytes()
    folder_of(tmp_path, a="Apricots.", d="Dates.", e="---\ntitle: Elderberries\n---\n \n")
    (folder / "b.md").unlink()
    (folder / "f.txt").write_text("\n")
    foretold = await run_ingest(graph, {"paths": ["docs"], "dry_run": True})
    assert (foretold.changed, sorted(foretold.gone)) == (["docs/a.md", "docs/d.md"], ["docs/b.md", "docs/e.md"])
    assert (tmp_path / "kb.sqlite").read_bytes() == before
    assert await names(tmp_path) == ["docs/a.md", "docs/b.md", "docs/e.md"]
    report = await run_ingest(graph, {"paths": ["docs"]})
    counts = [(told.documents, told.written, told.unchanged, told.deleted) for told in (foretold, report)]
    assert counts == [(2, 2, 0, 2)] * 2
    assert foretold.failed == report.failed
    assert [entry["document"] for entry in report.failed] == ["docs/c.pdf", "docs/e.md", "docs/f.txt"]


@pytest.mark.covers("U2")
async def test_a_graph_for_others_reads_only_below_its_folder(tmp_path):
    (tmp_path / "secret.md").write_text("Secret.")
    (folder_of(tmp_path, a="Apples.") / "link.md").symlink_to(tmp_path / "secret.md")
    graph = ingest_graph(settings_in(tmp_path), within=tmp_path / "docs")
    (tmp_path / "round").symlink_to("round")
    given = ["docs", "secret.md", "docs/../secret.md", str(tmp_path / "secret.md"), "/etc/hosts", "round"]
    report = await run_ingest(graph, {"paths": given})
    assert await names(tmp_path) == ["docs/a.md"]
    assert {entry["document"] for entry in report.failed} == {*given[1:]}
    assert {entry["reason"] for entry in report.failed} == {OUTSIDE}
    assert [entry["document"] for entry in report.skipped] == ["docs/link.md"]
    followed = await run_ingest(graph, {"paths": ["docs"], "follow_links": True})
    assert await names(tmp_path) == ["docs/a.md"]
    assert followed.failed == [{"document": "docs/link.md", "reason": OUTSIDE}]


def test_arguments_without_a_use_are_refused(tmp_path):
    for given in ({"sources": []}, {"extractor": object()}):
        with pytest.raises(ConfigurationError, match=next(iter(given))):
            ingest_graph(settings_in(tmp_path), **given)
    with pytest.raises(ConfigurationError, match="chunker"):
        ingest_graph(load_settings({"chains": {"documents": {"chunker": "nonsense"}}}))


class OtherModel(NgramEmbeddings):
    model = "other"


async def test_another_embedding_model_is_refused_and_taken_by_a_rebuild_which_goes_on_where_it_stopped(tmp_path):
    settings = settings_in(tmp_path)
    folder = folder_of(tmp_path, a="Apples.")
    given = [Document("python", "From Python.")]
    old = ingest_graph(settings, embeddings=NgramEmbeddings())
    await run_ingest(old, {"paths": ["docs"], "documents": given})
    new = ingest_graph(settings, embeddings=OtherModel(64))
    with pytest.raises(EmbeddingModelChanged, match="--rebuild"):
        await run_ingest(new, {"paths": ["docs"]})
    (folder / "a.md").write_bytes(bytes(range(128, 256)) * 9)
    report = await run_ingest(new, {"paths": ["docs"], "rebuild": True})
    # What cannot be read any more is made anew from what is stored.
    assert (report.written, len(report.failed)) == (2, 1)
    assert await names(tmp_path) == ["docs/a.md", "python"]
    again = await run_ingest(new, {"rebuild": True})
    assert (again.written, again.unchanged) == (0, 2)
    without = await run_ingest(ingest_graph(settings), {"rebuild": True})
    assert without.written == 2
    assert (await run_ingest(ingest_graph(settings), {"documents": given})).unchanged == 1


async def test_a_model_of_the_same_name_whose_vectors_have_another_size_is_refused_though_no_file_changed(tmp_path):
    settings = settings_in(tmp_path)
    folder_of(tmp_path, a="Apples.")
    await run_ingest(ingest_graph(settings, embeddings=NgramEmbeddings(64)), {"paths": ["docs"]})
    smaller = ingest_graph(settings, embeddings=NgramEmbeddings(32))
    told = r"\(64 numbers\); the embedding model now is '.*' \(32 numbers\).*groundgraph ingest --rebuild"
    with pytest.raises(EmbeddingModelChanged, match=told):
        await run_ingest(smaller, {"paths": ["docs"]})
    assert (await run_ingest(smaller, {"paths": ["docs"], "rebuild": True})).written == 1
    assert (await run_ingest(smaller, {"paths": ["docs"]})).unchanged == 1


async def test_while_the_embedding_model_is_down_documents_are_found_unchanged(tmp_path, monkeypatch):
    settings = settings_in(tmp_path)
    folder_of(tmp_path, a="Apples.")
    graph = ingest_graph(settings, embeddings=NgramEmbeddings())
    await run_ingest(graph, {"paths": ["docs"]})

    async def down(*_):
        raise ConnectionError("the embedding service is down")

    monkeypatch.setattr(NgramEmbeddings, "aembed_query", down)
    report = await run_ingest(graph, {"paths": ["docs"]})
    assert (report.unchanged, report.failed) == (1, [])


async def test_every_document_is_counted_once_among_those_that_are_done(tmp_path):
    folder = folder_of(tmp_path, a="Apples.", b=" ")
    for name, content in (("c.pdf", b"no PDF"), ("d.ppt", b"?"), ("e.png", b"?")):
        (folder / name).write_bytes(content)
    for _ in range(2):
        course = Course()
        await run_ingest(ingest_graph(settings_in(tmp_path)), {"paths": ["docs"]}, on_event=course.take)
        assert (course.done, course.total, course.failed) == (4, 4, 3)


async def test_one_path_may_stand_alone(tmp_path):
    folder_of(tmp_path, a="Apples.")
    for given, written in (("docs", 1), (tmp_path / "docs", 0)):
        report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"paths": given})
        assert (report.written, report.documents, report.failed) == (written, 1, [])


async def test_a_document_passed_in_with_parts_outside_of_its_text_costs_itself_only(tmp_path):
    given = [
        {"name": "a", "text": "Apples.", "parts": [{"start": 0, "end": 70}]},
        {"name": "b", "text": "Bananas.", "metadata": None, "parts": None},
    ]
    report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"documents": given})
    assert report.failed == [{"document": "a", "reason": "its part 0 to 70 is not within its 7 characters"}]
    assert await names(tmp_path) == ["b"]


@pytest.mark.covers("K12")
async def test_a_document_is_found_under_the_name_with_which_it_was_passed_in(tmp_path):
    base = KnowledgeBase.open(settings_in(tmp_path))
    await base.aadd_documents([{"name": "odd\x00\ud800", "text": "Apples."}])
    assert (await base.adocument("odd\x00\ud800")).text == "Apples."
    assert [chunk.chunk.text for chunk in await base.achunks("odd\x00\ud800")] == ["Apples."]
    assert await base.aremove("odd\x00\ud800")
    assert await base.adocuments() == []
