"""Knowing when a model is out of reach, so that an ingest does not wait for it document after document."""

from __future__ import annotations

from groundgraph.core.errors import GroundGraphError, ModelError
from groundgraph.core.model_reply import is_transient


class Outage:
    """Counts failures in a row that have nothing to do with the text that was asked about.

    Each of them has been tried again already; so after `patience` of them the rest of a batch is given up. The next
    batch asks anew.
    """

    def __init__(self, patience: int) -> None:
        self._left = self._patience = patience
        self._error: Exception | None = None

    @property
    def error(self) -> Exception | None:
        """Why nothing more should be asked; None as long as there is hope."""
        return self._error if self._left <= 0 else None

    def see(self, answer: object) -> None:
        """Count an answer, or the exception in its place."""
        if isinstance(answer, Exception) and passes(answer):
            self._left -= 1
            self._error = answer
        else:
            self._left = self._patience


def passes(error: BaseException) -> bool:
    """Whether an error says that the service is out of reach, and nothing about the text."""
    cause = error.__cause__ if isinstance(error, ModelError) and error.__cause__ else error
    return isinstance(cause, TimeoutError) or (not isinstance(cause, GroundGraphError) and is_transient(cause))
