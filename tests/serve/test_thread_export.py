"""A conversation to take along: Markdown with footnotes that lead somewhere, JSON with all branches."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from markdown_it import MarkdownIt
from served import PUMPS, filled, serving

from groundgraph import open_graph
from groundgraph.graph.prune_checkpoints import prune_checkpoints
from groundgraph.serve.app import Served, serve_app
from groundgraph.serve.page_api import turn_markdown


def asked(url: str, thread: str, question: str, parent: str = "") -> str:
    body = {"question": question, "parent": parent}
    return str(json.loads(httpx.post(f"{url}/api/threads/{thread}/turns", json=body).text.splitlines()[-1])["ended"])


@pytest.mark.covers("U8")
def test_a_conversation_is_exported_with_its_branches(tmp_path: Path):
    with serving(filled(tmp_path, {"pumps.md": PUMPS})) as url:
        thread = httpx.post(f"{url}/api/threads", json={"title": "Pumps"}).json()["id"]
        first = asked(url, thread, "How often is pump 17 serviced?")
        left = asked(url, thread, "Who wrote Parsifal?", first)
        last = asked(url, thread, "Where does pump 18 stand?", first)
        text = httpx.get(f"{url}/api/threads/{thread}/export.md")
        assert text.headers["content-disposition"] == 'attachment; filename="conversation.md"'
        lines = text.text.splitlines()
        assert [line for line in lines if line.startswith("**")] == [
            "**How often is pump 17 serviced?**",
            "**Where does pump 18 stand?**",
        ]
        for number in (1, 2):
            assert f"[^{number}-1]" in text.text.split("[^" + f"{number}-1]: docs/pumps.md:")[0]
        given = httpx.get(f"{url}/api/threads/{thread}/export.json").json()
        assert [(turn["id"], turn["parent"]) for turn in given["turns"]] == [(first, ""), (left, first), (last, first)]
        assert given["title"] == "Pumps"
        assert given["turns"][1]["outcome"] == "insufficient"
        assert given["turns"][2]["citations"][0]["quote"] in PUMPS
        assert httpx.get(f"{url}/api/threads/{thread}/export.exe").status_code == 404


@pytest.mark.covers("U8")
async def test_of_a_turn_whose_record_was_pruned_the_question_is_exported(tmp_path: Path):
    async with open_graph(filled(tmp_path, {"pumps.md": PUMPS})) as graph:
        page = httpx.ASGITransport(serve_app(graph, Served()))
        async with httpx.AsyncClient(transport=page, base_url="http://localhost") as client:
            thread = (await client.post("/api/threads", json={"title": "Pumps"})).json()["id"]
            turn = ""
            for question in ("How often is pump 17 serviced?", "Where does pump 18 stand?"):
                body = {"question": question, "parent": turn}
                told = await client.post(f"/api/threads/{thread}/turns", json=body)
                turn = json.loads(told.text.splitlines()[-1])["ended"]
            await prune_checkpoints(graph, keep_turns=1, older_than=None)
            text = (await client.get(f"/api/threads/{thread}/export.md")).text
            given = (await client.get(f"/api/threads/{thread}/export.json")).json()["turns"]
            gone = await client.get(f"/api/threads/{thread}/turns/{given[0]['id']}")
    assert text.startswith("# Pumps\n\n**How often is pump 17 serviced?**\n\n**Where does pump 18 stand?**\n\n")
    assert [(one["outcome"], "answer" in one) for one in given] == [("answered", False), ("answered", True)]
    assert (gone.status_code, gone.json()) == (404, {"error": "What was kept of this answer is not there any more."})


def test_only_labels_of_citations_become_footnotes():
    cited = {
        "label": 1,
        "title": "",
        "section": "",
        "location": {"shown": "a.md:1"},
        "source_name": "a",
        "quote": "Q\nR <img src=x> ![i](u)",
    }
    record = {"question": "What\nnow?", "answer": "So [1]. `x[1]` is code, \\[1] a text, [7] none.", "notes": ["N"]}
    text = turn_markdown({**record, "citations": [cited]}, "3-")
    assert text == (
        "**What now?**\n\nSo [^3-1]. `x[1]` is code, \\[1] a text, [7] none.\n\n> N\n\n[^3-1]: a.md:1: "
        "“Q R \\<img src=x> !\\[i](u)”\n"
    )
    assert MarkdownIt().render(text)


@pytest.mark.covers("fault 102")
@pytest.mark.parametrize("hidden", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_what_reorders_a_text_is_shown_in_an_export(hidden: str):
    cited = {
        "label": 1, "title": "", "section": "", "location": {"shown": f"a{hidden}gpj.md:1"}, "source_name": "a",
        "quote": f"Q{hidden}R",
    }  # fmt: skip
    record = {"question": f"What{hidden}?", "answer": "So [1].", "notes": [hidden], "citations": [cited]}
    text = turn_markdown(record)
    assert hidden not in text
    assert text.count(f"⟨U+{ord(hidden):04X}⟩") == 4
