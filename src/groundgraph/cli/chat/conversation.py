"""A conversation on one thread of a graph that is open: its questions, its commands, and its answers as printed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from groundgraph.cli.ask import run_turn
from groundgraph.cli.conversations import write_page
from groundgraph.cli.doctor import show_sources
from groundgraph.cli.doctor_checks import probed_sources
from groundgraph.cli.output import note, on_terminal, say
from groundgraph.cli.show_turn import TokenPrinter, print_evidence, print_turn
from groundgraph.core.registry import nearest
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.resume import resume_turn
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.report.turn_page import turn_text

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

        self.last = output
        if not self._quiet:
            print_turn(output, seconds, settings=self.graph.resources.settings, answer_shown=answer_shown)


# What can be typed in a conversation besides questions.

_NO_ANSWER = "There is no answer yet."


async def obey(text: str, conversation: Conversation) -> None:
    """Do what `text` says, which begins with `/`; what is no command is told."""
    name, _, rest = text.strip().partition(" ")
    if name not in COMMANDS:
        hint = "/help lists the commands; put a blank before a question that begins with /."
        note(f"There is no command {name}.{nearest(name, list(COMMANDS))} {hint}")
        return
    await COMMANDS[name][1](conversation, rest.strip())


async def _sources(conversation: Conversation, _: str) -> None:
    show_sources(await probed_sources(conversation.graph.resources))


async def _open(conversation: Conversation, label: str) -> None:
    if conversation.last is None:
        note(_NO_ANSWER)
    elif not label.strip("[]").isdecimal() or not print_evidence(int(label.strip("[]")), conversation.last):
        labels = [str(row["label"]) for row in conversation.last["provenance"]["results"]]
        note(f"Name one of the labels {', '.join(labels)}: /open N" if labels else "Nothing was found.")


async def _forget(conversation: Conversation, _: str) -> None:
    await forget_thread(conversation.graph, conversation.thread_id)
    conversation.last = None
    note(f"The conversation '{conversation.thread_id}' is forgotten. A new one begins.")


async def _report(conversation: Conversation, file: str) -> None:
    if not (conversation.last and conversation.last["provenance"].get("turn_id")):
        note(_NO_ANSWER)
        return
    record, settings = conversation.last["provenance"], conversation.graph.resources.settings
    if file:
        write_page(Path(file).expanduser(), record, settings)
    else:
        say(turn_text(record, settings=settings).rstrip())


async def _help(_conversation: Conversation, _: str) -> None:
    for name, (told, _does) in COMMANDS.items():
        say(f"{name:<10}{told}")
    say("/quit     end, as Ctrl-D does; the conversation is kept")
    say("Enter sends, Alt-Enter begins a new line, Up calls back what was typed, Ctrl-C ends an answer.")


Command = tuple[str, Callable[[Conversation, str], Awaitable[None]]]
COMMANDS: dict[str, Command] = {
    "/sources": ("what is searched, and whether it answers", _sources),
    "/open": ("N: the evidence with that label, with what is cited of it marked", _open),
    "/report": ("[FILE]: how the last answer came about, as text or as a page in FILE", _report),
    "/forget": ("remove this conversation, and begin a new one", _forget),
    "/help": ("this", _help),
}
