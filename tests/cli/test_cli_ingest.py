"""`groundgraph ingest`."""

from __future__ import annotations

from pathlib import Path

KEYS = ["documents", "chunks", "written", "unchanged", "deleted", "failed", "seconds"]


def test_fault_50_a_second_ingest_writes_nothing(run, docs):
    first, second = run("ingest", "docs", "--json"), run("ingest", "docs", "--json")
    assert (first.code, second.code) == (0, 0)
    assert list(first.json) == KEYS
    assert (first.json["documents"], first.json["written"]) == (2, 2)
    assert (second.json["written"], second.json["unchanged"]) == (0, 2)
    assert (first.err, second.err) == ("", "")


def test_fault_48_a_bad_document_is_listed_and_the_others_are_in(call, docs):
    (docs / "broken.md").write_bytes(b"\xff\xfe\x00\x01" * 50)
    (docs / "scan.pdf").write_bytes(b"%PDF")
    ran = call("ingest", "docs", "missing.md", "--json")
    assert ran.code == 1
    assert ran.json["documents"] == 2
    assert {failure["document"] for failure in ran.json["failed"]} == {
        "docs/broken.md",
        "docs/scan.pdf",
        "missing.md",
    }
    assert all(failure["reason"] for failure in ran.json["failed"])
    text = call("ingest", "docs")
    assert text.code == 1
    assert "Failed: docs/scan.pdf: .pdf files are not supported" in text.out


def test_the_summary_names_the_counts_and_the_file(run, docs):
    ran = run("ingest", "docs")
    assert ran.code == 0
    assert "2 documents in 3 chunks: 2 written, 0 unchanged, 0 deleted, 0 failed" in ran.out
    assert ".groundgraph" in ran.out


def test_fault_54_documents_that_are_gone_are_taken_out(filled, docs):
    (docs / "tokens.md").unlink()
    assert filled("ingest", "docs", "--json").json["deleted"] == 1


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


def test_an_address_is_reported(call, docs):
    ran = call("ingest", "docs", "https://example.org/page", "--json")
    assert (ran.code, ran.json["documents"]) == (1, 2)
    assert ran.json["failed"][0]["document"] == "https://example.org/page"


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


def test_k2_web_pages_of_a_folder_are_taken_in_and_one_without_text_is_reported(call, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "pump.html").write_text(
        "<html><head><title>Pumps</title></head><body><nav><a href='/'>Home</a></nav><main><h1>Pump 17</h1>"
        "<p>The pump is serviced every 90 days.</p></main></body></html>"
    )
    (docs / "app.htm").write_text("<html><body><div id='root'></div><script>start()</script></body></html>")
    ran = call("ingest", "docs", "--json")
    assert (ran.code, ran.json["documents"]) == (1, 1)
    [failed] = ran.json["failed"]
    assert failed["document"] == "docs/app.htm"
    assert "no main text" in failed["reason"]
    [citation] = call("ask", "Is the pump serviced every 90 days?", "--json").json["citations"]
    assert (citation["title"], citation["section"]) == ("Pumps", "Pump 17")
    stored = "# Pump 17\n\nThe pump is serviced every 90 days.\n"
    assert stored[citation["start"] : citation["end"]] == citation["quote"]


def test_k2_the_minimal_configuration_takes_in_its_folder_and_is_searched_without_the_package_of_its_model(call, docs):
    minimal = Path(__file__).parent.parent / "core" / "configs" / "minimal_config.yaml"
    (docs.parent / "groundgraph.yaml").write_text(minimal.read_text("utf-8"))
    ran = call("ingest", "--json")
    assert (ran.code, ran.json["documents"]) == (0, 2)
    assert call("inspect", "access token", "--json").json["results"][0]["document"] == "docs/tokens.md"
