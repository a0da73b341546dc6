"""A source with categories, like the cascade source, over records in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph import InMemorySource, RetrievalIntent, SourceResult, SourceSchema


class CategorySource(InMemorySource):
    """Searches in the categories of the intent, and gives what belongs to them to an intent without a question.

    Args:
        records: (category, id, text).
        delay: seconds before each answer.
        name: of the source.
        fails: whether its search raises.

    Attributes:
        asked: the intents, in the order in which they came.
    """

    def __init__(
        self, records: Sequence[tuple[str, str, str]], *, delay: float = 0.0, name: str = "sales", fails: bool = False
    ) -> None:
        rows = [{"id": key, "content": text, "category": category} for category, key, text in records]
        schema = SourceSchema(name, {"category": {"type": "string"}})
        super().__init__(rows, name=name, schema=schema, source_type="cascade")
        self.records, self.delay, self.fails = list(records), delay, fails
        self.asked: list[RetrievalIntent] = []
        self.top_ks: list[int] = []

    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The categories of which `filters` leave something, without descriptions."""
        listed = [SourceResult(text, key, self.name, "", 1.0, {"category": name}) for name, key, text in self.records]
        return {one.metadata["category"]: "" for one in listed if _allowed(one, filters or {})}

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See the class."""
        self.asked.append(intent)
        self.top_ks.append(top_k)
        await asyncio.sleep(self.delay)
        if self.fails:
            raise RuntimeError("out of order")
        if intent.text_queries:
            found = await super().query(intent, top_k=1000, score_threshold=score_threshold)
        else:
            found = [
                SourceResult(text, key, self.name, "cascade", 1.0, {"category": category})
                for category, key, text in self.records
            ]
        known = {category for category, _, _ in self.records}
        wanted = set(intent.categories) & known or (known if intent.text_queries else set())
        filters = intent.filters.get(self.name, {})
        kept = [one for one in found if one.metadata["category"] in wanted and _allowed(one, filters)]
        return kept[:top_k]


def _allowed(result: SourceResult, filters: Mapping[str, Any]) -> bool:
    return all(
        result.metadata[name] in (value if isinstance(value, list) else [value]) for name, value in filters.items()
    )
