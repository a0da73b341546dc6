"""Every prompt that a model reads, as it is rendered; `GROUNDGRAPH_WRITE_GOLDEN=1` writes the renders anew."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from groundgraph.models.call_model import tokens_of
from groundgraph.prompts import Prompts

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "prompts"
SIZES = Path(__file__).resolve().parents[2] / "docs" / "decisions" / "prompts.md"

_PASSAGE = {
    **dict.fromkeys(("divider", "opens", "closes")),
    "label": 1, "source_name": "docs", "reference": "Pumps > Care", "text": "Pump 17 is serviced every 90 days.",
}  # fmt: skip
_TABLE = SimpleNamespace(
    name="pumps", numbers=["pressure"], schema=SimpleNamespace(fields={"pressure": SimpleNamespace(type="number")})
)
_FAULT = {"detail": "91 does not stand in the evidence", "sentence": "Pump 17 is serviced every 91 days."}
# What each prompt is given; those that are not here are given nothing.
GIVEN: dict[str, dict[str, Any]] = {
    "answer_evidence": {"fence": "f", "passages": [_PASSAGE], "citation_format": "section"},
    "answer_reminder": {"require_citations": True},
    "answer_system": {
        "require_citations": True, "allow_parametric": False, "abstention": "NO_ANSWER:", "instruction": ""
    },
    "chain_passages": {"fence": "f", "passages": [{"name": "document", "text": "Pump 17 is serviced."}]},
    "choose_headings": {"instruction": "Choose the sections that answer the question."},
    "decompose_question": {"max_sub_queries": 4},
    "extract_intent": {"domain_context": "pumps"},
    "generate_queries": {"domain_context": "pumps", "num_queries": 3},
    "generate_queries_conversation": {"conversation": [{"role": "user", "text": "Which pumps are there?"}]},
    "judge_format": {"graded": True, "count": 10},
    "propose_computation": {"tables": [_TABLE]},
    "query_bot_system": {"system_prompt": "You help technicians.", "memory": True, "instruction": ""},
    "repair_answer": {"faults": [_FAULT]},
    "repair_computation": {"reason": "there is no field 'presure'"},
    "repair_intent": {"fault": "no_object"},
    "reply_in_json": {"schema": '{"type": "object"}'},
    "route_categories": {"top_k": 3},
}  # fmt: skip
# What goes into an answer, or holds texts for others.
_FOR_READERS = {"cascade_facts", "extraction_fields", "results", "structured"}
_FILES = [re.fullmatch(r"([a-z_]+)\.jinja2", entry.name) for entry in files("groundgraph.prompts").iterdir()]
NAMES = sorted({found[1] for found in _FILES if found} - _FOR_READERS)


def rendered(name: str) -> str:
    return Prompts().render(name, **GIVEN.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_is_the_one_that_was_looked_at(name: str) -> None:
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("GROUNDGRAPH_WRITE_GOLDEN"):
        golden.write_text(rendered(name), "utf-8")
    assert rendered(name) == golden.read_text("utf-8")


def test_there_is_a_render_of_each_prompt_and_of_no_other() -> None:
    assert sorted(file.stem for file in GOLDEN.glob("*.txt")) == NAMES


def test_the_table_has_the_sizes_of_now() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [\d–]+ \| (\d+) \|", SIZES.read_text("utf-8"), re.MULTILINE))
    assert rows == {name: str(tokens_of([HumanMessage(rendered(name))])) for name in NAMES}
