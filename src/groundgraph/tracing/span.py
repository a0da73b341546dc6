"""What a span is, and which one is open; whoever opens them is `tracing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Protocol, TypeAlias

Attribute: TypeAlias = str | bool | int | float | Sequence[str]


class Span(Protocol):
    """What is told about one part of a run."""

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        """Add `attributes`; a later value of a name wins."""

    def content(self, attributes: Mapping[str, Attribute]) -> None:
        """Add `attributes` that quote a reader, a document or a model; dropped unless `tracing.content` is on."""

    def failed(self, reason: str) -> None:
        """The part failed, though it raised nothing. `reason` is the name of an error, no text of one."""


class Tracing(Protocol):
    """What opens spans."""

    def span(
        self,
        name: str,
        kind: str,
        attributes: Mapping[str, Attribute] | None = None,
        content: Mapping[str, Attribute] | None = None,
    ) -> AbstractContextManager[Span]:
        """A span below the current one, current itself until it is left."""


class _NoSpan:
    """Stands where nothing is traced."""

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        """Nothing."""

    def content(self, attributes: Mapping[str, Attribute]) -> None:
        """Nothing."""

    def failed(self, reason: str) -> None:
        """Nothing."""


NO_SPAN: Span = _NoSpan()

current_tracing: ContextVar[Tracing | None] = ContextVar("current_tracing", default=None)
"""What the graph that is running traces with; None outside of a run and in a graph that traces nothing."""

current_run: ContextVar[Span] = ContextVar("current_run", default=NO_SPAN)
"""The span of the whole run: of the turn, the retrieval or the ingest."""
