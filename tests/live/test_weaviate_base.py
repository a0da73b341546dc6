"""A knowledge base in Weaviate through the whole program: ingest, move, command line, turns, figures."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from weaviate_bases import object_ids, objects_of, weaviate_section

from groundgraph import Settings, ingest_graph, load_settings, open_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.ingest import run_ingest
from groundgraph.graph.knowledge_base_files import knowledge_base_file, move_base, weaviate_store
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel

pytestmark = [pytest.mark.live, pytest.mark.covers("R5")]
PAGES = {
    "oauth.md": "---\ntitle: OAuth\nyear: 2012\n---\n# Grants\n\nOAuth 2.0 has four grant types.\n\n"
    "# Implicit grant\n\nThe implicit grant was made for browsers.\n",
    "pump.md": "---\ntitle: Coolant pump\nyear: 2020\n---\nThe coolant pump is serviced every 90 days.\n",
    "насос.md": "---\ntitle: Насос\nyear: 2021\n---\nНасос охлаждения проверяют каждые 90 дней.\n",
}
QUESTIONS = [
    "How many grant types does OAuth 2.0 have?",
    "For what was the implicit grant made?",
    "How often is the coolant pump serviced?",
    "Как часто проверяют насос охлаждения?",
    "Who won the cup in 1966?",
    "Thanks!",
]


class Counting(NgramEmbeddings):
    """Counts the texts that it embeds."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.embedded = 0

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += len(texts)
        return self.embed_documents(list(texts))


def settings_in(folder: Path, base: dict[str, Any], **sections: Any) -> Settings:
    given = {
        "knowledge_base": {"file": "kb.sqlite", "path": "docs", "fields": {"year": {"type": "integer"}}, **base},
        "intent": {"mode": "static"},
        "checkpointer": {"type": "memory"},
        "store": {"type": "memory"},
        **sections,
    }
    return load_settings(given).model_copy(update={"base_dir": folder})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents."""
    (tmp_path / "docs").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "docs" / name).write_text(text, "utf-8")
    return tmp_path


async def ingest(settings: Settings, model: NgramEmbeddings, **given: Any) -> Any:
    return await run_ingest(ingest_graph(settings, embeddings=model), given)


@pytest.mark.covers("fault 50")
async def test_an_ingest_of_what_did_not_change_writes_and_embeds_nothing(folder, weaviate_server):
    settings, model = settings_in(folder, weaviate_section(weaviate_server)), Counting(32)
    dry = await ingest(settings, model, dry_run=True)
    assert sorted(dry.changed) == sorted(f"docs/{name}" for name in PAGES)
    assert model.embedded == 0
    store = weaviate_store(settings, knowledge_base_file(settings))
    assert await store.documents() == []
    await store.close()
    first = await ingest(settings, model)
    assert (first.written, first.failed, model.embedded) == (3, [], first.chunks)
    place = knowledge_base_file(settings).place
    before = await objects_of(place, place.chunks(1))
    again = await ingest(settings, model)
    assert (again.written, again.unchanged, model.embedded) == (0, 3, first.chunks)
    assert sorted(await objects_of(place, place.chunks(1))) == sorted(before)


def shape(state: Any) -> dict[str, Any]:
    """What a caller sees of a turn, without ids of this run and numbers that may differ in the last place."""
    record = state["provenance"]
    return {
        "answer": state["answer"],
        "outcome": record["outcome"],
        "citations": state["citations"],
        "keys": sorted(record),
        "sources": {name: (sorted(report), report["status"]) for name, report in record["sources"].items()},
        "results": [
            (
                row["source_id"],
                row["source_type"],
                row["text"],
                sorted(row),
                sorted(row["metadata"]),
                round(row["relevance"], 2),
            )
            for row in record["results"]
        ],
    }


async def conversation(settings: Settings, model: NgramEmbeddings) -> list[dict[str, Any]]:
    chat = ScriptedChatModel(responses=["It says so [1]."] * 20)
    found = []
    async with open_graph(settings, chat_model=chat, embeddings=model) as graph:
        for question in QUESTIONS:
            config = {"configurable": {"thread_id": "t"}}
            found.append(shape(await graph.ainvoke({"messages": [("user", question)]}, config)))
    return found


async def test_a_move_embeds_nothing_and_the_next_ingest_finds_nothing_changed(folder, weaviate_server):
    model = Counting(32)
    embedded, moved = settings_in(folder, {}), settings_in(folder, weaviate_section(weaviate_server))
    await ingest(embedded, model)
    embeddings = model.embedded
    source, store = EmbeddedStore(folder / "kb.sqlite"), weaviate_store(moved, knowledge_base_file(moved))
    first = await move_base(source, store)
    assert (first.documents, first.written, first.failed) == (3, 3, {})
    again = await move_base(source, store)
    assert (again.written, again.unchanged) == (0, 3)
    for row in await source.documents():
        assert await store.document(row.name) == await source.document(row.name)
        assert await store.chunks(row.name) == await source.chunks(row.name)
    await source.close()
    await store.close()
    report = await ingest(moved, model)
    assert (report.written, report.unchanged, model.embedded) == (0, 3, embeddings)
    # Every outcome, citation and key of the record is the same on both back ends.
    before = await conversation(embedded, model)
    assert await conversation(moved, model) == before
    assert len({turn["outcome"] for turn in before}) >= 3
    assert before[3]["results"][0][0] == "docs/насос.md#0"


def command(folder: Path, *arguments: str) -> tuple[int, str, str]:
    program = str(Path(sys.executable).parent / "groundgraph")
    run = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    return run.returncode, run.stdout, run.stderr


def configure(folder: Path, base: dict[str, Any]) -> None:
    written = {"knowledge_base": {"file": "kb.sqlite", "path": "docs", **base}, "intent": {"mode": "static"}}
    (folder / "groundgraph.yaml").write_text(yaml.safe_dump(written), "utf-8")


def test_the_command_line_moves_verifies_lists_and_removes(folder, weaviate_server):
    configure(folder, {})
    assert command(folder, "ingest")[0] == 0
    code, _, errors = command(folder, "move")
    assert (code, "backend" in errors) == (2, True)
    code, output, errors = command(folder, "ingest", "--verify")
    assert (code, "3 documents" in output) == (0, True), errors
    configure(folder, weaviate_section(weaviate_server, prefix="Moved" + folder.name.replace("-", "_")))
    code, output, errors = command(folder, "move", "--json")
    assert (code, json.loads(output)["written"]) == (0, 3), errors
    code, output, _ = command(folder, "ingest")
    assert code == 0
    assert "0 written, 3 unchanged" in output
    assert "in Weaviate at http://127.0.0.1" in output
    code, output, _ = command(folder, "ingest", "--verify", "--json")
    assert (code, json.loads(output)["repaired"], json.loads(output)["documents"]) == (0, 0, 3)
    code, output, _ = command(folder, "ask", "How often is the coolant pump serviced?", "--json")
    assert code == 0
    assert "90 days" in output
    code, output, _ = command(folder, "inspect", "coolant pump", "--json")
    assert json.loads(output)["results"][0]["document"] == "docs/pump.md"
    assert command(folder, "documents", "remove", "docs/pump.md")[0] == 0
    code, output, _ = command(folder, "documents", "list", "--json")
    assert [row["document"] for row in json.loads(output)["documents"]] == ["docs/oauth.md", "docs/насос.md"]


def test_a_server_that_is_away_is_told_by_the_command_line_and_nothing_is_written(folder):
    configure(folder, {"backend": "weaviate", "weaviate": {"url": "http://127.0.0.1:9", "grpc_port": 10}})
    code, _, errors = command(folder, "ingest")
    assert code == 3
    assert "http://127.0.0.1:9 cannot be reached" in errors
    assert not (folder / "kb.sqlite").exists()


def test_several_bases_in_weaviate_need_collections_of_their_own(folder, weaviate_server):
    base = weaviate_section(weaviate_server)
    entries = [{"type": "knowledge_base", "name": name} for name in ("a", "b")]
    with pytest.raises(ConfigurationError, match=r"sources\[0\]\.prefix"):
        ingest_graph(settings_in(folder, base, sources=entries), source="a")
    entries = [{**entry, "prefix": f"{base['weaviate']['prefix']}{entry['name'].upper()}"} for entry in entries]
    settings = settings_in(
        folder, base, sources=[*entries, {"type": "knowledge_base", "name": "c", "path": "c.sqlite"}]
    )
    for name, written in (("a", 3), ("b", 3), ("c", 3)):
        report = asyncio.run(run_ingest(ingest_graph(settings, source=name, embeddings=NgramEmbeddings(16)), {}))
        assert report.written == written
    assert (folder / "c.sqlite").exists()
    place = knowledge_base_file(settings, "b").place
    assert len(object_ids(place, place.documents)) == 3
