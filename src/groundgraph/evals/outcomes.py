"""How often messages get what they must get, over all conversations and over those of each tag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groundgraph.evals.conversations import Conversation
from groundgraph.evals.measures import PerQuery, mean_intervals, means
from groundgraph.evals.report import Evaluation
from groundgraph.evals.run_conversations import Heard

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
    values: PerQuery = {OUTCOME: _shares(messages, lambda one: one.has_outcome), RIGHT: right}
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
