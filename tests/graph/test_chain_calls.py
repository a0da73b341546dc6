"""Model calls of chains inside a source: recorded in the provenance and bounded with the turn's others (T9, V1)."""

from __future__ import annotations

from typing import Any

import pytest
from turns import QUESTION, ask

from groundgraph import GroundedSource, SourceResult, load_settings, turn_graph
from groundgraph.core.errors import ModelError
from groundgraph.core.failure import degraded
from groundgraph.core.intent import RetrievalIntent
from groundgraph.ingest.builtin_chains import query_chains
from groundgraph.models.call_model import collect_chain_calls
from groundgraph.settings.settings import Settings
from groundgraph.testing import Reply, Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("T9")

PASSAGES = ["OAuth has four grant types.", "A token expires."]


class JudgedSource(GroundedSource):
    """Two passages, judged by the configured reranker."""

    source_type = "judged"

    def __init__(self, name: str, settings: Settings, model: ScriptedChatModel) -> None:
        self._name = name
        self._reranker: Any = query_chains(settings, model=model).reranker

    @property
    def name(self) -> str:
        return self._name

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        found = [SourceResult(text, text, self.name, "judged", 0.9) for text in PASSAGES]
        try:
            scores = await self._reranker(intent.text_queries[0], found)
        except ModelError as error:
            degraded(self.name, "reranker", str(error))
            return found
        return [result for _, result in sorted(zip(scores, found, strict=True), key=lambda pair: -pair[0])]


def model(**usage: Any) -> ScriptedChatModel:
    rules = [
        Rule("Write search queries", QUESTION),
        Rule("Judge for each", Reply("1: 1\n2: 4", **usage)),
        Rule("", "Four [1]."),
    ]
    return ScriptedChatModel(rules=rules)


async def run(number_of_sources: int, **limits: Any) -> tuple[dict[str, Any], ScriptedChatModel]:
    settings = load_settings(
        {"chains": {"query": {"reranker": "judge"}}, "limits": limits, "intent": {"num_queries": 1}}
    )
    scripted = model()
    sources = [JudgedSource(f"s{number}", settings, scripted) for number in range(number_of_sources)]
    return await ask(turn_graph(settings, sources=sources, chat_model=scripted)), scripted


@pytest.mark.covers("V1")
async def test_a_chains_calls_stand_in_the_record_between_queries_and_answer() -> None:
    result, _ = await run(2)
    calls = result["provenance"]["models"]
    assert [call["role"] for call in calls] == ["queries", "judge", "judge", "answer"]
    assert all(call["input_tokens"] > 0 and call["attempts"] == 1 for call in calls)
    assert result["notes"] == []


async def test_chains_leave_the_turn_a_call_for_its_answer() -> None:
    result, scripted = await run(3, model_calls=4)
    assert len(scripted.calls) == 4
    assert [call["role"] for call in result["provenance"]["models"]] == ["queries", "judge", "judge", "answer"]
    assert result["answer"] == "Four [1]."
    [note] = result["notes"]
    assert "limits.model_calls" in note


async def test_every_turn_has_the_whole_allowance() -> None:
    settings = load_settings({"chains": {"query": {"reranker": "judge"}}, "limits": {"model_calls": 3}})
    scripted = model()
    graph = turn_graph(settings, sources=[JudgedSource("s", settings, scripted)], chat_model=scripted)
    for _ in range(2):
        assert (await ask(graph))["notes"] == []


async def test_outside_a_turn_chains_are_not_bounded_and_failures_are_recorded() -> None:
    settings = load_settings({"chains": {"query": {"reranker": "judge"}}, "limits": {"model_calls": 0}})
    scripted = ScriptedChatModel(["1: 3", Reply(status=400)])
    reranker: Any = query_chains(settings, model=scripted).reranker
    with collect_chain_calls() as calls:
        found = [SourceResult("a", "a", "s", "t")]
        assert await reranker("q", found) == [0.75]
        with pytest.raises(ModelError):
            await reranker("q", found)
    assert [("error" in call, call["role"]) for call in calls] == [(False, "judge"), (True, "judge")]
