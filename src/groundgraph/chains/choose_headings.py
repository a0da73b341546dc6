"""A model chooses the sections of documents that a question is about (X3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.chains.chain_model import ChainModel, Passage, without_thoughts
from groundgraph.chains.negation import negates
from groundgraph.core.errors import ModelError

PROMPT = "choose_headings"
# A letter before the number: headings have numbers of their own, and a bare one could be either.
_NUMBER = re.compile(r"\bS(\d{1,6})\b", re.IGNORECASE)
_BARE = re.compile(r"[\d\s,;.\[\]]+")
_QUESTION_CHARS = 8000
_TITLE_CHARS = 300


@dataclass(frozen=True)
class ChooseHeadings:
    """Asks `model`; see `__call__`."""

    model: ChainModel

    async def __call__(self, instruction: str, question: str, headings: Sequence[tuple[str, ...]]) -> list[int]:
        """The places in `headings` of the sections that the model chooses, the most relevant first; at least one.

        Args:
            instruction: the user's own words on how to choose.
            question: in words.
            headings: for each section the titles that lead to it, the outermost first.

        Raises:
            ModelError: the model failed, or its reply names no section of the list or rules something out.
        """
        lines = [f"S{number}: {_shown(titles)}" for number, titles in enumerate(headings, 1)]
        reply = await self.model.reply(
            [PROMPT],
            [Passage("sections", "\n".join(lines))],
            question[:_QUESTION_CHARS],
            variables={"instruction": instruction.strip()},
        )
        return read_choice(
            without_thoughts(reply.text), len(headings), [title for titles in headings for title in titles]
        )


def read_choice(reply: str, offered: int, titles: Sequence[str] = ()) -> list[int]:
    """The places, from 0, that a reply names; numbers beyond `offered` are passed over.

    `titles` may stand beside the numbers, whatever words they hold.

    Raises:
        ModelError: none is left, or the reply rules something out: "not S2" would choose it.
    """
    found = _NUMBER.findall(reply)
    if not found and _BARE.fullmatch(reply):
        found = re.findall(r"\d{1,6}", reply)
    places = dict.fromkeys(int(number) - 1 for number in found if 1 <= int(number) <= offered)
    if not places:
        raise ModelError("its reply names no section of the list")
    if negates(reply, titles):
        raise ModelError("its reply rules something out, where it was to list sections only")
    return list(places)


def _shown(titles: Sequence[str]) -> str:
    return " ".join(" > ".join(titles).split())[:_TITLE_CHARS]
