"""A source of a user that answers whatever a test says."""

from __future__ import annotations

from groundgraph import GroundedSource


class Written(GroundedSource):
    """Answers with `answer`, or raises it."""

    source_type = "written"

    def __init__(self, answer: object, name: str = "odd") -> None:
        self.answer = answer
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def get_schema(self) -> None:
        return None

    async def query(self, intent: object, *, top_k: int = 5, score_threshold: float = 0.0) -> object:  # type: ignore[override]
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        return None
