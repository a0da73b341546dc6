"""`groundgraph documents` (K12)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.covers("K12")


def test_documents_are_listed_with_and_without_the_word(filled):
    plain, named = filled("documents", "--json"), filled("documents", "list", "--json")
    assert plain.code == named.code == 0
    assert plain.json == named.json
    rows = plain.json["documents"]
    assert [(row["document"], row["kind"], row["chunks"], row["from_file"]) for row in rows] == [
        ("docs/tokens.md", "documents", 2, True),
        ("docs/пароли.txt", "documents", 1, True),
    ]
    assert rows[0]["title"] == "tokens"
    assert rows[0]["written_at"]
    text = filled("documents", "list")
    assert "docs/tokens.md\tdocuments\t2 chunks" in text.out
    assert "2 documents in" in text.err


def test_one_is_shown_with_its_text_and_chunks_whose_offsets_are_exact(filled, docs):
    ran = filled("documents", "show", "docs/tokens.md", "--json")
    assert ran.code == 0
    shown = ran.json
    assert shown["text"] == (docs / "tokens.md").read_text("utf-8")
    assert shown["metadata"]["title"] == "tokens"
    assert [chunk["headings"] for chunk in shown["chunks"]] == [["Tokens"], ["Scopes"]]
    for chunk in shown["chunks"]:
        assert shown["text"][chunk["start"] : chunk["end"]] == chunk["text"]
        assert chunk["matching_texts"][0].endswith(chunk["text"])
    text = filled("documents", "show", "docs/tokens.md").out
    assert "docs/tokens.md#1 [" in text
    assert "A scope limits" in text


def test_one_is_removed_and_found_no_more(filled):
    ran = filled("documents", "remove", "docs/tokens.md", "--json")
    assert (ran.code, ran.json) == (0, {"document": "docs/tokens.md", "removed": True})
    assert filled("inspect", "token", "--json").json["results"] == []
    again = filled("documents", "remove", "docs/tokens.md", "--json")
    assert (again.code, again.json["removed"]) == (1, False)
    assert "There is no document 'docs/tokens.md'" in again.err


def test_a_document_that_is_not_there(filled, call):
    ran = filled("documents", "show", "nothing.md", "--json")
    assert (ran.code, ran.json) == (1, {"document": "nothing.md", "found": False})
    assert "There is no document 'nothing.md'" in ran.err


def test_an_empty_folder_has_no_documents_and_stays_empty(call, tmp_path):
    assert call("documents", "--json").json == {"documents": []}
    assert call("documents", "remove", "x").code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_not_utf_8_is_that_of_no_document(filled):
    for command in ("show", "remove"):
        ran = filled("documents", command, "caf\udce9.md", "--json")
        assert ran.code == 1
        assert "There is no document" in ran.err


@pytest.mark.covers("B11")
def test_a_document_is_found_by_the_path_by_which_it_was_given(call, docs, tmp_path):
    here = tmp_path / "project"
    here.mkdir()
    assert call("ingest", "../docs", cwd=here).code == 0
    shown = call("documents", "show", "../docs/tokens.md", "--json", cwd=here)
    assert shown.json["document"] == str(docs / "tokens.md")
    assert call("documents", "remove", "../docs/tokens.md", cwd=here).code == 0
    assert call("documents", "show", str(docs / "tokens.md"), cwd=here).code == 1
