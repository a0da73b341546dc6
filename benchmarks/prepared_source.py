"""A source that has its answers ready, so that what is measured is the turn and not the search."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.corpus import records
from groundgraph import GroundedSource, RetrievalIntent, SourceResult


class PreparedSource(GroundedSource):
    """Gives the next of its topics, all records of it, whatever is asked; starts again behind the last one."""

    def __init__(self, name: str, topics: range, *, per_topic: int = 10, low: int = 200, high: int = 300) -> None:
        self._name = name
        given = records(name, topics, per_topic=per_topic, low=low, high=high)
        results = [self._result(record, number % per_topic) for number, record in enumerate(given)]
        self._answers = [results[first : first + per_topic] for first in range(0, len(results), per_topic)]
        self._next = self._in_turn()

    @property
    def name(self) -> str:
        return self._name

    @property
    def source_type(self) -> str:
        return "memory"

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        return next(self._next)[:top_k]

    def _in_turn(self) -> Iterator[list[SourceResult]]:
        while True:
            yield from self._answers

    def _result(self, record: dict[str, str], rank: int) -> SourceResult:
        named = {key: value for key, value in record.items() if key not in ("id", "content")}
        return SourceResult(record["content"], record["id"], self._name, "memory", 0.95 - rank / 20, named)
