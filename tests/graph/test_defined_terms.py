"""Terms that an entry of a list or of a glossary tells of (R5, S7, A12)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import turns
from filled_base import folder_of

from groundgraph.graph.ingest import ingest_graph, run_ingest
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.text.wording import entry_terms, heading_names

pytestmark = pytest.mark.covers("R5", "S7")

ENTRIES = {
    "the warden": "- Warden: whoever opens the hall in the morning and locks it at night.",
    "a slipway": "Slipway – the ramp down which boats are carried to the water.",
    "rudder_limit": "* ``rudder_limit`` - degrees to which the tiller may be turned.",
    "crew.txt": "* ``crew.txt`` - a list that the cox signs before each outing.",
}
# What uses a word more often than its own entry does, in many places.
USES = [
    "The warden of the day asks the warden of the week. A warden calls the warden of the club when a warden is ill.",
    "Boats wait above the slipway. Rinse the slipway, sweep the slipway, and leave the slipway clear for others.",
    "Raise rudder_limit before races, lower rudder_limit after races, and tell the boatman what rudder_limit was.",
    "Open crew.txt before crew.txt is printed. Whoever loses crew.txt writes crew.txt again from crew.txt of May.",
]


@pytest.fixture
async def graph(tmp_path: Path) -> Any:
    handbook = "\n\n".join(
        ["# Handbook", *(f"## Part {at}\n\n{use}\n\n{'Keep to the rules. ' * 30}" for at, use in enumerate(USES * 3))]
    )
    glossary = "\n\n".join(["# Words", "\n\n".join(ENTRIES.values())])
    folder_of(tmp_path, handbook=handbook, glossary=glossary)
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}})
    await run_ingest(ingest_graph(settings.model_copy(update={"base_dir": tmp_path})), {"paths": ["docs"]})
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    yield turns.build(sources=[source])
    await source.close()


@pytest.mark.parametrize("term", ENTRIES)
async def test_what_a_term_is_is_told_by_its_own_entry(graph: Any, term: str) -> None:
    result = await turns.ask_once(graph, f"What is {term}?")
    assert result["outcome"] == "answered"
    assert result["citations"][0]["quote"].strip("-*–: ")[:60] in ENTRIES[term] + result["answer"]
    assert ENTRIES[term].lstrip("*- ") in result["answer"].split("[1]")[0]


def test_a_heading_gives_two_names_when_it_ends_with_a_short_form() -> None:
    assert heading_names("Non-Maintainer Uploads (NMUs)") == ["Non-Maintainer Uploads", "NMUs"]
    assert heading_names("Response.copy(url)") == heading_names("(old)") == heading_names("Plain") == []


def test_terms_are_those_of_lines_and_items_and_not_of_code_or_sentences() -> None:
    text = (
        "Pumps\n\n- **Valve**: lets water in.\n1. Hose - carries it.\n\nSeal\n    Keeps it in.\n\n"
        "- Passing a spider\n    :meth:`crawl` is old\n\nThe man who opened the gate yesterday said: nothing.\n\n"
        "```yaml\ntimeout: 30\n```\nFlow rate: 40 l"
    )
    assert entry_terms(text) == [["valv"], ["hose"], ["seal"], ["flow", "rate"]]


@pytest.mark.parametrize("size", [50, 5000])
def test_a_list_of_very_many_entries_is_no_glossary(size: int) -> None:
    assert len(entry_terms("\n".join(f"- Part {number}: grey" for number in range(size)))) == 12
