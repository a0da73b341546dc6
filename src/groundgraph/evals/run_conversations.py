"""Every conversation of a set through the turn graph, and what each message got against what it must get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from groundgraph.evals.conversations import Conversation, Expected
from groundgraph.evals.run_queries import EvaluationFailed, Progress, failures_of
from groundgraph.graph.open_graph import open_graph
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import HumanReviewSettings
from groundgraph.settings.services import CheckpointerSettings, StoreSettings
from groundgraph.settings.settings import Settings

_ANSWER_CHARS = 300
# Stands for the words that a note names.
_WORDS = "\0"


@dataclass(frozen=True)
class Heard:
    """What one message got.

    Attributes:
        conversation: its id.
        number: that of the message in it, from 1.
        expected: what it must get.
        outcome: of the turn.
        answer: its first 300 characters.
        faults: what is not as it must be, a phrase each; none when the message is right.
        failures: why sources or models failed; a sentence each.
    """

    conversation: str
    number: int
    expected: Expected
    outcome: str
    answer: str
    faults: tuple[str, ...]
    failures: tuple[str, ...] = ()

    @property
    def has_outcome(self) -> bool:
        """Whether the outcome is the expected one."""
        return self.outcome == self.expected.outcome


def conversation_settings(settings: Settings, *, with_models: bool) -> Settings:
    """`settings` as conversations are run with: threads and evidence in memory, and nobody is asked for a decision.

    Without `with_models` there is no chat model and no embedding model, and nothing that needs one.
    """
    kept = {
        "checkpointer": CheckpointerSettings(type="memory"),
        "store": StoreSettings(type="memory"),
        "human_review": HumanReviewSettings(),
    }
    return (settings if with_models else settings.without_models()).model_copy(update=kept)


async def run_conversations(
    settings: Settings, conversations: Sequence[Conversation], on_progress: Progress | None = None
) -> list[Heard]:
    """What each message of `conversations` got, in their order, every conversation on a thread of its own.

    Args:
        settings: see `conversation_settings`.
        conversations: what to ask.
        on_progress: called after each conversation.

    Raises:
        ConfigurationError: the settings cannot work.
        EvaluationFailed: a source or a model failed in every turn.
    """
    heard: list[Heard] = []
    async with open_graph(settings) as graph:
        for number, conversation in enumerate(conversations, 1):
            config: RunnableConfig = {"configurable": {"thread_id": f"conversation-{number}"}}
            for place, expected in enumerate(conversation.turns, 1):
                asked = {"messages": [("user", expected.ask)]}
                output = await graph.ainvoke(asked, config, context=conversation.context)
                heard.append(_heard(conversation.id, place, expected, output, graph.resources.prompts))
            if on_progress:
                on_progress(number, len(conversations))
    if all(one.failures for one in heard):
        raise EvaluationFailed(f"Every turn failed, so nothing was measured. {heard[0].failures[0]}")
    return heard


def _heard(conversation: str, number: int, expected: Expected, output: Mapping[str, Any], prompts: Prompts) -> Heard:
    found = tuple(_faults(expected, output, prompts))
    failures = failures_of(output["provenance"]) if expected.outcome != "unavailable" else ()
    answer = " ".join(output["answer"].split())[:_ANSWER_CHARS]
    return Heard(conversation, number, expected, output["outcome"], answer, found, failures)


def _faults(expected: Expected, output: Mapping[str, Any], prompts: Prompts) -> list[str]:
    answer = _folded(output["answer"])
    told = f"{answer} {_folded(' '.join(output['notes']))}"
    faults = [f"{output['outcome']}, not {expected.outcome}"] if output["outcome"] != expected.outcome else []
    faults += [f"does not say '{words}'" for words in expected.says if _folded(words) not in told]
    faults += [f"says '{words}'" for words in expected.lacks if _folded(words) in answer]
    if expected.holder and not _cites(output["citations"], expected.holder):
        faults.append(f"no citation leads to '{expected.holder}'")
    if not expected.doubt and has_doubt(output, prompts):
        faults.append("says that it may be no answer")
    return faults


def _folded(text: str) -> str:
    """`text` as it is compared: an answer is wrapped in other places, and has backslashes before marks."""
    return " ".join(text.replace("\\", "").split()).casefold()


def _cites(citations: Iterable[Mapping[str, Any]], holder: str) -> bool:
    return any(_leads_to(citation, holder) for citation in citations)


def _leads_to(citation: Mapping[str, Any], holder: str) -> bool:
    location = citation["location"]
    file = str(location.get("file", ""))
    return holder in (citation["source_name"], location.get("table"), file) or file.endswith(f"/{holder}")


def has_doubt(output: Mapping[str, Any], prompts: Prompts) -> bool:
    """Whether a note says that the question may not be answered: only by its words can a note be told from others."""
    language = output["provenance"].get("language", "en")
    begins, whole = (prompts.note("may_not_answer", language, missing=missing) for missing in (_WORDS, ""))
    return any(note.startswith((begins.partition(_WORDS)[0], whole)) for note in output["notes"])
