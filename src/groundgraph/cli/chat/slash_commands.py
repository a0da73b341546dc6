"""What can be typed in a conversation besides questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from groundgraph.cli.chat.conversation import Conversation
from groundgraph.cli.conversations import write_page
from groundgraph.cli.doctor import show_sources
from groundgraph.cli.doctor_checks import probed_sources
from groundgraph.cli.output import note, say
from groundgraph.cli.show_turn import print_evidence
from groundgraph.core.registry import nearest
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.report.turn_page import turn_text

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
