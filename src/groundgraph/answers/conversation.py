"""What was said and asked before the turn's message: the one account of it that search, tables and judgement go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.answers.label_gate import LabelGate
from groundgraph.core.turn_values import Citation, Turn
from groundgraph.text.follow_up import question_of, questions_behind

# In an answer's `response_metadata`: how many characters of it were said, before a listing of evidence begins.
BODY_CHARS = "body_chars"
# There too: what the answer quotes or cites first, by which a follow-up finds what stands near it.
QUOTED = "quoted"
QUOTED_CHARS = 400
# There too, of an answer to what a message chose: what was asked, and the label.
CHOSE = "chose"
# There too: the source and the id of what it quotes or cites, each once, to which a follow-up may point back.
CITED = "cited"
MOST_CITED = 10
# Questions that lean on each other are followed back so far: "And Graz?" behind "And Vienna?" behind a whole one.
LONGEST_CHAIN = 8


def quoted_passage(citation: Citation) -> str:
    """The quote of `citation` behind the title and the section that it stands in, at most `QUOTED_CHARS` characters."""
    said = (citation["title"], citation["section"], citation["quote"])
    return " ".join(dict.fromkeys(filter(None, said)))[:QUOTED_CHARS]


def cited_pieces(citations: Iterable[Citation]) -> list[list[str]]:
    """The source and the id of what `citations` lead to, without numbers that were computed."""
    found = ((one["source_name"], one["source_id"]) for one in citations if not one.get("computed"))
    return [[*one] for one in islice(dict.fromkeys(found), MOST_CITED)]


def cited_before(messages: Sequence[BaseMessage], turn: Turn) -> set[tuple[str, str]]:
    """The source and the id of what the answer before the message cites; none where a client has made up others."""
    before = recent_conversation(messages, turn, 1)
    given = before[-1].response_metadata.get(CITED) if before else None
    pairs = given if isinstance(given, list) else []
    return {(str(one[0]), str(one[1])) for one in pairs if isinstance(one, list | tuple) and len(one) == 2}


class Asked(NamedTuple):
    """What an earlier message asked.

    Attributes:
        question: its text, or what was asked back about where it chose.
        chosen: the label of what it chose; empty where it chose nothing.
    """

    question: str
    chosen: str = ""

    @property
    def said(self) -> str:
        """What was chosen, else the question."""
        return self.chosen or self.question


def recent_conversation(messages: Sequence[BaseMessage], turn: Turn, turns: int) -> list[BaseMessage]:
    """The last `turns` questions and answers before this turn's message, two messages each.

    What an agent did between them is left out: providers refuse calls of tools without their results. What was chosen
    when a turn asked back goes on from what was said before its question.
    """
    if chosen := turn["chosen"]:
        ids = [message.id for message in messages]
        messages = messages[: ids.index(chosen["asked_in"])] if chosen["asked_in"] in ids else messages
    # From its end: of a long conversation, nothing else is read.
    before = (
        message
        for message in reversed(messages)
        if isinstance(message, HumanMessage | AIMessage)
        and message.id != turn["message_id"]
        and not getattr(message, "tool_calls", None)
    )
    last: list[BaseMessage] = [*islice(before, 2 * turns)]
    return last[::-1]


def asked_before(messages: Sequence[BaseMessage], turn: Turn, turns: int = LONGEST_CHAIN) -> list[Asked]:
    """What the messages of a person in the last `turns` turns asked, in order."""
    conversation = recent_conversation(messages, turn, turns)
    pairs = pairwise([*conversation, None])
    return [_asked(message, answer) for message, answer in pairs if isinstance(message, HumanMessage)]


def leaned_on(messages: Sequence[BaseMessage], turn: Turn) -> list[str]:
    """The questions before the message on which it may lean, without chatter: the last, back to one that leans on
    none."""
    return list(map(question_of, questions_behind([one.question for one in asked_before(messages, turn)])))


def _asked(message: HumanMessage, answer: BaseMessage | None) -> Asked:
    told = answer.response_metadata.get(CHOSE) if answer else None
    if isinstance(told, Mapping) and told.get("question"):
        return Asked(str(told["question"]), str(told.get("label") or ""))
    return Asked(str(message.text))


def as_said(message: BaseMessage) -> BaseMessage:
    """An earlier message as a model is shown it again.

    Its labels are taken out, because they refer to the evidence of another turn, and so is the listing of evidence that
    groundgraph put below what was said.
    """
    if not isinstance(message, AIMessage):
        return message
    body = message.response_metadata.get(BODY_CHARS, len(str(message.text)))
    gate = LabelGate(allowed=())
    return AIMessage(gate.feed(str(message.text)[:body], final=True), id=message.id)
