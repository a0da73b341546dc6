"""A channel whose value stays in the process, so that a run that stops between two steps goes on with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self
from uuid import uuid4

from langgraph.channels import UntrackedValue
from langgraph.channels.base import Value
from typing_extensions import override

from groundgraph.core.latest import Latest

# Of two threads that are stepped through at once.
HELD_VALUES = 2


class HeldValue(UntrackedValue[Value]):
    """Like `UntrackedValue`, except that a checkpoint holds a name for the value.

    Under that name the graph keeps the latest values of all its runs, `HELD_VALUES` in number. A run that is resumed in
    another process, by another graph, or long afterwards finds the channel empty.
    """

    __slots__ = ("_held", "_name")

    def __init__(self, typ: type[Value], guard: bool = True, held: Latest[str, Value] | None = None) -> None:
        super().__init__(typ, guard)
        self._name: str | None = None
        self._held: Latest[str, Value] = Latest(HELD_VALUES) if held is None else held

    @override
    def copy(self) -> Self:
        copied = self._empty()
        copied.value, copied._name = self.value, self._name
        return copied

    @override
    def update(self, values: Sequence[Value]) -> bool:
        changed = super().update(values)
        if changed:
            self._name = None
        return changed

    def checkpoint(self) -> Value | Any:
        """The name of the value; LangGraph's own mark for nothing when there is none."""
        if not self.is_available():
            return super().checkpoint()
        self._name = self._name or uuid4().hex
        self._held.put(self._name, self.value)
        return self._name

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with the value of that name, empty when it is not held any more."""
        restored = self._empty()
        held = self._held.get(checkpoint) if isinstance(checkpoint, str) else None
        if held is not None:
            restored.value, restored._name = held, checkpoint
        return restored

    def _empty(self) -> Self:
        empty = self.__class__(self.typ, self.guard, self._held)
        empty.key = self.key
        return empty
