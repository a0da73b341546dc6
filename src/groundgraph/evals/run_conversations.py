"""Every conversation of a set through the turn graph, what each message got against what it must get, and how often it
got that, over all conversations and over those of each tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from langchain_core.runnables import RunnableConfig

from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem
from groundgraph.core.turn_values import Outcome
from groundgraph.evals.dataset import BadLine, id_of, json_object, read_lines, text_of, texts_of
from groundgraph.evals.measures import PerQuery, mean_intervals, means
from groundgraph.evals.report import Evaluation
from groundgraph.evals.run_queries import EvaluationFailed, Progress, failures_of
from groundgraph.graph.open_graph import open_graph
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import HumanReviewSettings
from groundgraph.settings.context import Context
from groundgraph.settings.services import CheckpointerSettings, StoreSettings
from groundgraph.settings.settings import Settings

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_CONVERSATION_KEYS = ("_id", "tags", "context", "turns")
_TURN_KEYS = ("ask", "outcome", "says", "lacks", "from", "doubt")


@dataclass(frozen=True)
class Expected:
    """One message of a user, and what must come of it.

    Attributes:
        ask: the message.
        outcome: that of the turn.
        says: what must stand in the answer or its notes, whatever its case and line breaks.
        lacks: what must not stand in the answer.
        holder: the file, the table or the source that one of the citations must lead to; None for any.
        doubt: whether the answer may say that it may be none.
    """

    ask: str
    outcome: Outcome
    says: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    holder: str | None = None
    doubt: bool = True


@dataclass(frozen=True)
class Conversation:
    """Messages that are asked on one thread, one after the other.

    Attributes:
        id: of the conversation.
        turns: at least one.
        tags: what kinds of conversation it is one of.
        context: the choices of its runs, such as the sources to search or the scope.
    """

    id: str
    turns: tuple[Expected, ...]
    tags: tuple[str, ...] = ()
    context: Context = field(default_factory=Context)


def load_conversations(file: Path) -> list[Conversation]:
    """The conversations in `file`, one JSON object a line.

    Raises:
        ConfigurationError: the file is missing or empty, or lines are bad: each has its place.
    """
    if not file.is_file():
        message = f"there is no file '{file}'; it must hold one conversation a line, or name another with --queries"
        raise ConfigurationError(message)
    lines: dict[str, int] = {}

    def parse(number: int, line: str) -> Conversation:
        row = json_object(line)
        found = _conversation(row)
        if found.id in lines:
            raise BadLine(f"the _id '{found.id}' stands in line {lines[found.id]} already; give this one another")
        lines[found.id] = number
        return found

    conversations = read_lines(file.read_bytes(), file, parse)
    if not conversations:
        raise ConfigurationError([Problem("", "the file holds no conversation; write one a line", str(file))])
    return conversations


def _conversation(row: dict[str, Any]) -> Conversation:
    _refuse_unknown(row, _CONVERSATION_KEYS, "a conversation")
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, dict) for turn in turns):
        raise BadLine('\'turns\' must be a list such as [{"ask": "...", "outcome": "answered"}]')
    try:
        context = Context.model_validate(row.get("context") or {})
    except InputInvalid as error:
        raise BadLine(f"'context': {error}") from error
    return Conversation(id_of(row), tuple(map(_expected, turns)), texts_of(row, "tags"), context)


def _expected(turn: dict[str, Any]) -> Expected:
    _refuse_unknown(turn, _TURN_KEYS, "a turn")
    ask, outcome, doubt = text_of(turn, "ask"), turn.get("outcome"), turn.get("doubt", True)
    if not ask.strip():
        raise BadLine("'ask' is empty; write the message there")
    if outcome not in OUTCOMES:
        raise BadLine(f"the outcome of \"{ask[:60]}\" must be one of {', '.join(OUTCOMES)}, not '{outcome}'")
    if not isinstance(doubt, bool):
        raise BadLine("'doubt' must be true where the answer may say that it may be none, otherwise false")
    holder = text_of(turn, "from") if turn.get("from") is not None else None
    says, lacks = texts_of(turn, "says"), texts_of(turn, "lacks")
    if not all(map(str.strip, (*says, *lacks))):
        raise BadLine("'says' and 'lacks' are words; an empty text stands in every answer")
    return Expected(ask, outcome, says, lacks, holder, doubt)


def _refuse_unknown(row: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    """What is spelt wrong would never be looked at, and the figures would be too good."""
    unknown = sorted(row.keys() - set(known))
    if unknown:
        raise BadLine(f"{what} has no key '{unknown[0]}'; known: {', '.join(known)}")


# Their turns, one after the other.

_ANSWER_CHARS = 300


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
    # Behind the colon stands why.
    begins = prompts.note("may_not_answer", language, missing="").partition(":")[0]
    return any(note.startswith(begins) for note in output["notes"])


# How often messages got what they must get.

OUTCOME, RIGHT = "outcome", "right"


def outcome_evaluation(dataset: str, conversations: Sequence[Conversation], heard: Sequence[Heard]) -> Evaluation:
    """The figures: `outcome` is the share of the messages with the expected outcome, `right` that of the messages with
    nothing wrong, and `right: TAG` the latter over the conversations with a tag.

    A conversation counts as one, with the share of its messages: messages of one conversation are not independent.

    Args:
        dataset: the name of the set.
        conversations: all that were asked.
        heard: what each of their messages got.
    """
    messages = _by_conversation(conversations, heard)
    right = _shares(messages, lambda one: not one.faults)
    values: PerQuery = {OUTCOME: _shares(messages, lambda one: one.outcome == one.expected.outcome), RIGHT: right}
    for tag in dict.fromkeys(tag for one in conversations for tag in one.tags):
        values[f"{RIGHT}: {tag}"] = {one.id: right[one.id] for one in conversations if tag in one.tags}
    failures = [{"query": _place(one), "reason": reason} for one in heard for reason in one.failures]
    intervals, wrong = mean_intervals(values), [_wrong(one) for one in heard if one.faults]
    return Evaluation(dataset, "outcomes", values, means(values), intervals, failures=failures, wrong=wrong)


def _by_conversation(conversations: Sequence[Conversation], heard: Sequence[Heard]) -> dict[str, list[Heard]]:
    messages: dict[str, list[Heard]] = {one.id: [] for one in conversations}
    for one in heard:
        messages[one.conversation].append(one)
    return messages


def _wrong(one: Heard) -> dict[str, Any]:
    return {"message": _place(one), "ask": one.expected.ask, "faults": list(one.faults), "answer": one.answer}


def wrong_lines(evaluation: Evaluation) -> list[str]:
    """Each message that went wrong, for a reader."""
    return [
        line
        for one in evaluation.wrong or ()
        for line in (f"{one['message']}: {one['ask']}", f"    {'; '.join(one['faults'])}", f"    > {one['answer']}")
    ]


def _shares(messages: dict[str, list[Heard]], holds: Callable[[Heard], bool]) -> dict[str, float]:
    return {name: sum(map(holds, own)) / len(own) for name, own in messages.items()}


def _place(one: Heard) -> str:
    return f"{one.conversation}, message {one.number}"
