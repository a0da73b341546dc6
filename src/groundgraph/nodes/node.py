"""The shape of a step."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeVar

from langgraph.runtime import Runtime

from groundgraph.core.context import Context

StateT_contra = TypeVar("StateT_contra", contravariant=True)
UpdateT_co = TypeVar("UpdateT_co", covariant=True)


class Node(Protocol[StateT_contra, UpdateT_co]):
    """A step of a graph: reads its part of the state, gives a partial update."""

    def __call__(self, state: StateT_contra, *, runtime: Runtime[Context]) -> Awaitable[UpdateT_co]:
        """The update."""
