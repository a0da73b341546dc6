"""`groundgraph doctor`: can this machine run this configuration (U5)."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from plant_database import change

from groundgraph import InMemorySource, turn_graph
from groundgraph.cli import doctor_checks
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Reply, openai_stub

pytestmark = pytest.mark.covers("U5")


def states(ran) -> dict[str, str]:
    return {check["check"]: check["state"] for check in ran.json["checks"]}


def test_an_empty_folder_is_well_and_told_what_comes_first(call, tmp_path):
    ran = call("doctor")
    assert ran.code == 0
    assert "warn  knowledge base knowledge_base: there is nothing in" in ran.out
    assert ran.out.endswith("\nEverything that is needed is there, but no documents yet: groundgraph ingest PATH\n")
    assert "fail" not in ran.out.split("Everything")[0]
    assert list(tmp_path.iterdir()) == []


def test_a_filled_base_is_well_throughout(filled):
    ran = filled("doctor", "--json")
    assert ran.code == 0
    assert ran.json["ok"] is True
    assert set(states(ran).values()) == {"ok"}
    own = {"Python", "packages", "SQLite", "documents", "folder", "models", "server"}
    assert {*own, "knowledge base knowledge_base", "source knowledge_base"} == set(states(ran))


def stub(folder, package: str, source: str) -> None:
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(source)


@pytest.mark.covers("B2")
def test_a_package_that_is_installed_and_does_not_load_fails_with_its_own_words(call, docs, tmp_path, monkeypatch):
    cause = "lxml.html.clean module is now a separate project lxml_html_clean."
    stub(tmp_path / "stubs", "trafilatura", f"raise ImportError({cause!r})")
    monkeypatch.syspath_prepend(str(tmp_path / "stubs"))
    told = f"HTML needs the package trafilatura, which is installed and does not load ({cause})"
    ran = call("doctor")
    assert ran.code == 1
    assert f"fail  documents: {told}" in ran.out
    (docs / "page.html").write_text("<html><body><main><p>Pump 17 is serviced daily.</p></main></body></html>")
    ingested = call("ingest", "docs")
    assert ingested.code == 1
    assert f"Failed: docs/page.html: {told}" in ingested.out


@pytest.mark.covers("B2")
def test_a_package_that_is_not_there_fails_only_where_documents_need_it(call, docs, tmp_path, monkeypatch):
    stub(tmp_path / "stubs", "mammoth", "raise ModuleNotFoundError('No module named mammoth', name='mammoth')")
    monkeypatch.syspath_prepend(str(tmp_path / "stubs"))
    (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {path: docs}\n")
    ran = call("doctor")
    assert ran.code == 0
    assert "ok    documents: packages are not installed that only these need: a Word document" in ran.out
    (docs / "letter.docx").write_bytes(b"")
    ran = call("doctor")
    assert ran.code == 1
    assert "fail  documents: a Word document needs the package mammoth, which is not installed: pip install" in ran.out


def test_a_base_of_a_newer_version_fails(filled, tmp_path):
    change(tmp_path / ".groundgraph" / "knowledge_base.sqlite", "PRAGMA user_version = 99")
    ran = filled("doctor", "--json")
    assert ran.code == 1
    assert states(ran)["knowledge base knowledge_base"] == "fail"
    assert "schema version 99" in next(c["message"] for c in ran.json["checks"] if c["state"] == "fail")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("knowledge_base.sqlite", "knowledge base knowledge_base: "),
        ("threads.sqlite", "checkpointer: The file {file} of the checkpointer or the store is not"),
        ("evidence.sqlite", "store: The file {file} of the checkpointer or the store is not"),
    ],
)
def test_a_file_that_is_no_database_fails(filled, tmp_path, name, told):
    file = tmp_path / ".groundgraph" / name
    file.write_bytes(b"no database" * 500)
    ran = filled("doctor")
    assert ran.code == 1
    assert f"fail  {told.format(file=file)}" in ran.out
    assert "\n1 failure.\n" in ran.out


def test_a_base_that_may_not_even_be_looked_for_fails_beside_the_other_checks(call, tmp_path):
    name = "a" * 300  # longer than a file may be called
    (tmp_path / "groundgraph.yaml").write_text(f"knowledge_base: {{file: {name}}}\n")
    ran = call("doctor")
    assert ran.code == 1
    assert f"{name} cannot be read: File name too long\n" in ran.out
    assert "ok    models: " in ran.out


@pytest.mark.covers("fault 90")
def test_a_base_on_a_full_disk_is_not_to_be_deleted(filled, monkeypatch):
    def full(*_: object) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    monkeypatch.setattr(doctor_checks, "open_for_reading", full)
    monkeypatch.setattr("groundgraph.sources.knowledge_base.schema.open_for_reading", full)
    for ran in (filled("doctor"), filled("documents", "list")):
        assert ran.code
        assert "disk I/O error" in ran.out + ran.err
        assert "The disk is full or failing: make room on it" in ran.out + ran.err
        assert "elete" not in ran.out + ran.err


@pytest.mark.covers("fault 14")
def test_a_missing_key_fails_and_names_the_variable(filled, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: openai, model: m}\n")
    ran = filled("doctor", "--json")
    assert ran.code == 1
    assert states(ran)["llm"] == "fail"
    assert "OPENAI_API_KEY" in ran.out


@pytest.mark.covers("fault 14")
def test_a_key_that_is_there_is_not_shown(filled, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: openai, model: m}\n")
    ran = filled("doctor", OPENAI_API_KEY="sk-very-secret")
    assert ran.code == 0
    assert "sk-very-secret" not in ran.out + ran.err


@pytest.mark.covers("U6")
def test_notices_of_the_configuration_are_warnings(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("chains: {documents: {matching_text: questions}}\n")
    ran = call("doctor", "--json")
    assert ran.code == 0
    assert states(ran)["configuration"] == "warn"
    assert "'content' takes its place" in ran.out


@pytest.mark.covers("U6")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("intent: {num_queries: 7}\n", "intent.num_queries"),
        ("category_router: {intents: {a: [b]}}\n", "no source has categories"),
        ("category_router: {enabled: true}\n", "category_router.enabled"),
        ("enhanced_autonomous_retrieval: true\nenhanced_retrieval: {stages: [rewrite]}\n", "rewrite need a model"),
    ],
)
def test_what_ask_refuses_fails_in_doctor_and_config_check_tells_that_python_must_pass_it(call, tmp_path, text, told):
    (tmp_path / "groundgraph.yaml").write_text(text)
    ran = call("doctor", "--json")
    assert (ran.code, states(ran)["configuration"]) == (1, "fail")
    assert told in ran.out
    assert call("ask", "When?").code == 2
    checked = call("config", "check", "groundgraph.yaml", "--json")
    assert checked.json["ok"]
    assert checked.json["notices"][-1].startswith("no turn is run from this file alone")


@pytest.mark.covers("U6")
def test_a_topic_index_that_lacks_its_vectors_fails_in_doctor_and_is_told_by_config_check(call, tmp_path):
    index = "sources: [{type: knowledge_base, name: handbook, topic_index: {type: cluster}}]\n"
    (tmp_path / "groundgraph.yaml").write_text(index)
    told = "'cluster' works with vectors, and there is no embedding model; set `embeddings`"
    ran = call("doctor", "--json")
    assert (ran.code, ran.json["ok"], states(ran)["configuration"]) == (1, False, "fail")
    assert told in ran.out
    checked = call("config", "check", "groundgraph.yaml", "--json")
    # In Python a model may still be passed.
    assert (checked.code, checked.json["ok"]) == (0, True)
    assert told in checked.out
    assert checked.json["notices"][-1].startswith("no turn is run from this file alone")


@pytest.mark.covers("fault 14")
def test_an_embedding_model_without_its_key_or_provider_fails(call, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for model, told in (("{provider: openai, model: m}", "OPENAI_API_KEY"), ("{model: m}", "name the `provider`")):
        (tmp_path / "groundgraph.yaml").write_text(f"embeddings: {model}\n")
        ran = call("doctor", "--json")
        assert ran.code == 1
        assert states(ran)["embeddings"] == "fail"
        assert told in ran.out


def test_another_python_fails(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert doctor_checks.python_version().state == "fail"


def test_a_missing_or_old_package_fails_with_the_command(monkeypatch):
    monkeypatch.setattr(doctor_checks, "requires", lambda _: ["nowhere>=1", "pytest<1", 'x>1; extra == "web"'])
    found = list(doctor_checks.package_versions())
    assert [(item.state, item.todo) for item in found] == [
        ("fail", 'pip install "nowhere>=1"'),
        ("fail", 'pip install "pytest<1"'),
    ]


@pytest.mark.parametrize("writable", [True, False])
def test_a_folder_that_cannot_be_written_fails(tmp_path, monkeypatch, writable):
    # Everything can be written by root, as which tests may run.
    monkeypatch.setattr(os, "access", lambda *_: writable)
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "a/b/c.sqlite")}})
    assert {finding.state for finding in doctor_checks.writable_folders(settings)} == {"ok" if writable else "fail"}


@pytest.mark.covers("fault 90")
@pytest.mark.parametrize(("room", "state"), [((9, 9, 0), "fail"), ((9, 8, 1), "ok"), ((0, 0, 0), "ok")])
def test_a_full_disk_fails(tmp_path, monkeypatch, room, state):
    room_of_here = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type(room_of_here)(*room))
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "b.sqlite")}})
    assert {finding.state for finding in doctor_checks.writable_folders(settings)} == {state}


def test_server_packages_that_do_not_load_together_fail(monkeypatch):
    assert doctor_checks.server_packages().state == "ok"
    monkeypatch.setattr(doctor_checks, "_SERVER", ("langgraph_api", "weaviate", "this"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert doctor_checks.server_packages().state == "fail"
    monkeypatch.setattr(doctor_checks, "_SERVER", ("no_such_package",))
    assert "not installed" in doctor_checks.server_packages().message


@pytest.mark.covers("B11")
def test_a_model_is_called_when_asked_and_a_refused_key_is_told(call, tmp_path):
    text = "sources: [{type: memory, name: docs, records: [Pump 17 is serviced daily.]}]\n"
    with openai_stub("OK") as stub:
        model = f'llm: {{provider: openai, model: m, base_url: "{stub.base_url}"}}\n'
        (tmp_path / "groundgraph.yaml").write_text(text + model)
        untried = call("doctor", OPENAI_API_KEY="k")
        assert "--try calls it" in untried.out
        assert not stub.requests
        tried = call("doctor", "--try", OPENAI_API_KEY="k")
        assert tried.code == 0
        assert "ok    llm: openai m: answers in" in tried.out
    with refusing_server() as url:
        (tmp_path / "groundgraph.yaml").write_text(text + f'llm: {{provider: openai, model: m, base_url: "{url}"}}\n')
        refused = call("doctor", "--try", OPENAI_API_KEY="k")
        assert refused.code == 1
        assert "401" in refused.out
        assert "The key is wrong" in refused.out
        asked = call("ask", "How often is pump 17 serviced?", OPENAI_API_KEY="k")
        assert asked.code == 1
        assert "Pump 17 is serviced daily." in asked.out
        assert "`groundgraph doctor --try` calls the model once" in asked.err
    with openai_stub(Reply("no such model", status=404)) as stub:
        model = f'llm: {{provider: openai, model: m, base_url: "{stub.base_url}"}}\n'
        (tmp_path / "groundgraph.yaml").write_text(text + model)
        unknown = call("doctor", "--try", OPENAI_API_KEY="k")
    assert "There is no model of this name" in unknown.out
    unreachable = call("doctor", "--try", OPENAI_API_KEY="k")
    assert "Is the network there, or the server started, and is `base_url` right?" in unreachable.out


@contextmanager
def refusing_server():
    """The address of a provider that takes no key."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(401)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.mark.covers("B11")
def test_a_source_whose_index_is_built_for_the_first_time_is_waited_for(capsys, monkeypatch):
    class Slow(InMemorySource):
        ready = False

        async def refresh(self) -> None:
            await asyncio.sleep(0.3)
            self.ready = True

        async def query(self, *args, **options):
            assert self.ready
            return await super().query(*args, **options)

    monkeypatch.setattr(doctor_checks, "SECONDS_BETWEEN_LINES", 0.05)
    graph = turn_graph(sources=[Slow(["Pump 17."], name="pumps")])
    [probed] = asyncio.run(doctor_checks.probed_sources(graph.resources))
    assert probed.answers
    assert probed.milliseconds < 300
    assert "pumps: getting its index ready" in capsys.readouterr().err
