"""Questions about a code that the base holds, such as an error number (R5, S8)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import turns
from filled_base import folder_of

from groundgraph import InMemorySource
from groundgraph.graph.ingest import ingest_graph, run_ingest
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.text.follow_up import asked_parts

pytestmark = pytest.mark.covers("R5", "S8")

CODES = ["E042", "W7", "INC-10234"]
TOLD = {code: f"If {code} appears, let the motor number {at} cool down." for at, code in enumerate(CODES)}
MANUAL = """# Pumps

## Pump 17

Pump 17 stands in hall 4 of the plant. It is serviced every 90 days by the team of the morning shift.

## Starting

1. Open valve V3.
2. Switch on the main switch.

## Faults

"""
ONLY_ASKING = [
    "What does {} mean?", "What does error {} mean?", "What is the meaning of {}?", "how do i fix {}", "{}???",
    "Was bedeutet der Fehler {}?", "{} wie beheben", "Que veut dire {} ?", "Comment résoudre l'erreur {} ?",
    "¿Qué significa el error {}?", "¿Cómo soluciono {}?", "Что означает ошибка {}?", "Как исправить {}?",
    "The display says: ERROR {}. What should I do?", "I get {} on the display. Can you help me?",
    'Traceback (most recent call last):\n  File "/usr/lib/python3/x.py", line 3, in <module>\nRuntimeError: {}',
]  # fmt: skip
OTHER = ["What is the price of {}?", "Who invented {}?", "In welchem Museum steht {}?", "Кто купил {}?"]
CHATTER = ["we", "had", "a", "long", "day", "the", "plant", "pump", "hall", "team", "of", "shift", "opened", "valve"]


@pytest.fixture
async def graph(tmp_path: Path) -> Any:
    folder_of(
        tmp_path, manual=MANUAL + "\n\n".join(f"### Case {at}\n\n{told}" for at, told in enumerate(TOLD.values()))
    )
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}})
    await run_ingest(ingest_graph(settings.model_copy(update={"base_dir": tmp_path})), {"paths": ["docs"]})
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    yield turns.build(sources=[source], base={"synthesis": {"style": "structured"}}, memory=True)
    await source.close()


@pytest.mark.parametrize("code", CODES)
async def test_a_question_that_only_asks_about_a_code_is_answered_without_a_doubt(graph: Any, code: str) -> None:
    for number, question in enumerate(ONLY_ASKING):
        result = await turns.ask(graph, question.format(code), f"{number}")
        assert (question, result["outcome"]) == (question, "answered")
        assert TOLD[code] in result["answer"], question
        assert all("mention" not in note for note in result["notes"]), (question, result["notes"])


@pytest.mark.parametrize("code", CODES)
async def test_whatever_is_said_around_a_code_its_passage_is_shown(graph: Any, code: str) -> None:
    chosen = random.Random(7)
    for number in range(12):
        chatter = chosen.choices(CHATTER, k=chosen.randint(3, 30))
        chatter.insert(chosen.randint(0, len(chatter)), code)
        result = await turns.ask(graph, " ".join(chatter) + chosen.choice(["", "?", ". Can you help?"]), f"{number}")
        assert TOLD[code] in result["answer"], (" ".join(chatter), result["answer"])


@pytest.mark.parametrize("question", [*ONLY_ASKING, *OTHER])
async def test_a_code_that_the_base_lacks_answers_nothing(graph: Any, question: str) -> None:
    result = await turns.ask(graph, question.format("E043"), "t")
    assert result["outcome"] == "insufficient"
    assert not question.startswith("What does") or all(told not in result["answer"] for told in TOLD.values())


@pytest.mark.parametrize("question", OTHER)
async def test_what_is_asked_of_a_code_and_stands_nowhere_is_still_missing(graph: Any, question: str) -> None:
    result = await turns.ask(graph, question.format("E042"), "t")
    assert TOLD["E042"] in result["answer"]
    assert any(word in note for note in result["notes"] for word in ("price", "invented", "Museum", "купил")), question


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("it shows E042 since noon, can you help me?", ("it shows E042 since noon",)),
        ("We saw E042 in hall 4. How old is the seal of the pump?", ("How old is the seal of the pump?",)),
        ("What does E042 mean?", ()),
        ("The file /var/lib/R9/x.7 is old, and nothing else is known about it in this place, can you help me?",
         ("can you help me?",)),
    ],
)  # fmt: skip
def test_a_code_is_asked_about_where_nothing_else_is(message: str, parts: tuple[str, ...]) -> None:
    assert asked_parts(message) == parts


CLIENTS = """# Errors

Whoever is an invalid client means well: what a client means may be invalid, and what is invalid may mean a client.

## Clients

A client that is invalid has another meaning to the server. What clients mean is told by the client.

## Codes

invalid_grant: The code was used before.

invalid_client: No such name is known to the server.
"""


async def test_a_name_of_code_is_answered_by_what_names_it_and_not_by_what_holds_its_words(tmp_path: Path) -> None:
    folder_of(tmp_path, errors=CLIENTS)
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}})
    await run_ingest(ingest_graph(settings.model_copy(update={"base_dir": tmp_path})), {"paths": ["docs"]})
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    output = await turns.ask(turns.build(sources=[source]), "What does invalid_client mean?")
    await source.close()
    assert output["outcome"] == "answered"
    quotes = [one["quote"] for one in output["citations"]]
    assert "invalid_client" in quotes[0]
    assert not any("Whoever" in quote or "another meaning" in quote for quote in quotes)


async def test_each_part_of_a_question_is_answered_by_what_holds_its_own_code() -> None:
    texts = ["Clients can speak HTTP/2 where http2=True is given.", "HTTP proxies are set with a proxy argument."]
    graph = turns.build(sources=[InMemorySource([*texts, "The canteen opens at noon."], name="facts")])
    one = await turns.ask(graph, "Can clients speak HTTP/2?")
    assert [quote["source_id"] for quote in one["citations"]] == ["0"]
    both = await turns.ask(graph, "Can clients speak HTTP/2? And when does the canteen open?")
    assert [quote["source_id"] for quote in both["citations"]] == ["0", "2"]


CHANGES = """# Changes

## 3.2.0

New: step 1 of 3 takes 0 minutes, and the new step 0 of 3 takes 1 of 3.

## 3.1.0

Encryption of what is stored is new.

## 3.0.1

New: 0 errors in 3 of 1, which is new.
"""


async def test_a_version_is_one_name_and_comes_before_what_holds_its_numbers(tmp_path: Path) -> None:
    folder_of(tmp_path, changes=CHANGES)
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}})
    await run_ingest(ingest_graph(settings.model_copy(update={"base_dir": tmp_path})), {"paths": ["docs"]})
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    output = await turns.ask(turns.build(sources=[source]), "What is new in 3.1.0?")
    await source.close()
    assert "Encryption" in output["provenance"]["results"][0]["text"]
    assert "Encryption" in output["answer"]
