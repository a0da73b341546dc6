"""Answers as a recorded source did, and refuses to be asked anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.core.degraded import degraded
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource
from groundgraph.testing.recorded_error import replayed_error
from groundgraph.testing.recording_source import as_asked
from groundgraph.testing.replay_drifted import ReplayDrifted


class ReplayingSource(GroundedSource):
    """The recorded source called `name`.

    Args:
        name: of the source.
        record: what was recorded of it.
        drifts: told when it is asked what was not recorded.
    """

    def __init__(self, name: str, record: dict[str, Any], drifts: list[ReplayDrifted]) -> None:
        self._name = name
        self._record = record
        self._drifts = drifts
        self._left = list(record["answers"])

    @property
    def name(self) -> str:
        """The recorded name."""
        return self._name

    @property
    def source_type(self) -> str:
        """The recorded type."""
        return str(self._record["type"])

    @property
    def whole_topics(self) -> bool:
        """As recorded."""
        return bool(self._record["whole_topics"])

    def get_schema(self) -> SourceSchema | None:
        """The recorded schema."""
        return SourceSchema(**self._record["schema"]) if self._record["schema"] else None

    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:  # noqa: ARG002 - of the contract
        """As recorded."""
        return dict(self._record["categories"])

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """What was recorded for this.

        Raises:
            ReplayDrifted: nothing was.
        """
        answer = self._answer(as_asked(intent, self._name, top_k, score_threshold))
        for told in answer.get("degraded", []):
            degraded(self._name, **told)
        if "error" in answer:
            raise replayed_error(answer["error"])
        return [SourceResult(**result) for result in answer.get("results", [])]

    def unasked(self) -> ReplayDrifted | None:
        """The drift of a question that was recorded and not asked; None when there is none."""
        if not self._left:
            return None
        asked = self._left[0]["asked"]
        return ReplayDrifted(f"The source '{self._name}' was not asked {asked['text_queries']}, as was recorded")

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        found = next((answer for answer in self._left if answer["asked"] == asked), None)
        if found is not None:
            self._left.remove(found)
            return dict(found)
        closest = (self._left or self._record["answers"] or [{"asked": None}])[0]["asked"]
        drift = ReplayDrifted(f"The source '{self._name}' is asked what was not recorded", closest, asked)
        self._drifts.append(drift)
        raise drift


class JoiningReplayingSource(ReplayingSource):
    """A `ReplayingSource` that can tell what stands between two neighbours."""

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """As recorded."""
        known = {(first, second): text for first, second, text in self._record["between"]}
        return [known.get(pair) for pair in pairs]


def replaying_source(name: str, record: dict[str, Any], drifts: list[ReplayDrifted]) -> ReplayingSource:
    """The source of that `record`."""
    return (JoiningReplayingSource if record["joins"] else ReplayingSource)(name, record, drifts)
