"""Chat models of known character: each reads the prompt that it is sent, and makes its own kind of mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from groundgraph.testing.models import Prompt, Reply, ScriptedChatModel

# What a forgetful model still has in mind, in characters from the end of the prompt.
MEMORY_CHARS = 6_000
SLOW_SECONDS = 0.03
_PASSAGE = re.compile(r'[a-z]+="([^"\n]+)"[^>\n]*>\n')
_CITED = re.compile(r"\s?\{([\w-]+)\}")
_ORDER = re.compile(r"\b[A-ZÄÖÜ]{4,} [A-ZÄÖÜ]{4,}\b")
# By this much of its beginning a passage is known again: what it holds of tags was made inert.
_KNOWN_CHARS = 60


def _passages(prompt: str) -> list[tuple[str, str]]:
    """Number and text of each passage that `prompt` shows."""
    shown = [part.rpartition("<passage ")[2] for part in prompt.split("\n</passage>")[:-1]]
    opened = [(_PASSAGE.match(part), part) for part in shown]
    return [(opening[1], part[opening.end() :]) for opening, part in opened if opening]


# A case of `groundgraph.evals.model_check`, which stands above this room: `ask`, `skill`, and what is right.
Known = Any


@dataclass(frozen=True)
class _Reader:
    """Finds in a prompt which case it is about and which passages it shows, and knows the right reply."""

    cases: Sequence[Known]
    corpus: Mapping[str, str]

    def case(self, prompt: Prompt) -> Known | None:
        asked = [message.text for message in prompt.messages if message.role == "user"]
        found = [case for case in self.cases if any(case.ask in text for text in asked)]
        return max(found, key=lambda case: len(case.ask), default=None)

    def right(self, prompt: Prompt, seen: str) -> str:
        """The right reply to `prompt` for whoever sees `seen` of it."""
        case = self.case(prompt)
        if case is None:
            return "Good morning."
        by_skill: dict[str, Callable[[], str]] = {
            "structured": lambda: json.dumps(dict(case.object), ensure_ascii=False),
            "queries": lambda: "\n".join(case.queries),
            "parts": lambda: "\n".join(case.queries),
            "rewriting": lambda: case.question,
            "judging": lambda: self._grades(case, seen),
            "entailment": lambda: self._opinions(case, seen),
        }
        return by_skill.get(case.skill, lambda: self._answer(case, prompt, seen))()

    def _answer(self, case: Known, prompt: Prompt, seen: str) -> str:
        labels = {name: f"[{number}]" for number, text in _passages(seen) if (name := self._name(text))}
        if case.answer and all(name in labels for name in _CITED.findall(case.answer)):
            return _CITED.sub(lambda found: f" {labels[found[1]]}", case.answer)
        return declining(prompt)

    def _grades(self, case: Known, seen: str) -> str:
        shown = _passages(seen)
        return "\n".join(f"{number}: {4 if self._name(text) in case.good else 0}" for number, text in shown)

    def _opinions(self, case: Known, seen: str) -> str:
        shown = _passages(seen)
        return "\n".join(f"{number}: {4 if text.startswith(tuple(case.said)) else 0}" for number, text in shown)

    def _name(self, shown: str) -> str:
        return next((name for name, text in self.corpus.items() if text[:_KNOWN_CHARS] in shown[:400]), "")


def declining(prompt: Prompt) -> str:
    """How `prompt` wants to be told that nothing answers: by its own line, where it names one."""
    line = re.search(r"(\b[A-Z]+_[A-Z]+:)", prompt.text)
    return f"{line[1]} it is not said." if line else "The passages do not say it."


def _sloppy(reader: _Reader, prompt: Prompt) -> Reply:
    """Cites the wrong passage or none, and loses count of what it grades."""
    case, text = reader.case(prompt), reader.right(prompt, prompt.text)
    if case is not None and case.skill in ("judging", "entailment"):
        lines = text.splitlines()
        return Reply("\n".join(lines[: len(lines) // 2]))
    other = "[1]" if "[2]" in text else "[2]"
    return Reply(re.sub(r" ?\[\d+\]", f" {other}" if len(text) % 2 else "", text))


def _obedient(reader: _Reader, prompt: Prompt) -> Reply:
    """Writes what a passage orders it to write."""
    ordered = _ORDER.search("\n".join(text for _, text in _passages(prompt.text)))
    return Reply(ordered[0] if ordered else reader.right(prompt, prompt.text))


def _inventive(reader: _Reader, prompt: Prompt) -> Reply:
    """Never says that nothing answers."""
    text = reader.right(prompt, prompt.text)
    invented = text == declining(prompt)
    return Reply("That is well known: it is 77 [1]." if invented else text)


CHARACTERS: dict[str, Callable[[_Reader, Prompt], Reply]] = {
    "exact": lambda reader, prompt: Reply(reader.right(prompt, prompt.text)),
    "sloppy": _sloppy,
    "forgetful": lambda reader, prompt: Reply(reader.right(prompt, prompt.text[-MEMORY_CHARS:])),
    "obedient": _obedient,
    "inventive": _inventive,
    "degenerate": lambda reader, prompt: Reply("and so on " * 40),  # noqa: ARG005
    "slow": lambda reader, prompt: Reply(reader.right(prompt, prompt.text), delay=SLOW_SECONDS),
    "refusing": lambda reader, prompt: Reply(refusal="I cannot help with that."),  # noqa: ARG005
}


def behaviour(name: str, cases: Sequence[Known], corpus: Mapping[str, str]) -> Callable[[Prompt], Reply]:
    """What a model of that character replies to a prompt: the `default` of a scripted model or of a stub.

    Args:
        name: one of `CHARACTERS`; `exact` makes no mistake.
        cases: what it may be asked, with the right replies: what it writes of them depends on the passages that it is
            shown, by their own numbers.
        corpus: the passages by id.
    """
    return partial(CHARACTERS[name], _Reader(cases, corpus))


def character(name: str, cases: Sequence[Known], corpus: Mapping[str, str]) -> ScriptedChatModel:
    """The chat model that behaves so; see `behaviour`."""
    return ScriptedChatModel(default=behaviour(name, cases, corpus), model_name=name)
