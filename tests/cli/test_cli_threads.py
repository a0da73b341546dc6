"""`groundgraph threads`."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.covers("U5")


def test_conversations_are_listed_the_latest_first_and_shown(call, docs):
    assert call("threads", "list", "--json").json == {"threads": []}
    call("ingest", "docs")
    asked = ["How long does an access token last?", "And a refresh token?"]
    for question in asked:
        assert call("ask", question, "--thread", "first").code == 0
    assert call("ask", "Hello", "--thread", "second").code == 0

    listed = call("threads", "--json").json["threads"]
    assert [(row["thread_id"], row["question"], row["turns"], row["outcome"]) for row in listed] == [
        ("second", "Hello", 1, "chat"),
        ("first", asked[0], 2, listed[1]["outcome"]),
    ]
    plain = call("threads", "list")
    assert [line.split("\t")[0] for line in plain.out.splitlines()] == ["second", "first"]
    assert "2 conversations" in plain.err

    shown = call("threads", "show", "first", "--json").json
    assert [turn["question"] for turn in shown["turns"]] == asked
    assert shown["turns"][0]["at"] <= shown["turns"][1]["at"]
    assert shown["turns"][0]["answer"] in call("threads", "show", "first").out


def test_a_conversation_that_is_not_there_is_told(call):
    missing = call("threads", "show", "gone", "--json")
    assert (missing.code, missing.json) == (1, {"thread_id": "gone", "turns": []})
    assert "There is no conversation 'gone'." in missing.err
