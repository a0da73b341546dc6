"""`groundgraph report`: a recorded turn as text, as JSON, as one page (V3, U5)."""

from __future__ import annotations

import pytest
from plant_database import rows_of

from groundgraph import load_settings, turn_page

pytestmark = pytest.mark.covers("U5")

QUESTION = "When does an access token expire?"


@pytest.fixture
def asked(filled):
    assert filled("ask", QUESTION, "--thread", "a").code == 0
    assert filled("ask", "What may an application do within its scope?", "--thread", "a").code == 0
    return filled


def turns(tmp_path) -> list[str]:

    query = "SELECT key FROM store WHERE prefix = 'groundgraph.provenance.a' ORDER BY created_at, rowid"
    return [key for (key,) in rows_of(tmp_path / ".groundgraph" / "evidence.sqlite", query)]


@pytest.mark.covers("V3")
def test_the_latest_turn_as_text(asked):
    ran = asked("report", "a")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[2] == "What may an application do within its scope?"
    assert "A scope limits what an application may do." in ran.out
    assert "resolve_intent" in ran.out


@pytest.mark.covers("V3")
def test_a_turn_as_json_is_the_full_record(asked, tmp_path):
    first, second = turns(tmp_path)
    ran = asked("report", "a", "--turn", first, "--json")
    assert ran.code == 0
    assert (ran.json["question"], ran.json["turn_id"], ran.json["thread_id"]) == (QUESTION, first, "a")
    assert ran.json["results"][0]["text"]
    assert ran.json["citations"][0]["quote"].startswith("An access token expires after one hour.")
    assert asked("report", "a", "--json").json["turn_id"] == second


@pytest.mark.covers("V3")
def test_a_turn_as_one_page_in_a_file(asked, tmp_path):
    ran = asked("report", "a", "--turn", turns(tmp_path)[0], "-o", "shown/turn.html", "--json")
    assert ran.code == 0
    assert "stands in shown/turn.html" in ran.err
    page = (tmp_path / "shown" / "turn.html").read_text("utf-8")
    assert page == turn_page(ran.json, settings=load_settings({}))
    assert '<mark id="q1" tabindex="-1">An access token expires after one hour.' in page
    ran = asked("report", "a", "-o", "turn.html")
    assert (ran.code, ran.out) == (0, "")
    assert "What may an application do within its scope?" in (tmp_path / "turn.html").read_text("utf-8")


def test_what_is_not_there_is_wrong_use_and_makes_no_file(asked, tmp_path):
    ran = asked("report", "a", "--turn", "nope", "-o", "turn.html")
    assert (ran.code, ran.out) == (2, "")
    assert "There is no record of the turn 'nope' on the thread 'a'" in ran.err
    ran = asked("report", "other", "--json")
    assert ran.code == 2
    assert "'other' has no turn" in ran.json["error"]["message"]
    assert not (tmp_path / "turn.html").exists()


def test_who_does_not_know_the_names_is_told_the_latest(asked, tmp_path):
    for thread in ("b.1", "ж", "d", "e", "f"):
        assert asked("ask", QUESTION, "--thread", thread).code == 0
    ran = asked("report", "other")
    assert ran.code == 2
    assert "'other' has no turn" in ran.err
    assert "Latest threads: 'f', 'e', 'd', 'ж', 'b.1'." in ran.err
    ran = asked("report", "a", "--turn", "nope")
    first, second = turns(tmp_path)
    assert f"Its latest turns, for --turn: '{second}', '{first}'." in ran.err


def test_where_no_turn_was_recorded_it_says_how_to_get_one(asked, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("store: {path: .groundgraph/new.sqlite}\nstore_provenance: false\n")
    assert asked("ask", QUESTION, "--thread", "b").code == 0
    ran = asked("report", "b")
    assert ran.code == 2
    assert "groundgraph ask QUESTION --thread ID" in ran.err


@pytest.mark.covers("fault 5")
@pytest.mark.parametrize("command", [("report",), ("forget",), ("ask", QUESTION, "--thread"), ("chat", "--thread")])
@pytest.mark.parametrize("name", ["a\x00b", "\udcff", ""])
def test_a_thread_that_nothing_could_be_kept_by_is_wrong_use(call, tmp_path, command, name):
    ran = call(*command, name, "--json")
    assert ran.code == 2
    assert ran.json["error"]["type"] == "InputInvalid"
    assert "thread id" in ran.json["error"]["message"]
    # How an id is given in Python helps nobody here.
    assert "configurable" not in ran.json["error"]["message"]
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_stays_empty(call, tmp_path):
    ran = call("report", "x")
    assert ran.code == 2
    assert "There is no conversation 'x'" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_told(asked):
    ran = asked("report", "a", "-o", "docs")
    assert ran.code == 2
    assert "'docs' is a folder; name a file in it" in ran.err
    assert "Traceback" not in ran.err


def test_no_model_is_needed_to_show_a_turn(asked, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: nobody_has_this, model: x}\n")
    assert asked("report", "a").code == 0


@pytest.mark.covers("V3")
def test_a_hyphen_is_standard_output_and_no_file(asked, tmp_path):
    asked("report", "a", "-o", "turn.html")
    ran = asked("report", "a", "-o", "-")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.rstrip() == (tmp_path / "turn.html").read_text("utf-8").rstrip()
    assert not (tmp_path / "-").exists()
    for command in (["report", "a"], ["check-model"], ["evaluate", "--recorded", "--again", "groundgraph.yaml"]):
        (tmp_path / "groundgraph.yaml").touch()
        ran = asked(*command, "-o", "-", "--json")
        assert (ran.code, ran.json["error"]["type"]) == (2, "InputInvalid"), command
        assert "both write to standard output" in ran.json["error"]["message"]
