"""The cases that a model is asked, and the corpus that they are asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from groundgraph.core.evidence import SourceResult
from groundgraph.text.words import read_data

SOURCE = "handbook"
Skill = Literal[
    "citing",
    "declining",
    "language",
    "conflicts",
    "numbers",
    "injection",
    "long",
    "instruction",
    "structured",
    "queries",
    "rewriting",
    "parts",
    "judging",
    "entailment",
]
SKILLS: tuple[Skill, ...] = get_args(Skill)
# Of these an answer comes; the others are about what a model does before and beside it.
ANSWER_SKILLS: frozenset[Skill] = frozenset(SKILLS[: SKILLS.index("structured")])
FILLING = "..."
# Passages that make one of a long filling.
_JOINED = 8
_HEADING = re.compile(r"^## (.+) \{([\w-]+)\}\n", re.MULTILINE)
_CITED = re.compile(r"\s?\{([\w-]+)\}")


@dataclass(frozen=True)
class Passage:
    """A section of the corpus."""

    id: str
    title: str
    text: str

    def result(self, relevance: float) -> SourceResult:
        """The passage as a source gives it."""
        metadata = {"title": self.title, "section": self.title}
        return SourceResult(self.text, self.id, SOURCE, SOURCE, relevance, metadata)


class Case(BaseModel):
    """What a model is asked once, and by what its reply is judged; `cases.yaml` says what the keys mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    skill: Skill
    ask: str
    language: str = "en"
    read: list[str] = []
    answer: str = ""
    says: list[str] = []
    lacks: list[str] = []
    matches: list[str] = []
    mentions: list[str] = []
    instruction: str | None = None
    most_sentences: int | None = None
    most_words: int | None = None
    object: dict[str, Any] = {}
    queries: list[str] = []
    before: list[tuple[str, str]] = []
    question: str = ""
    good: list[str] = []
    said: list[str] = []
    planted: list[str] = []

    @property
    def cited(self) -> list[str]:
        """The ids of the passages that a right answer cites."""
        return list(dict.fromkeys(_CITED.findall(self.answer)))

    def written(self, label: Mapping[str, str] | None = None) -> str:
        """The right answer, with `label`'s text in place of each citation; without any when absent."""
        return _CITED.sub(lambda found: f" {label[found[1]]}" if label else "", self.answer)


@cache
def load_cases() -> tuple[Case, ...]:
    """All cases, skill by skill."""
    text = (files(__package__) / "cases.yaml").read_text("utf-8")
    given: dict[str, list[dict[str, Any]]] = read_data(text)
    return tuple(
        Case.model_validate({**row, "id": f"{skill}-{number}", "skill": skill})
        for skill, rows in given.items()
        for number, row in enumerate(rows, 1)
    )


@cache
def common_words() -> dict[str, frozenset[str]]:
    """By language its most common words, by which the language of a short answer is told."""
    given = read_data((files(__package__) / "common_words.yaml").read_text("utf-8"))
    return {language: frozenset(listed.split()) for language, listed in given.items()}


@cache
def load_corpus() -> dict[str, Passage]:
    """The passages by id, in the order of their files."""
    folder = files(__package__) / "corpus"
    found: dict[str, Passage] = {}
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        parts = _HEADING.split(file.read_text("utf-8"))[1:]
        for title, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            found[name] = Passage(name, title, text.strip())
    return found


def evidence_of(read: Sequence[str]) -> list[SourceResult]:
    """The passages in `read`, in this order, each a little less relevant than the one before it."""
    corpus = load_corpus()
    shown: list[Passage] = []
    for name in read:
        shown += _filling(read) if name == FILLING else [corpus[name]]
    return [one.result(1 - number / (2 * len(shown))) for number, one in enumerate(shown)]


def _filling(read: Sequence[str]) -> list[Passage]:
    """About 48 000 characters that hold nothing of what the named passages say: the others, several in each."""
    corpus = load_corpus()
    asked = {name for case in load_cases() if case.skill in ("conflicts", "injection") for name in case.read}
    others = [one for name, one in corpus.items() if name not in asked and name not in read]
    wrapped = others + others
    return [
        Passage(f"filling-{number}", one.title, "\n".join(part.text for part in wrapped[number : number + _JOINED]))
        for number, one in enumerate(others)
    ]
