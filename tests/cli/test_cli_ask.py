"""`groundgraph ask`."""

from __future__ import annotations

import pytest

from groundgraph.testing import openai_stub

KEYS = {"answer", "outcome", "notes", "citations", "choices", "support", "provenance", "messages", "thread_id"}
QUESTION = "When does an access token expire?"


@pytest.mark.covers("U5")
def test_an_answer_with_its_citations(filled):
    ran = filled("ask", QUESTION)
    assert ran.code == 0
    assert "> An access token expires after one hour. 🙂 A refresh token lives for 30 days. [1]" in ran.out
    assert ran.out.count("[1] knowledge_base: docs/tokens.md:3\n") == 1
    assert "Outcome: answered" in ran.out
    assert "No language model" not in ran.out
    assert "--thread ask-" in ran.err


@pytest.mark.covers("U5")
def test_json_is_one_document_with_the_output_keys(filled, docs):
    ran = filled("ask", QUESTION, "--json")
    turn = ran.json
    assert (ran.code, set(turn)) == (0, KEYS)
    assert [message["role"] for message in turn["messages"]] == ["user", "assistant"]
    citation = turn["citations"][0]
    text = (docs / "tokens.md").read_text("utf-8")
    assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert turn["thread_id"] in ran.err


@pytest.mark.covers("fault 32", "R5")
def test_a_base_that_was_never_filled_is_unavailable_and_names_the_command(call):
    text, document = call("ask", QUESTION), call("ask", QUESTION, "--json")
    assert (text.code, document.code) == (3, 3)
    assert text.out.startswith("There is nothing to search in knowledge_base yet. `groundgraph ingest PATH` fills it")
    assert "ask again later" not in text.out
    assert document.json["outcome"] == "unavailable"
    assert "groundgraph ingest PATH" in " ".join(document.json["notes"])
    # Where the base would be is for its owner alone.
    assert "knowledge_base.sqlite" in document.err
    assert "knowledge_base.sqlite" not in " ".join(document.json["notes"])


@pytest.mark.covers("fault 32", "R5")
@pytest.mark.parametrize("emptied", ["wrong path", "empty folder", "removed"])
@pytest.mark.parametrize("index", ["", "topic_index: {type: heading_tree}"], ids=["plain", "topic index"])
def test_a_base_that_holds_nothing_is_unavailable_whoever_made_it(call, docs, tmp_path, emptied, index):
    if emptied == "removed":
        call("ingest", "docs")
        assert [call("documents", "remove", f"docs/{name}").code for name in ("tokens.md", "пароли.txt")] == [0, 0]
    elif emptied == "empty folder":
        (tmp_path / "none").mkdir()
        ran = call("ingest", "none")
        assert (ran.code, ran.err) == (0, "Warning: no document was found there, so nothing was taken in.\n")
    else:
        assert call("ingest", "dcos").code == 1
    (tmp_path / "groundgraph.yaml").write_text(f"sources: [{{type: knowledge_base, name: knowledge_base, {index}}}]")
    asked = call("ask", QUESTION)
    assert asked.code == 3
    assert asked.out.startswith("There is nothing to search in knowledge_base yet. `groundgraph ingest PATH` fills it")
    doctor = call("doctor")
    assert "warn  knowledge base knowledge_base: there is nothing in" in doctor.out
    assert "but no documents yet: groundgraph ingest PATH" in doctor.out
    sources = call("sources", "--json").json["sources"]
    assert ("holds no document" in sources[0]["reason"], sources[0]["answers"]) == (True, False)


@pytest.mark.covers("fault 33")
def test_what_nothing_covers_is_done_and_insufficient(filled):
    ran = filled("ask", "Which mountains are in Peru?", "--json")
    assert (ran.code, ran.json["outcome"], ran.json["citations"]) == (0, "insufficient", [])


@pytest.mark.covers("fault 3")
def test_russian_and_emoji_come_back_as_they_were(filled):
    question = "Как часто меняют пароль? 🙂👩‍👧"
    turn = filled("ask", question, "--json").json
    assert turn["messages"][0]["text"] == question
    assert "> Пароль меняют каждые 90 дней. Это делает администратор. [1]" in turn["answer"]
    assert "Из материалов" in turn["answer"]


@pytest.mark.covers("fault 3")
def test_a_terminal_without_unicode_still_gets_valid_json(filled_run):
    ran = filled_run("ask", "Пароль 🙂", "--json", PYTHONIOENCODING="ascii")
    assert ran.out.isascii()
    assert ran.json["messages"][0]["text"] == "Пароль 🙂"
    assert filled_run("ask", "Пароль 🙂", PYTHONIOENCODING="ascii").code == 0


@pytest.mark.covers("fault 5")
def test_bytes_that_are_no_text_are_replaced(filled):
    # What Python makes of a byte that is no text.
    turn = filled("ask", "access token \udcff", "--json").json
    assert turn["messages"][0]["text"] == "access token \ufffd"
    assert len(turn["notes"]) == 1


@pytest.mark.covers("fault 1")
def test_an_empty_question_is_no_failure(filled):
    ran = filled("ask", " ", "--json")
    assert (ran.code, ran.json["outcome"]) == (0, "chat")


def test_a_document_cannot_send_commands_to_the_terminal(call, docs):
    (docs / "evil.txt").write_text("A zebra \x1b]0;pwned\x07 is \x9b31m striped and lives here.\n", "utf-8")
    call("ingest", "docs")
    ran = call("ask", "Where does the zebra live?")
    assert "striped" in ran.out
    assert not set("\x1b\x07\x9b") & set(ran.out)


def test_a_thread_is_continued(filled):
    filled("ask", QUESTION, "--thread", "t", "--json")
    second = filled("ask", "What is a scope?", "--thread", "t", "--json")
    assert len(second.json["messages"]) == 4
    assert second.err == ""


def test_the_style_of_one_question(filled):
    plain = filled("ask", QUESTION, "--json").json
    other = filled("ask", QUESTION, "--style", "hybrid", "--json").json
    assert plain["provenance"]["style"]["asked"] == "structured"
    assert other["provenance"]["style"]["asked"] == "hybrid"


def test_the_environment_wins_over_the_default_style(filled):
    turn = filled("ask", QUESTION, "--json", GROUNDGRAPH_SYNTHESIS__STYLE="hybrid").json
    assert turn["provenance"]["style"]["asked"] == "hybrid"


def test_a_configuration_is_found_in_a_folder_above(filled, tmp_path, docs):
    (tmp_path / "groundgraph.yaml").write_text("retrieval: {top_k: 1}\nsynthesis: {style: structured}\n")
    turn = filled("ask", "token scope", "--json", cwd=docs).json
    assert turn["provenance"]["total_results"] == 1


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_model_writes_the_answer(filled, tmp_path, json_option):
    with openai_stub("It expires after one hour [1].") as stub:
        (tmp_path / "model.yaml").write_text(
            "llm: {provider: openai, model: stub, base_url: '" + stub.base_url + "'}\nintent: {mode: static}\n"
        )
        ran = filled("ask", QUESTION, "--config", "model.yaml", *json_option, OPENAI_API_KEY="k")
    assert ran.code == 0
    assert ran.out.count("It expires after one hour [1].") >= 1
    if json_option:
        assert ran.json["answer"] == "It expires after one hour [1]."
