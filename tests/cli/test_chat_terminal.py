"""`groundgraph chat` at a terminal: a pseudo-terminal types, and what was asked is read from the kept conversation."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
from forked_terminal import ForkedTerminal
from prompt_toolkit.history import InMemoryHistory

from groundgraph.cli.chat.terminal import kept_history
from groundgraph.testing import Reply, Rule, openai_stub

pytestmark = pytest.mark.covers("U5", "B10")

CONFIG = """
sources:
  - type: memory
    name: docs
    records: [Pump 17 is serviced every 90 days., The filter of pump 17 is changed once a year.]
"""
QUESTION = "How often is pump 17 serviced?"
# A busy machine may stop a process for long; a test that goes well waits for nothing.
SECONDS = 120
ENTER, ALT_ENTER, LEFT, UP, CTRL_A, CTRL_C = "\r", "\x1b\r", "\x1b[D", "\x1b[A", "\x01", "\x03"
CTRL_D, CTRL_R, BACKSPACE = "\x04", "\x12", "\x7f"
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
# What a terminal is told besides text: colours, the place of the cursor, titles and addresses.
_CONTROL = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]|\r")


class Terminal:
    """A chat in a terminal of 24 lines and 100 columns."""

    def __init__(
        self, folder: Path, call: Callable[..., Any], *options: str, forked: bool = True, **environment: str
    ) -> None:
        self.call, self.state = call, folder / "state"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GROUNDGRAPH_")},
            "TERM": "xterm-256color",
            "XDG_STATE_HOME": str(self.state),
            # The pseudo-terminal does not tell where its cursor is, which would be waited for.
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "PYTHONIOENCODING": "utf-8",
            "LC_ALL": "C.UTF-8",
            **environment,
        }
        text = {"encoding": "utf-8", "codec_errors": "replace", "timeout": SECONDS}
        if forked:
            self.child = ForkedTerminal(["chat", *options], folder, environment, (24, 100), **text)
        else:
            command = ["-m", "groundgraph", "chat", *options]
            self.child = pexpect.spawn(
                sys.executable, command, cwd=str(folder), env=environment, dimensions=(24, 100), **text
            )
        self.child.delaybeforesend = None

    def prompt(self) -> str:
        """What was printed until a prompt waits for keys, as text."""
        # Pasting is switched on when the keys are read one by one, in front of each prompt.
        self.child.expect_exact("\x1b[?2004h")
        return _CONTROL.sub("", self.child.before)

    def type(self, text: str) -> None:
        self.child.send(text)

    def ask(self, text: str) -> str:
        """What is printed between sending `text` and the next prompt."""
        self.type(text + ENTER)
        return self.prompt()

    def leave(self) -> None:
        self.type(CTRL_D)
        self.ended()

    def ended(self) -> None:
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert (self.child.exitstatus, self.child.signalstatus) == (0, None)

    def asked(self) -> list[str]:
        """The questions that the conversation kept."""
        return [turn["question"] for turn in self.call("threads", "show", "chat", "--json").json["turns"]]


Open = Callable[..., Terminal]


@pytest.fixture
def opened(tmp_path: Path, call: Callable[..., Any]) -> Iterator[Open]:
    """Opens a chat over two records, and takes what is left of it away."""
    (tmp_path / "groundgraph.yaml").write_text(CONFIG)
    terminals: list[Terminal] = []

    def opened(*options: str, **environment: str) -> Terminal:
        terminals.append(Terminal(tmp_path, call, *options, **environment))
        return terminals[-1]

    yield opened
    for terminal in terminals:
        terminal.child.close(force=True)


def test_a_greeting_says_what_is_searched_and_keys_edit_what_is_typed(opened: Open) -> None:
    chat = opened()
    greeting = chat.prompt()
    assert "Searched: docs; answers quote what is found, without a model." in greeting
    assert "/help" in greeting
    chat.type("often is pump 17 servced?" + LEFT * 4 + "i" + CTRL_A + "How ")
    assert "90 days" in chat.ask("")
    chat.leave()
    assert chat.asked() == [QUESTION]


def test_what_was_typed_is_called_back_also_after_a_restart_and_read_by_nobody_else(opened: Open) -> None:
    chat = opened()
    chat.prompt()
    chat.ask(QUESTION)
    chat.leave()
    [kept] = chat.state.rglob("chat_history")
    assert QUESTION in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0

    again = opened()
    assert "Going on" not in again.prompt()
    again.ask("Hello")
    again.ask(UP * 2)
    again.type(CTRL_R + "how" + ENTER)
    again.ask("")
    again.leave()
    assert again.asked() == [QUESTION, "Hello", QUESTION, QUESTION]


def test_history_can_be_switched_off(opened: Open) -> None:
    chat = opened("--no-history")
    chat.prompt()
    chat.ask(QUESTION)
    chat.ask(UP)
    chat.leave()
    assert chat.asked() == [QUESTION, QUESTION]
    assert not list(chat.state.rglob("*"))


def test_where_history_cannot_be_kept_it_is_told(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert isinstance(kept_history(), InMemoryHistory)
    assert "is not kept" in capsys.readouterr().err


def test_ctrl_c_at_the_prompt_throws_away_what_is_typed_and_twice_ends(opened: Open) -> None:
    chat = opened()
    chat.prompt()
    chat.type("never asked" + CTRL_C)
    assert "once more" not in chat.prompt()
    chat.type(CTRL_C)
    assert "Ctrl-C once more" in chat.prompt()
    # Something typed in between: the next one is a first one again.
    chat.type("nor this" + CTRL_C)
    chat.prompt()
    chat.type(CTRL_C)
    assert "Ctrl-C once more" in chat.prompt()
    chat.type(CTRL_C)
    chat.ended()
    assert chat.asked() == []


def test_ctrl_c_ends_the_answer_that_is_being_written_and_not_the_program(
    tmp_path: Path, call: Callable[..., Any]
) -> None:
    endless = Reply("Pump 17 is serviced every 90 days [1]. " * 500, token_delay=0.1)
    with openai_stub(rules=[Rule("And its filter", "Once a year [2]."), Rule("How often", endless)]) as stub:
        model = f'llm: {{provider: openai, model: test-model, base_url: "{stub.base_url}"}}\nintent: {{mode: static}}\n'
        (tmp_path / "groundgraph.yaml").write_text(model + CONFIG)
        chat = Terminal(tmp_path, call, forked=False, OPENAI_API_KEY="test")
        try:
            assert "test-model writes the answers" in chat.prompt()
            chat.type(QUESTION + ENTER)
            chat.child.expect("90 days")
            chat.type(CTRL_C)
            assert "Stopped." in chat.prompt()
            assert "Once a year" in chat.ask("And its filter?")
            chat.leave()
            assert chat.asked() == ["And its filter?"]
        finally:
            chat.child.close(force=True)


def test_the_terminal_may_be_resized_while_something_is_typed(opened: Open) -> None:
    chat = opened()
    chat.prompt()
    chat.type("How often is ")
    chat.child.expect_exact("How often is")
    for rows, columns in ((10, 20), (40, 200), (6, 30)):
        chat.child.setwinsize(rows, columns)
    chat.type("pump 17 ")
    # A terminal of another size has the prompt drawn, and pasting switched on, anew.
    chat.type("serviced?" + ENTER)
    chat.child.expect("Outcome: answered")
    chat.prompt()
    chat.leave()
    assert chat.asked() == [QUESTION]


def test_wide_characters_and_those_of_other_alphabets_are_edited_as_one(opened: Open) -> None:
    chat = opened()
    chat.prompt()
    for typed in (
        "泵17多久保养一次?" + LEFT * 5 + "应该",
        "насос" + BACKSPACE * 2 + "ёж",
        "Is a 🙂 pump" + LEFT * 4 + "🚰",
    ):
        chat.ask(typed)
    chat.leave()
    assert chat.asked() == ["泵17多久应该保养一次?", "насёж", "Is a 🙂 🚰pump"]


def test_a_pasted_paragraph_stays_one_message_and_alt_enter_begins_a_line(opened: Open) -> None:
    chat = opened()
    chat.prompt()
    paragraph = "We have a pump.\r\nIt is number 17.\r\n\r\nHow often is it serviced?"
    chat.type(PASTE_BEGINS + paragraph + PASTE_ENDS)
    chat.ask("")
    chat.ask("Pump 17:" + ALT_ENTER + "how often is it serviced?")
    chat.leave()
    assert chat.asked() == [paragraph.replace("\r\n", "\n"), "Pump 17:\nhow often is it serviced?"]


def test_commands_are_obeyed_and_never_asked(opened: Open, tmp_path: Path) -> None:
    chat = opened()
    chat.prompt()
    assert "There is no answer yet." in chat.ask("/open 1")
    assert "There is no answer yet." in chat.ask("/report")
    chat.ask(QUESTION)
    shown = chat.ask("/open 1")
    assert "[1] docs" in shown
    assert "Pump 17 is serviced every 90 days." in shown
    assert "Name one of the labels 1" in chat.ask("/open 7")
    assert "docs" in chat.ask("/sources")
    assert all(name in (told := chat.ask("/help")) for name in ("/sources", "/open", "/report", "/forget", "/quit")), (
        told
    )
    assert QUESTION in chat.ask("/report")
    assert "page.html" in chat.ask("/report page.html")
    assert "<html" in (tmp_path / "page.html").read_text()
    # What cannot be done is told, and the conversation goes on.
    assert "Error: " in chat.ask("/report /dev/null/page.html")
    told = chat.ask("/repot")
    assert "There is no command /repot." in told
    assert "'/report'" in told
    chat.ask(" /etc/hosts is what?")
    assert "is forgotten" in chat.ask("/forget")
    assert "There is no answer yet." in chat.ask("/open 1")
    chat.ask("And the filter of pump 17?")
    chat.type("/quit" + ENTER)
    chat.ended()
    assert chat.asked() == ["And the filter of pump 17?"]


@pytest.mark.covers("S10")
def test_a_number_chooses_what_was_asked_back(tmp_path: Path, call: Callable[..., Any]) -> None:
    (tmp_path / "groundgraph.yaml").write_text(
        "synthesis: {style: structured, ask_back: {field: product}}\n"
        "sources:\n"
        "  - type: memory\n"
        "    name: pumps\n"
        "    schema: {fields: {product: {type: string}}}\n"
        "    records:\n"
        "      - {content: The warranty of the pump lasts two years., product: Orion}\n"
        "      - {content: The warranty of the pump lasts three years., product: Vega}\n"
    )
    chat = Terminal(tmp_path, call)
    try:
        chat.prompt()
        assert "Outcome: clarify" in chat.ask("How long does the warranty of the pump last?")
        assert "three years" in chat.ask("2")
        chat.leave()
    finally:
        chat.child.close(force=True)
