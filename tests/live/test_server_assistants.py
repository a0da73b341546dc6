"""The three assistants of `examples/serve`, made by its script on a real LangGraph Server (U2)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pytest
from example_copy import module_at

from groundgraph.testing import OpenAIStub

pytestmark = [pytest.mark.live, pytest.mark.covers("U2")]

SCRIPT = Path(__file__).parent.parent.parent / "examples" / "serve" / "create_assistants.py"
REPLY = "OAuth has four grant types [1]."
QUESTION = {"question": "Which grant types does OAuth have?"}
CONFIG = """
intent: {{mode: static}}
llm: {{provider: openai, model: test-model, base_url: "{base_url}"}}
sources:
  - type: memory
    name: docs
    records: [{{id: oauth, content: "OAuth has four grant types. The implicit grant is one of them.", title: OAuth}}]
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return module_at(SCRIPT, "create_assistants")


async def test_the_script_makes_three_assistants_once(client, script: ModuleType) -> None:
    first = await script.create_assistants(client)
    second = await script.create_assistants(client)
    assert set(first) == {"strict", "hybrid", "sources_only"}
    assert first == second
    made = await client.assistants.search(graph_id="turn", limit=100)
    assert sorted(one["name"] for one in made) == ["hybrid", "sources_only", "strict", "turn"]
    assert all(one["description"] for one in made)


async def test_the_script_brings_an_assistant_up_to_date(client, script: ModuleType, monkeypatch) -> None:
    ids = await script.create_assistants(client)
    wanted = {**script.ASSISTANTS["strict"], "context": {"style": "conversational", "score_threshold": 0.5}}
    monkeypatch.setitem(script.ASSISTANTS, "strict", wanted)
    assert await script.create_assistants(client) == ids
    changed = await client.assistants.get(ids["strict"])
    assert changed["context"]["score_threshold"] == 0.5
    assert changed["version"] == 2
    monkeypatch.undo()
    await script.create_assistants(client)


async def answered(client: Any, assistant: str) -> dict[str, Any]:
    result: dict[str, Any] = await client.runs.wait(None, assistant, input=QUESTION)
    return result


async def test_each_assistant_answers_in_its_way(client, script: ModuleType, model: OpenAIStub) -> None:
    ids = await script.create_assistants(client)
    asked = len(model.requests)
    only = await answered(client, ids["sources_only"])
    assert len(model.requests) == asked
    strict = await answered(client, ids["strict"])
    hybrid = await answered(client, ids["hybrid"])
    assert len(model.requests) == asked + 2
    assert "OAuth has four grant types." in only["answer"]
    assert strict["answer"] == REPLY
    assert hybrid["answer"].startswith(f"{REPLY}\n")
    assert len(hybrid["answer"]) > len(strict["answer"]) + 20
    assert "Cite every sentence" in str(model.requests[asked].body)
    assert only["outcome"] == strict["outcome"] == hybrid["outcome"] == "answered"


async def test_an_assistant_with_a_choice_that_there_is_not_is_refused(client) -> None:
    answer = await client.http.client.post(
        "/runs/wait", json={"assistant_id": "turn", "input": QUESTION, "context": {"top_k": 0}}
    )
    assert "top_k" in answer.json()["__error__"]["message"]


@pytest.mark.covers("U9")
async def test_a_chat_client_asks_each_assistant_as_a_model(client, url: str, script: ModuleType) -> None:
    await script.create_assistants(client)
    async with openai.AsyncOpenAI(base_url=f"{url}/page/v1", api_key="any", max_retries=0) as client:
        assert {model.id for model in (await client.models.list()).data} == {"groundgraph", *script.ASSISTANTS}
        assert (await client.models.retrieve("strict")).id == "strict"
        said: Any = [{"role": "system", "content": "Be short."}, {"role": "user", "content": QUESTION["question"]}]
        told = {}
        for name in ("groundgraph", "sources_only"):
            answer = await client.chat.completions.create(model=name, messages=said)
            told[name] = answer.choices[0].message.content or ""
            assert answer.model == name
        # One writes, the other shows what was found.
        assert told["groundgraph"] == "OAuth has four grant types [1]."
        assert "The implicit grant is one of them." in told["sources_only"]
        with pytest.raises(openai.NotFoundError, match="There is: groundgraph, "):
            await client.chat.completions.create(model="other", messages=said)
