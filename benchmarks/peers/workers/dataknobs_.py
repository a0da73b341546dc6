"""dataknobs: its grounded strategy over sources that have their hits ready, with a canned model."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dataknobs_bots.reasoning.grounded import GroundedReasoning
from dataknobs_bots.reasoning.grounded_config import GroundedReasoningConfig
from dataknobs_data.sources.base import GroundedSource, SourceResult

from benchmarks.peers.workers import made_up
from benchmarks.peers.workers.worker import serve


class Ready(GroundedSource):
    def __init__(self, number: int) -> None:
        self._name = f"{made_up.SOURCES[number % 3]}{number}"
        self._from, self._turn = made_up.SOURCES[number % 3], 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def source_type(self) -> str:
        return "memory"

    async def query(self, intent: Any, *, top_k: int = 5, score_threshold: float = 0.0) -> list[SourceResult]:
        self._turn += 1
        found = made_up.ready(self._from, self._turn)
        return [
            SourceResult(
                content=hit["content"],
                source_id=hit["id"],
                source_name=self._name,
                source_type="memory",
                relevance=1 - rank / 20,
                metadata=hit,
            )
            for rank, hit in enumerate(found)
        ]


class Conversation:
    """What the strategy needs of a conversation manager; the model's answer is canned."""

    def __init__(self, question: str) -> None:
        self.metadata: dict[str, Any] = {}
        self._messages = [{"role": "user", "content": question}]
        self.system_prompt = ""

    def get_messages(self) -> list[dict[str, str]]:
        return self._messages

    async def complete(self, **_: Any) -> Any:
        return SimpleNamespace(content=made_up.REPLY, metadata={})


def turns(sources: int) -> Callable[[int], Any]:
    config = GroundedReasoningConfig.from_dict({"intent": {"mode": "static"}, "retrieval": {"top_k": 10}})
    strategy = GroundedReasoning(config, sources=[Ready(number) for number in range(sources)])
    return lambda number: strategy.generate(Conversation(made_up.asked(number)), None)


serve({"turn": turns})
