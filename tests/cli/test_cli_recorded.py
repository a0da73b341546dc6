"""`groundgraph evaluate --recorded`: what people said of answers, and two configurations over the same questions."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from page_policy import allows_its_style

from groundgraph import load_settings, open_graph
from groundgraph.serve.conversations import Asked, User
from groundgraph.serve.graph_conversations import GraphConversations
from groundgraph.settings.settings import settings_hash

HOSTILE = "<script>alert(1)</script>"
PUMPS = (
    "# Pumps\n\n## Service\n\nPump 17 is serviced every 90 days.\n\n"
    "## Retired\n\nPump 18 is retired. It stands in hall 3.\n"
)
# (question, whether it follows the one before, mark, comment)
ASKED = [
    ("How often is pump 17 serviced?", False, "good", ""),
    ("And pump 18?", True, "bad", f"It stands in hall 4. {HOSTILE}"),
    ("Who wrote the opera Parsifal?", False, "good", ""),
    ("Where does pump 18 stand?", False, "", ""),
]


@pytest.fixture
def marked(call: Any, tmp_path: Path) -> Any:
    """The command line in a folder where four questions were asked, and three answers marked, by two users."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pumps.md").write_text(PUMPS, "utf-8")
    (tmp_path / "groundgraph.yaml").write_text("synthesis: {style: structured, listing: false}\n", "utf-8")
    assert call("ingest", "docs").code == 0
    asyncio.run(mark_some(tmp_path / "groundgraph.yaml"))
    return call


async def mark_some(config: Path) -> None:
    async with open_graph(load_settings(config)) as graph:
        conversations, turn, thread, user = GraphConversations(graph), "", "", User()
        for number, (question, follows, mark, comment) in enumerate(ASKED):
            if not follows:
                user = User("alice.b" if number else "")
                thread, turn = (await conversations.start(user, question)).id, ""
            events = [event async for event in conversations.ask(user, thread, Asked(question, turn))]
            turn = events[-1]["ended"]
            if mark:
                await conversations.mark(user, thread, turn, {"mark": mark, "comment": comment})


@pytest.mark.covers("U13")
def test_marks_are_counted_by_outcome_and_configuration_and_bad_ones_are_listed(marked: Any, tmp_path: Path) -> None:
    ran = marked("evaluate", "--recorded", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert (ran.json["good"]["right"], ran.json["good"]["n"]) == (2, 3)
    outcomes = {name: (share["right"], share["n"]) for name, share in ran.json["outcomes"].items()}
    assert outcomes == {"answered": (1, 2), "insufficient": (1, 1)}
    own = settings_hash(load_settings(tmp_path / "groundgraph.yaml"))
    assert list(ran.json["settings"]) == [own]
    (bad,) = ran.json["bad"]
    assert (bad["question"], bad["comment"]) == (ASKED[1][0], ASKED[1][3])
    report = marked("report", bad["thread"], f"--turn={bad['turn']}", "--json")
    assert report.json.get("question") == "And pump 18?", report
    told = marked("evaluate", "--recorded").out
    assert "Marked good: 2 of 3" in told
    assert f"    > {ASKED[1][3]}" in told


@pytest.mark.covers("U13")
def test_another_configuration_is_asked_the_same_questions_behind_the_same_conversation(marked: Any, tmp_path: Path):
    (tmp_path / "other.yaml").write_text(
        "synthesis: {style: structured, listing: false}\nretrieval: {top_k: 1, answerable_threshold: 0.999}\n", "utf-8"
    )
    for config, same in (("groundgraph.yaml", True), ("other.yaml", False)):
        ran = marked("evaluate", "--recorded", "--again", config, "-o", "page.html", "--json")
        assert ran.code == 0
        again = ran.json["again"]
        assert again["settings"] == settings_hash(load_settings(tmp_path / config))
        turns = {turn["question"]: turn for turn in again["turns"]}
        assert "retired" in turns["And pump 18?"]["before"]["answer"]
        if same:
            assert all(turn["differs"] == [] for turn in again["turns"])
            assert again["marks"] == {
                "good": {"n": 2, "same": 2, "other_outcome": 0},
                "bad": {"n": 1, "same": 1, "other_outcome": 0},
            }
        else:
            # What was marked bad comes first.
            assert again["turns"][0]["question"] == "And pump 18?"
            assert any(turn["differs"] for turn in again["turns"])
        page = (tmp_path / "page.html").read_text("utf-8")
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(1)" in page
        assert not re.search(r"<script|(?:src|href)=\"?http", page)
        assert page.count("<article") == 3
        assert allows_its_style(page)


def test_what_cannot_be_told_is_refused(call: Any, tmp_path: Path) -> None:
    ran = call("evaluate", "--recorded")
    assert (ran.code, ran.out) == (2, "")
    assert "Nobody has marked an answer yet" in ran.err
    assert call("evaluate").code == 2
    assert "--again" in call("evaluate", "--recorded", "-o", str(tmp_path / "page.html")).err


def test_the_name_of_a_configuration_changes_with_what_changes_answers_only(tmp_path: Path) -> None:
    own = settings_hash(load_settings({}))
    assert re.fullmatch("[0-9a-f]{8}", own)
    assert own == settings_hash(load_settings({"checkpointer": {"path": str(tmp_path / "other.sqlite")}}))
    assert own != settings_hash(load_settings({"retrieval": {"top_k": 3}}))
