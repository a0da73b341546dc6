"""Records what a source is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from groundgraph.core.degraded import collect_degradations, degraded
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.delegating import DelegatingSource, joins
from groundgraph.testing.recorded_error import recorded_error
from groundgraph.testing.recording_calls import recorded_as_a_whole


class RecordingSource(DelegatingSource):
    """`inner`; whatever it answers is put into `record["answers"]`."""

    def __init__(self, inner: GroundedSource) -> None:
        super().__init__(inner)
        schema = inner.get_schema()
        self.record: dict[str, Any] = {
            "type": inner.source_type,
            "schema": jsonable(asdict(schema)) if schema else None,
            "whole_topics": inner.whole_topics,
            "joins": joins(inner),
            "categories": {},
            "answers": [],
            "between": [],
        }

    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """See `GroundedSource.categories`."""
        self.record["categories"] = await super().categories(filters)
        return dict(self.record["categories"])

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """What the inner source answers."""
        answer: dict[str, Any] = {"asked": as_asked(intent, self.name, top_k, score_threshold)}
        self.record["answers"].append(answer)
        try:
            with recorded_as_a_whole(), collect_degradations() as told:
                results = await super().query(intent, top_k=top_k, score_threshold=score_threshold)
        except BaseException as error:
            answer["error"] = recorded_error(error)
            raise
        for one in told:
            degraded(self.name, **one)
        answer |= {"results": [jsonable(asdict(result)) for result in results], "degraded": list(told)}
        return results


class JoiningRecordingSource(RecordingSource):
    """A `RecordingSource` over one that can tell what stands between two neighbours."""

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `GroundedSource.texts_between`."""
        texts = await self.between_inner(pairs)
        self.record["between"] += [[*pair, text] for pair, text in zip(pairs, texts, strict=True)]
        return texts


def recording_source(inner: GroundedSource) -> RecordingSource:
    """The `RecordingSource` over `inner`."""
    return (JoiningRecordingSource if joins(inner) else RecordingSource)(inner)


def as_asked(intent: RetrievalIntent, name: str, top_k: int, score_threshold: float) -> dict[str, Any]:
    """What the source `name` is asked, as a recording has it."""
    return {
        "text_queries": list(intent.text_queries),
        "filters": jsonable(intent.filters.get(name, {})),
        "categories": list(intent.categories),
        "scope": intent.scope,
        "top_k": top_k,
        "score_threshold": score_threshold,
    }
