"""The commands of the examples run, and their tables say what their configuration says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from documented import run_commands

pytestmark = pytest.mark.covers("K9")

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/run.py"))


def test_the_examples_are_there() -> None:
    assert {"pitch_deck", "product_assistant", "product_search"} <= set(NAMES)
    assert {"ask", "custom_chain", "custom_source", "sql", "subgraph"} <= set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_an_example_run_without_a_key(example, name) -> None:
    folder = example(name).folder
    [block] = re.findall(r"```bash\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    keyless = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    run = run_commands([block], folder, keyless)
    assert run.returncode == 0, run.stderr
    told = {
        "ask": "> Pump 17 is serviced every 90 days.",
        "custom_chain": "1.00  Q: Where do I find seals?",
        "custom_source": "In week 13 Bela Novak is on call for the pumps",
        "sql": "computed over rows of incidents: an average",
        "subgraph": "Ticket opened: somebody will look into it.",
        "product_search": "Ember flask",
        "pitch_deck": "What a problem slide is for",
        "product_assistant": "Сканер «Лоток Луч» читает штрихкоды",
    }
    assert told[name] in run.stdout


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_small_enough_to_be_read(name) -> None:
    assert len((EXAMPLES / name / "run.py").read_text("utf-8").splitlines()) <= 40
