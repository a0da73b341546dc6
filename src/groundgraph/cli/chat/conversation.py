"""A conversation on one thread of a graph that is open: its questions, and its answers as they are printed."""

from __future__ import annotations

import time
from typing import Any

from groundgraph.cli.ask import run_turn
from groundgraph.cli.output import note, on_terminal
from groundgraph.graph.resume import resume_turn
from groundgraph.graph.turn_runner import TurnRunner

LEAVE = ("/quit", "/exit")


class Conversation:
    """Turns on a thread.

    Attributes:
        graph: what answers, with its checkpointer and store.
        thread_id: the thread.
        last: the output of the turn before, None at the beginning.
    """

    def __init__(self, graph: TurnRunner, thread_id: str, *, quiet: bool) -> None:
        """`quiet` prints no answer."""
        self.graph = graph
        self.thread_id = thread_id
        self.last: dict[str, Any] | None = None
        self._quiet = quiet

    async def ask(self, question: str) -> dict[str, Any]:
        """The output of a turn, which is printed."""
        from groundgraph.cli.show_turn import TokenPrinter

        writes = self.graph.resources.chat_model is not None
        printer = TokenPrinter(wanted=writes and not self._quiet and on_terminal())
        started = time.perf_counter()
        output = await run_turn(self.graph, question, self.thread_id, None, printer)
        self._show(output, time.perf_counter() - started, answer_shown=printer.finish(output["answer"]))
        return output

    async def complete(self) -> dict[str, Any] | None:
        """The output of a turn that an earlier process left unfinished; None when there is none, or only a person can
        go on with it."""
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": self.thread_id}})
        if not snapshot.tasks:
            return None
        if snapshot.interrupts:
            note(
                "The last answer waits for a person, whom the command line cannot ask. A new question leaves it behind."
            )
            return None
        note("The last turn was interrupted. Going on with it.")
        started = time.perf_counter()
        output: dict[str, Any] = {**await resume_turn(self.graph, self.thread_id)}
        self._show(output, time.perf_counter() - started, answer_shown=False)
        return output

    def _show(self, output: dict[str, Any], seconds: float, *, answer_shown: bool) -> None:
        """The one place where an answer is printed."""
        from groundgraph.cli.show_turn import print_turn

        self.last = output
        if not self._quiet:
            print_turn(output, seconds, settings=self.graph.resources.settings, answer_shown=answer_shown)
