"""The topic indices of a configuration, around the sources that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundgraph.core.errors import ConfigurationError, ModelError, Problem
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES
from groundgraph.models.call_model import ChainModel, Passage, without_thoughts
from groundgraph.models.replies import list_schema, listed_in, negates, text_of
from groundgraph.prompts import Prompts
from groundgraph.settings.settings import Settings
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.topic_index import TopicIndexSource, index_problems

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# A model chooses the sections of documents that a question is about.

PROMPT = "choose_headings"
# A letter before the number: headings have numbers of their own, and a bare one could be either.
_NUMBER = re.compile(r"\bS(\d{1,6})\b", re.IGNORECASE)
_BARE = re.compile(r"[\d\s,;.\[\]]{1,2000}")
_OWN_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,8})\.?\s")
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
            schema=list_schema("sections", {"type": "string", "pattern": "^S[0-9]+$"}),
        )
        listed = listed_in(reply, "sections")
        if listed is not None and all(_NUMBER.fullmatch(str(one)) for one in listed):
            return read_choice(", ".join(map(str, listed)), headings)
        return read_choice(without_thoughts(text_of(reply)), headings)


def read_choice(reply: str, headings: Sequence[tuple[str, ...]]) -> list[int]:
    """The places, from 0, of those of `headings` that a reply names; numbers that none has are passed over.

    Titles may stand beside the numbers, whatever words they hold.

    Raises:
        ModelError: none is left, a number may mean either of two sections, or the reply rules something out: "not S2"
            would choose it.
    """
    found: Iterable[int] = (int(number) - 1 for number in _NUMBER.findall(reply))
    if not _NUMBER.search(reply) and _BARE.fullmatch(reply):
        found = (place for word in re.split(r"[\s,;\[\]]+", reply) for place in _bare(word.rstrip("."), headings))
    places = dict.fromkeys(place for place in found if 0 <= place < len(headings))
    if not places:
        raise ModelError("its reply names no section of the list")
    if negates(reply, [title for titles in headings for title in titles]):
        raise ModelError("its reply rules something out, where it was to list sections only")
    return list(places)


def _bare(number: str, headings: Sequence[tuple[str, ...]]) -> list[int]:
    """The places that a number alone stands for: in the list, or of the headings that begin with it.

    Raises:
        ModelError: it may be either.
    """
    own = [place for place, titles in enumerate(headings) if _own_number(titles[-1]) == number] if number else []
    listed = [int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(headings) else []
    if own and listed and own != listed:
        raise ModelError(f"its reply says '{number}', which is the number of one section and the place of another")
    return own or listed


def _own_number(title: str) -> str:
    found = _OWN_NUMBER.match(title)
    return found.group(1) if found else ""


def _shown(titles: Sequence[str]) -> str:
    return " ".join(" > ".join(titles).split())[:_TITLE_CHARS]


# A model that chooses headings must leave time for the search without it.
_SHARE_OF_LIMIT = 0.6


def with_topic_indices(
    sources: Sequence[GroundedSource], settings: Settings, prompts: Prompts, model: BaseChatModel | None
) -> list[GroundedSource]:
    """`sources`, those with a topic index in the settings inside of it.

    Args:
        sources: built from the settings.
        settings: `sources[].topic_index` and `knowledge_base.topic_index`.
        prompts: the prompt files.
        model: chooses among headings.

    Raises:
        ConfigurationError: an index cannot work; every problem is listed.
    """
    indexed = dict(_indices(settings))
    made: list[GroundedSource] = []
    problems: list[Problem] = []
    for source in sources:
        if source.name not in indexed:
            made.append(source)
            continue
        key, index = indexed[source.name]
        choose = _chooser(settings, source.name, prompts, model) if model else None
        try:
            made.append(TopicIndexSource(source, index, choose=choose, key=key))
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(problems)
    return made


def topic_problems(settings: Settings, sources: Mapping[str, GroundedSource]) -> list[Problem]:
    """What is wrong with the topic indices of `settings`, found without the models that they name.

    Args:
        settings: with its models.
        sources: those of the settings, which may have been built without models.
    """
    embeds, chooses = settings.embedding_model is not None, bool(settings.llm or settings.query_llm)
    return [
        problem
        for name, (key, index) in _indices(settings)
        if name in sources
        for problem in index_problems(sources[name], index, key, embeds=embeds, chooses=chooses)
    ]


def _indices(settings: Settings) -> Iterator[tuple[str, tuple[str, TopicIndexSettings]]]:
    """By name of the source, where its index stands in the configuration and what it is."""
    shared = settings.knowledge_base.topic_index if settings.knowledge_base else None
    bases = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASES]
    for number, entry in enumerate(settings.sources):
        if entry.topic_index:
            yield entry.name, (f"sources[{number}].topic_index", entry.topic_index)
        elif shared and entry in bases:
            yield entry.name, ("knowledge_base.topic_index", shared)
    if shared and not bases:
        yield "knowledge_base", ("knowledge_base.topic_index", shared)


def _chooser(settings: Settings, source: str, prompts: Prompts, model: BaseChatModel) -> ChooseHeadings:
    limit = min(settings.deadlines.model, _SHARE_OF_LIMIT * settings.timeout_of(source))
    return ChooseHeadings(ChainModel(model, prompts, limit, settings.limits.attempts))
