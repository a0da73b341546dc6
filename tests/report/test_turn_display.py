"""A turn in a notebook: what is shown is text, and the notebook of the examples runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt
from nbclient import NotebookClient

from groundgraph import InMemorySource, InputInvalid, TurnDisplay, turn_graph

pytestmark = pytest.mark.covers("U12")
NOTEBOOK = Path(__file__).parent.parent.parent / "examples" / "notebook" / "turn.ipynb"
HOSTILE = "Pump 17 <img src=x onerror=alert(1)> is [serviced](javascript:x) every `90` days, *always* & <b>ever</b>."


def displayed(text: str = HOSTILE) -> TurnDisplay:
    graph = turn_graph(sources=[InMemorySource([text], name="pumps")])
    return TurnDisplay(graph.invoke({"question": "How often is pump 17 serviced?"}))


def test_question_answer_and_citations_are_shown():
    shown = displayed("Pump 17 is serviced every 90 days.")
    for text in (shown._repr_html_(), shown._repr_markdown_()):
        assert "How often is pump 17 serviced?" in text
        assert text.count("Pump 17 is serviced every 90 days.") == 2
        assert "(answered)" in text
    assert str(shown) == shown.record["answer"]
    assert repr(shown).startswith("TurnDisplay(answered: ")


def test_markup_of_the_evidence_stays_text():
    shown = displayed()
    assert "<img" not in shown._repr_html_()
    assert "&lt;img" in shown._repr_html_()
    rendered = MarkdownIt("commonmark", {"html": True}).render(shown._repr_markdown_())
    for mark in ("<img", "<b>", "<a ", "<code", "<script"):
        assert mark not in rendered
    assert "*always*" in rendered


@pytest.mark.covers("fault 102")
def test_what_reorders_a_text_is_shown():
    shown = displayed("Pump 17 is \u202eserviced\u2069 every 90 days.")
    for text in (shown._repr_html_(), shown._repr_markdown_()):
        assert "\u202e" not in text
        assert "\u2069" not in text
        assert "⟨U+202E⟩" in text


def test_what_is_no_turn_is_refused():
    with pytest.raises(InputInvalid):
        TurnDisplay({"answer": "x"})


@pytest.mark.slow
def test_the_notebook_of_the_examples_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    asyncio.run(client.async_execute())
    data = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert "<q>Pump 17 is serviced every 90 days.</q>" in data[0]["text/html"]
    assert "Pump 17" in data[0]["text/markdown"]
