"""The characters of the test kit, checked; `python tests/support/checked_models.py` writes the run into docs/."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

from groundgraph import load_settings
from groundgraph.evals.model_check.cases import load_cases, load_corpus
from groundgraph.evals.model_check.figures import ModelCheck, advised_settings, check_lines
from groundgraph.evals.model_check.run_cases import run_cases
from groundgraph.evals.model_check.verdicts import TITLES
from groundgraph.settings.services import ModelSettings
from groundgraph.testing import ScriptedChatModel
from groundgraph.testing.model_characters import CHARACTERS, behaviour, character

PAGE = Path(__file__).parent.parent.parent / "docs" / "check_model.md"
START, SHOWN, END = "<!-- marks of the characters -->", "<!-- what is printed of sloppy -->", "<!-- end -->"


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


def printed(name: str) -> str:
    """What the command prints of a character, without its times."""
    check = checked(name)
    lines = [line for line in check_lines(check.to_dict()) if not line.startswith("An answer takes")]
    advised = advised_settings(check, ModelSettings(provider="openai", model=name))
    return "\n".join(["```", *lines, "", "Advised settings:", "", advised.strip(), "```"])


def with_run(text: str) -> str:
    """`text` of the page with what is from a run made anew."""
    for start, made in ((START, table()), (SHOWN, printed("sloppy"))):
        before, rest = text.split(start)
        _, after = rest.split(END, 1)
        text = f"{before}{start}\n{made}\n{END}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(with_run(PAGE.read_text("utf-8")), "utf-8")
