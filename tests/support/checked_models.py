"""The characters of the test kit, checked; `python tests/support/checked_models.py` writes their table into docs/."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

from groundgraph import load_settings
from groundgraph.evals.model_check.cases import load_cases, load_corpus
from groundgraph.evals.model_check.figures import ModelCheck
from groundgraph.evals.model_check.run_cases import run_cases
from groundgraph.evals.model_check.verdicts import TITLES
from groundgraph.testing import ScriptedChatModel
from groundgraph.testing.model_characters import CHARACTERS, behaviour, character

PAGE = Path(__file__).parent.parent.parent / "docs" / "check_model.md"
START, END = "<!-- marks of the characters -->", "<!-- end -->"


def known() -> tuple[object, dict[str, str]]:
    """The cases and the texts of the corpus, as a character takes them."""
    return load_cases(), {name: passage.text for name, passage in load_corpus().items()}


def character_of(name: str) -> ScriptedChatModel:
    """The chat model of that character."""
    return character(name, *known())


def replies_of(name: str) -> object:
    """What a stub of that character replies."""
    return behaviour(name, *known())


@cache
def checked(name: str) -> ModelCheck:
    """The figures of a character."""
    asked = asyncio.run(run_cases(load_settings({}), character_of(name), load_cases()))
    return ModelCheck(name, asked)


def table() -> str:
    """The marks of all characters: how many of how many cases are right."""
    names = list(CHARACTERS)
    lines = [f"| the model … | cases | {' | '.join(names)} |", f"|---|--:|{'--:|' * len(names)}"]
    for mark, title in TITLES.items():
        shares = [checked(name).share(mark) for name in names]
        lines.append(f"| {title} (`{mark}`) | {shares[0].n} | {' | '.join(str(one.right) for one in shares)} |")
    whole = [checked(name).right for name in names]
    lines.append(f"| **nothing wrong** | {whole[0].n} | {' | '.join(f'**{one.right}**' for one in whole)} |")
    return "\n".join(lines)


def with_table(text: str) -> str:
    """`text` of the page with its table made anew."""
    before, rest = text.split(START)
    _, after = rest.split(END, 1)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
