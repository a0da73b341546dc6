"""A conversation at a terminal: lines that can be edited and called back, and Ctrl-C that ends an answer only."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from groundgraph.cli.chat.conversation import COMMANDS, LEAVE, Conversation, obey
from groundgraph.cli.doctor_checks import size_of
from groundgraph.cli.output import counted, note, report_error, say
from groundgraph.core.errors import GroundGraphError

_PROMPT = "> "
_ONCE_MORE = "Ctrl-C once more, or Ctrl-D, ends the conversation; it is kept."
_STOPPED = "Stopped. The next question leaves this one behind; without one, the next start of chat completes it."


async def converse(conversation: Conversation, *, keeps_history: bool) -> None:
    """Ask what is typed, until whoever types leaves."""
    note(await _greeting(conversation))
    typed = _Typed(kept_history() if keeps_history else InMemoryHistory())
    await _stoppable(conversation.complete())
    while (text := await typed.next()) is not None:
        if text.startswith("/"):
            await _stoppable(obey(text, conversation))
        elif text.strip():
            await _stoppable(conversation.ask(text))


async def _greeting(conversation: Conversation) -> str:
    """What is searched, who writes, and how one gets help."""
    resources = conversation.graph.resources
    sizes = await asyncio.gather(*map(size_of, resources.sources.values()))
    searched = [
        f"{name} ({counted(size['documents'], 'document')})" if "documents" in size else name
        for name, size in zip(resources.sources, sizes, strict=True)
    ]
    model = resources.settings.llm
    written = f"{model.model} writes the answers" if model else "answers quote what is found, without a model"
    return (
        f"Searched: {', '.join(searched) or 'nothing yet'}; {written}.\n"
        "/help tells what can be typed; Alt-Enter begins a new line, Ctrl-D ends."
    )


async def _stoppable(work: Coroutine[Any, Any, object]) -> None:
    """Do `work`, which Ctrl-C ends. What it raises is told, and the conversation goes on."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await asyncio.wait([task])
    finally:
        loop.remove_signal_handler(signal.SIGINT)
    if task.cancelled():
        say()
        note(_STOPPED)
    elif isinstance(error := task.exception(), GroundGraphError | OSError):
        report_error(error, as_json=False)
    elif error is not None:
        raise error


class _Typed:
    """What is typed at the prompt: Enter sends, Alt-Enter begins a line, and what is pasted stays one message."""

    def __init__(self, history: History) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=history,
            multiline=True,
            prompt_continuation=" " * len(_PROMPT),
            key_bindings=_keys(),
            completer=WordCompleter([*COMMANDS, *LEAVE], sentence=True),
            complete_while_typing=False,
            search_ignore_case=True,
            enable_open_in_editor=True,
        )

    async def next(self) -> str | None:
        """The next text; None when whoever types leaves: by a word, Ctrl-D, or Ctrl-C twice where nothing is typed."""
        leaving = False
        while True:
            try:
                text = await self._session.prompt_async(_PROMPT)
            except EOFError:
                return None
            except KeyboardInterrupt:
                empty = not self._session.default_buffer.text
                if leaving and empty:
                    return None
                leaving = empty
                if leaving:
                    note(_ONCE_MORE)
            else:
                return None if text.strip() in LEAVE else text


def _keys() -> KeyBindings:
    keys = KeyBindings()

    # While what was typed is searched, Enter takes what was found.
    @keys.add("enter", filter=~is_searching)
    def send(event: Any) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def kept_history() -> History:
    """What was typed before, which only this user can read; this conversation's alone where nothing can be kept."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    file = Path(state, "groundgraph", "chat_history")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError as error:
        note(f"What is typed is not kept in {file}: {error.strerror}.")
        return InMemoryHistory()
    return FileHistory(str(file))
