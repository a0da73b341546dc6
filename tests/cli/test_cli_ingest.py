"""`groundgraph ingest`."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from document_files import pdf
from hostile_pdf import drawing_itself
from lacking_package import lacking
from plant_database import change, rows_of
from web_site import Site, html

from groundgraph.cli import ingest
from groundgraph.graph import ingest_resources
from groundgraph.graph.ingest import ingest_graph, run_ingest
from groundgraph.nodes.ingest.load_documents import BatchSize
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.testing import NgramEmbeddings, openai_stub

KEYS = ["documents", "chunks", "written", "unchanged", "deleted", "failed", "warnings", "skipped", "seconds"]


@pytest.mark.covers("fault 50")
def test_a_second_ingest_writes_nothing(run, call, docs):
    first, second = run("ingest", "docs", "--json"), call("ingest", "docs", "--json")
    assert (first.code, second.code) == (0, 0)
    assert list(first.json) == KEYS
    assert (first.json["documents"], first.json["written"]) == (2, 2)
    assert (second.json["written"], second.json["unchanged"]) == (0, 2)
    assert (first.err, second.err) == ("", "")


@pytest.mark.covers("fault 48")
def test_a_bad_document_is_listed_and_the_others_are_in(call, docs):
    (docs / "broken.md").write_bytes(bytes(range(128, 256)) * 9)
    (docs / "scan.pdf").write_bytes(b"%PDF")
    (docs / "old.doc").write_bytes(b"?")
    ran = call("ingest", "docs", "missing.md", "--json")
    assert ran.code == 1
    assert ran.json["documents"] == 2
    assert {failure["document"] for failure in ran.json["failed"]} == {
        "docs/broken.md",
        "docs/scan.pdf",
        "docs/old.doc",
        "missing.md",
    }
    assert all(failure["reason"] for failure in ran.json["failed"])
    text = call("ingest", "docs")
    assert text.code == 1
    assert "Failed: docs/old.doc: .doc files are not supported" in text.out


def test_the_summary_names_the_counts_and_the_file(call, docs):
    ran = call("ingest", "docs")
    assert ran.code == 0
    assert "2 documents in 3 chunks: 2 written, 0 unchanged, 0 deleted, 0 failed" in ran.out
    assert ".groundgraph" in ran.out


def test_the_folder_of_the_base_is_ignored_by_git(filled, tmp_path):
    assert (tmp_path / ".groundgraph" / ".gitignore").read_text() == "*\n"


def test_documents_keep_their_names_from_another_folder(call, tmp_path, docs):
    (tmp_path / "groundgraph.yaml").write_text("knowledge_base:\n  path: docs\n")
    first = call("ingest", "--json")
    again = call("ingest", "tokens.md", "--json", cwd=docs)
    assert (first.json["written"], again.json["unchanged"]) == (2, 1)
    assert not (docs / ".groundgraph").exists()


def test_the_size_of_chunks_comes_from_the_configuration(call, docs, tmp_path):
    (docs / "long.txt").write_text("A word and another one. " * 100)
    plain = call("ingest", "docs", "--json").json["chunks"]
    (tmp_path / "small.yaml").write_text("knowledge_base: {chunker: {max_chunk_size: 100}, file: kb.sqlite}\n")
    small = call("ingest", "docs", "--json", "--config", "small.yaml").json["chunks"]
    assert small > plain
    assert (tmp_path / "kb.sqlite").is_file()


def test_nothing_to_ingest_is_wrong_use(call):
    ran = call("ingest")
    assert ran.code == 2
    assert "knowledge_base.path" in ran.err


@pytest.mark.covers("fault 61")
def test_an_address_on_this_machine_is_reported_and_the_files_are_taken_in(call, docs):
    ran = call("ingest", "docs", "http://127.0.0.1:9/page", "--json")
    assert (ran.code, ran.json["documents"]) == (1, 2)
    [failed] = ran.json["failed"]
    assert failed["document"] == "http://127.0.0.1:9/page"
    assert "loopback" in failed["reason"]


@pytest.mark.covers("K2")
def test_a_web_page_is_taken_in_by_its_address(call, tmp_path):
    with closing(Site({"/pump": html("<h1>Pump 17</h1><p>It is serviced daily.</p>", "Pumps")})) as site:
        address = f"http://127.0.0.1:{site.port}"
        (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {web: {allow_private: true}}\n")
        ran = call("ingest", f"{address}/pump", f"{address}/missing", "--json")
        assert (ran.code, ran.json["written"]) == (1, 1)
        assert "404" in ran.json["failed"][0]["reason"]
        again = call("ingest", f"{address}/pump", "--json")
        assert (again.code, again.json["unchanged"]) == (0, 1)
    [row] = call("documents", "--json").json["documents"]
    assert (row["kind"], row["title"], row["document"]) == ("web_pages", "Pumps", f"{address}/pump")


@pytest.mark.covers("K2", "fault 100")
def test_json_lists_lines_and_links_that_were_not_taken_in(call, docs, tmp_path):
    (docs / "parts.jsonl").write_text('{"part": "F2"}\n{broken\n{"part": "S9"}\n')
    (tmp_path / "outside.txt").write_text("Not for anybody.")
    (docs / "link.txt").symlink_to(tmp_path / "outside.txt")
    ran = call("ingest", "docs", "--json")
    [warning], [skipped] = ran.json["warnings"], ran.json["skipped"]
    assert warning["document"] == "docs/parts.jsonl"
    assert warning["reason"].endswith("(no JSON): line 2")
    assert skipped["document"] == "docs/link.txt"
    assert "leads out of the given folder" in skipped["reason"]


@pytest.mark.covers("F11")
def test_front_matter_that_is_not_read_is_told_once_for_each_document(call, docs):
    (docs / "bomb.md").write_text("---\na: &a [x, x]\nb: [*a, *a]\n---\n# Pump\n\nPump 17 is serviced daily.\n")
    for expected in ("written", "unchanged"):
        ran = call("ingest", "docs/bomb.md", "--json")
        assert (ran.code, ran.json[expected]) == (0, 1)
        assert ran.err == "Warning: docs/bomb.md: the front matter cannot be read and was left out: it uses aliases\n"


@pytest.mark.covers("F11")
def test_what_several_documents_are_warned_of_is_one_line_that_names_them(call, docs):
    for name in ("bomb", "bang"):
        (docs / f"{name}.md").write_text("---\na: &a [x, x]\nb: [*a, *a]\n---\n# Pump\n\nServiced daily.\n")
    ran = call("ingest", "docs/bomb.md", "docs/bang.md")
    warnings = [line for line in ran.err.splitlines() if line.startswith("Warning")]
    assert [line.partition(": the front matter")[0] for line in warnings] == ["Warning: docs/bomb.md, docs/bang.md"]


@pytest.mark.covers("F10", "fault 100")
def test_a_link_out_of_the_folder_is_listed_and_followed_only_when_asked_for(call, docs, tmp_path):
    (tmp_path / "secret.md").write_text("The password is hunter2.\n")
    (docs / "link.md").symlink_to(tmp_path / "secret.md")
    ran = call("ingest", "docs")
    assert (ran.code, "2 written" in ran.out) == (0, True)
    assert "Skipped: docs/link.md: it is a link that leads out of the given folder" in ran.out
    asked = call("ingest", "docs", "--follow-links", "--json")
    assert (asked.code, asked.json["written"], asked.err) == (0, 1, "")
    # What was taken in through a link goes again when links are followed no more.
    assert call("ingest", "docs", "--json").json["deleted"] == 1
    (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {follow_links: true}\n")
    assert call("ingest", "docs", "--json").json["written"] == 1


@pytest.mark.covers("F1", "fault 89")
def test_a_web_page_is_read_within_the_same_limits(call, tmp_path):
    pages = {"/self.pdf": (200, {"Content-Type": "application/pdf"}, drawing_itself()), "/pump": html("<p>Daily.</p>")}
    with closing(Site(pages)) as site:
        address = f"http://127.0.0.1:{site.port}"
        limits = "knowledge_base: {web: {allow_private: true}, reader: {memory: 300MB, seconds: 3}}\n"
        (tmp_path / "groundgraph.yaml").write_text(limits)
        ran = call("ingest", f"{address}/self.pdf", f"{address}/pump", "--json")
    assert (ran.code, ran.json["written"]) == (1, 1)
    assert "knowledge_base.reader." in ran.json["failed"][0]["reason"]


@pytest.mark.covers("K1")
def test_a_dry_run_tells_what_would_happen_and_makes_no_file(call, docs, tmp_path):
    ran = call("ingest", "docs", "--dry-run", "--json")
    assert (ran.code, ran.json["dry_run"]) == (0, True)
    assert ran.json["changed"] == ["docs/tokens.md", "docs/пароли.txt"]
    assert not (tmp_path / ".groundgraph").exists()
    text = call("ingest", "docs", "--dry-run")
    assert "Would write: docs/tokens.md" in text.out
    assert "2 written" in text.out
    assert call("ingest", "docs", "--dry-run", "--rebuild").code == 2


@pytest.mark.covers("K1")
def test_another_embedding_model_needs_a_rebuild(call, docs, tmp_path):
    with openai_stub() as stub:
        config = tmp_path / "groundgraph.yaml"
        model = "embeddings: {{provider: openai, model: {}, base_url: '{}', check_embedding_ctx_length: false}}\n"
        config.write_text(model.format("small", stub.base_url))
        assert call("ingest", "docs", "--json", OPENAI_API_KEY="k").code == 0
        config.write_text(model.format("large", stub.base_url))
        refused = call("ingest", "docs", OPENAI_API_KEY="k")
        assert refused.code == 2
        assert "--rebuild" in refused.err
        ran = call("ingest", "--rebuild", "--json", OPENAI_API_KEY="k")
        assert (ran.code, ran.json["written"]) == (0, 2)


def test_of_several_knowledge_bases_one_must_be_named(call, docs, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(
        "sources:\n- {type: knowledge_base, name: a, path: a.sqlite}\n"
        "- {type: knowledge_base, name: b, path: b.sqlite}\n"
    )
    ran = call("ingest", "docs")
    assert ran.code == 2
    assert "--source: a, b" in ran.err
    assert call("ingest", "docs", "--source", "b").code == 0
    assert (tmp_path / "b.sqlite").is_file()
    assert not (tmp_path / "a.sqlite").exists()
    assert call("ingest", "docs", "--source", "c").code == 2


def test_sources_without_a_knowledge_base_cannot_be_filled(call, docs, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("sources:\n- {type: memory, records: [x]}\n")
    ran = call("ingest", "docs")
    assert ran.code == 2
    assert "nothing to fill" in ran.err


@pytest.mark.covers("K2")
def test_the_minimal_configuration_needs_the_package_of_its_embeddings_and_not_that_of_its_model(
    call, docs, monkeypatch
):
    lacking("langchain_ollama", monkeypatch)
    minimal = Path(__file__).parent.parent / "core" / "configs" / "minimal_config.yaml"
    text = minimal.read_text("utf-8")
    (docs.parent / "groundgraph.yaml").write_text(text)
    refused = call("ingest")
    assert refused.code == 2
    assert "knowledge_base.embeddings: models of 'ollama' need: pip install" in refused.err
    bare = text.replace("  embeddings:\n    provider: ollama\n    model: mxbai-embed-large\n", "")
    (docs.parent / "groundgraph.yaml").write_text(bare)
    ran = call("ingest", "--json")
    assert (ran.code, ran.json["documents"]) == (0, 2)
    assert call("inspect", "access token", "--json").json["results"][0]["document"] == "docs/tokens.md"


@pytest.mark.covers("K2")
def test_pages_of_many_batches_ask_for_robots_txt_once_and_keep_its_pause(call, tmp_path, monkeypatch):
    monkeypatch.setattr(ingest_resources, "BatchSize", lambda: BatchSize(pages=2))
    pages = {f"/{n}": html(f"<p>Pump {n} is serviced daily.</p>") for n in range(5)}
    pages["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /3\n")
    with closing(Site(pages)) as site:
        address = f"http://127.0.0.1:{site.port}"
        (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {web: {allow_private: true}}\n")
        ran = call("ingest", *(f"{address}/{n}" for n in range(5)), "--json")
    assert (ran.code, ran.json["written"]) == (1, 4)
    assert [path for _, path in site.asked].count("/robots.txt") == 1
    [failed] = ran.json["failed"]
    assert failed["document"] == f"{address}/3"
    assert failed["reason"].startswith(f"{address}/robots.txt does not allow")


@pytest.mark.covers("fault 61")
def test_a_password_in_an_address_is_not_repeated(call):
    ran = call("ingest", "http://reader:hunter2@127.0.0.1:9/page", "--json")
    assert (ran.code, ran.json["failed"][0]["document"]) == (1, "http://***@127.0.0.1:9/page")
    assert "hunter2" not in ran.out + ran.err


@pytest.mark.covers("K1", "K5")
def test_what_was_passed_over_and_which_chains_do_without_their_model_is_told_beside_the_json(call, docs, tmp_path):
    (docs / "photo.png").write_bytes(b"?")
    (tmp_path / "groundgraph.yaml").write_text("chains: {documents: {matching_text: questions}}\n")
    ran = call("ingest", "docs", "--json")
    assert ran.code == 0
    assert "Passed over, being no documents: .png (1)" in ran.err
    assert "Notice: chains.documents.matching_text: 'questions' needs a model" in ran.err


@pytest.mark.covers("K2")
def test_a_password_from_the_environment_opens_a_pdf_and_is_never_shown(call, tmp_path):
    pdf(tmp_path / "locked.pdf", ["Pumps are serviced every Monday."], encrypt="test")
    told = call("ingest", "locked.pdf", "--json").json["failed"][0]["reason"]
    variable = "GROUNDGRAPH_KNOWLEDGE_BASE__PASSWORDS"
    assert variable in told
    ran = call("ingest", "locked.pdf", "--json", **{variable: '{"*.pdf": "test"}'})
    assert (ran.code, ran.json["written"]) == (0, 1)
    wrong = call("ingest", "locked.pdf", "--rebuild", **{variable: "hunter2"})
    assert wrong.code == 2
    assert "hunter2" not in wrong.out + wrong.err


@pytest.mark.covers("F16", "fault 97")
def test_verify_names_what_is_not_as_written_and_the_next_ingest_writes_it_again(filled, tmp_path):
    base = tmp_path / ".groundgraph" / "knowledge_base.sqlite"
    assert filled("ingest", "--verify", "--json").json == {
        "documents": 2, "chunks": 3, "repaired": 0, "removed": 0, "incomplete": [], "altered": [],
    }  # fmt: skip
    names = [name for (name,) in rows_of(base, "SELECT name FROM documents ORDER BY id")]
    poisoned = "UPDATE chunks SET text = 'poisoned' WHERE document_id = 2"
    change(base, "DELETE FROM chunks WHERE document_id = 1", poisoned)
    ran = filled("ingest", "--verify", "--json")
    assert ran.code == 1
    assert (ran.json["incomplete"], ran.json["altered"]) == (names[:1], names[1:])
    again = filled("ingest", "docs", "--json")
    assert (again.code, again.json["written"]) == (0, 2)
    assert "2 documents" in filled("ingest", "--verify").out
    with closing(sqlite3.connect(base)) as connection:
        connection.execute(
            "DELETE FROM chunks WHERE document_id = (SELECT id FROM documents WHERE name = ?)", names[:1]
        )
        connection.execute("UPDATE documents SET text = 'poisoned' WHERE name = ?", names[1:])
        connection.commit()
    ran = filled("ingest", "--verify")
    assert ran.code == 1
    for line in (f"Incomplete, .*writes it anew: {names[0]}$", f"Altered, .*writes it anew: {names[1]}$"):
        assert re.search(line, ran.out, re.MULTILINE)


@pytest.mark.covers("F16", "fault 97")
@pytest.mark.parametrize("given", [{}, {"rebuild": True}])
@pytest.mark.parametrize("embeddings", [None, NgramEmbeddings(16)])
async def test_what_opening_the_base_had_to_take_out_is_in_the_report_of_an_ingest(docs, tmp_path, given, embeddings):
    class Lossy(EmbeddedStore):
        async def open(self, identity, *, rebuild=False):
            await super().open(identity, rebuild=rebuild)
            return ["docs/" + next(docs.iterdir()).name, "other/gone.md"]

    settings = load_settings({}).model_copy(update={"base_dir": tmp_path})
    graph = ingest_graph(settings, embeddings=embeddings, knowledge_store=Lossy(tmp_path / "kb.sqlite"))
    report = await run_ingest(graph, {"paths": ["docs"], **given})
    assert [(one["document"], "lost" in one["reason"]) for one in report.failed] == [("other/gone.md", True)]
    assert [one["document"] for one in report.warnings] == ["docs/" + next(docs.iterdir()).name]
    # This run writes it, so there is nothing to do.
    assert report.warnings[0]["reason"].endswith("lost in the base, so it is taken in anew")
    assert report.written == 2


@pytest.mark.covers("B12")
def test_the_encoding_of_files_is_told_on_the_command_line_and_by_glob_in_the_configuration(call, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.txt").write_bytes("Хранить насос в сухом месте.".encode("cp1251"))
    assert call("ingest", "old", "--encoding", "cp1251", "--json").json["failed"] == []
    asked = call("ask", "Где хранить насос?", "--json").json
    assert [(one["quote"], one["encoding"]) for one in asked["citations"]] == [
        ("Хранить насос в сухом месте.", "cp1251")
    ]
    (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {encodings: {'old/*': cp1251}}\n")
    again = call("ingest", "old", "--json")
    assert (again.json["unchanged"], again.json["failed"]) == (1, [])
    refused = call("ingest", "old", "--encoding", "hex")
    assert refused.code == 2
    assert "there is no encoding 'hex'" in refused.err
    (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {encodings: {'old/*': nope}}\n")
    assert "there is no encoding 'nope'" in call("ingest", "old").err


@pytest.mark.covers("B3")
def test_files_that_lack_a_package_are_told_once_and_before_the_work(call, docs, monkeypatch):
    monkeypatch.setattr(ingest, "find_spec", lambda name: None if name in ("mammoth", "pptx") else True)
    for name in ("a.docx", "b.docx", "c.pptx", "d.csv"):
        (docs / name).write_bytes(b"x")
    ran = call("ingest", "docs")
    told = "3 files cannot be read here (a Word document: 2, a PowerPoint presentation: 1). Needed: pip install"
    assert ran.err.count(told) == 1
    assert "will fail" not in call("ingest", "docs/tokens.md").err


@pytest.mark.covers("B3")
def test_one_reason_of_many_documents_is_told_once(call, docs):
    for name in ("a.pdf", "b.pdf"):
        (docs / name).write_bytes(b"x")
    ran = call("ingest", "docs")
    assert "Failed: docs/a.pdf, docs/b.pdf: it is no PDF" in ran.out
