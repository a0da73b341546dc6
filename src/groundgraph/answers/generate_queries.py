"""Search queries written by a model; without one, words of the conversation for a message
that leans on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.answers.check_support import names_in
from groundgraph.answers.conversation import as_said, recent_conversation
from groundgraph.answers.label_gate import LabelGate
from groundgraph.core.characters import clean_text
from groundgraph.core.errors import ModelError
from groundgraph.core.turn_values import ModelCall, Turn
from groundgraph.models.call_model import recorded_call, tokens_left, used_tokens
from groundgraph.models.replies import (
    FENCE,
    ask_for_object,
    is_json,
    is_refusal,
    json_texts,
    list_schema,
    listed_in,
    prompt_messages,
    reply_words,
    strip_thoughts,
    text_of,
)
from groundgraph.prompts import Prompts
from groundgraph.settings.search import IntentSettings
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import spoken_stems, subjectless_stems
from groundgraph.text.words import sentences, stem, stop_words, words

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


MAX_QUERY_CHARS = 500
MAX_REPLY_CHARS = 10_000
# More than any list that is asked for.
MAX_ITEMS = 50
_QUOTES = "\"'“”«»`"


async def generate_queries(
    settings: Settings,
    model: BaseChatModel,
    prompts: Prompts,
    turn: Turn,
    messages: Sequence[BaseMessage],
    calls: list[ModelCall],
    *,
    message: str | None = None,
) -> list[str]:
    """At most `intent.num_queries` queries for the turn's question; the call is added to `calls`.

    `message` stands in for the question, for example with keywords of the conversation before it.

    Raises:
        ModelError: the model failed, wrote nothing that can be searched for, or may not be called any more.
    """
    tokens_left(settings.limits, calls)
    intent = settings.intent
    conversation = conversation_rows(intent, turn, messages)
    system = prompts.render(
        "generate_queries",
        domain_context=intent.domain_context,
        num_queries=intent.num_queries,
    )
    talk = conversation_block(prompts, conversation)
    asked = message or turn["question"]
    prompt = prompt_messages(system, talk, asked, model=model)
    reply, is_listed = await _ask(settings, model, prompt, calls)
    queries = parse_queries(reply, intent.num_queries)
    if not is_listed:
        queries = [query for query in queries if not is_refusal(query, asked)]
    if not queries:
        raise ModelError("it wrote no query")
    return queries


def conversation_rows(intent: IntentSettings, turn: Turn, messages: Sequence[BaseMessage]) -> list[dict[str, str]]:
    """What was said in the last turns, as a prompt shows it; nothing when the settings keep it out."""
    turns = intent.max_context_turns if intent.use_conversation_context else 0
    return [
        {"role": "User" if isinstance(message, HumanMessage) else "Assistant", "text": str(message.text)}
        for message in recent_conversation(messages, turn, turns)
    ]


def conversation_block(prompts: Prompts, rows: Sequence[Mapping[str, str]]) -> str:
    """What was said before as a part of the user's message: it never stands in the system's voice."""
    return prompts.render("generate_queries_conversation", conversation=rows).strip() if rows else ""


async def _ask(
    settings: Settings, model: BaseChatModel, prompt: list[BaseMessage], calls: list[ModelCall]
) -> tuple[str, bool]:
    """The reply, and whether it is a list that keeps to its schema."""
    reply: AIMessage = await recorded_call(
        "queries",
        model,
        lambda: ask_for_object(model, prompt, list_schema("queries", {"type": "string"}), None),
        calls.append,
        partial(used_tokens, prompt),
        limit=settings.deadlines.model,
        attempts=settings.limits.attempts,
    )
    listed = listed_in(reply, "queries")
    return (text_of(reply), False) if listed is None else ("\n".join(map(str, listed)), True)


# The items of a list that a model wrote, whether as JSON, as lines, or fenced, numbered and thought about first.


def parse_queries(text: str, limit: int, *, min_chars: int = 3, max_chars: int = MAX_QUERY_CHARS) -> list[str]:
    """The queries in a model's reply: one a line, without thinking, numbers, bullets and quotation marks.

    A line that ends in a colon introduces the others and is left out, as is one of fewer than `min_chars` characters;
    one of more than `max_chars` is cut. A reply in JSON, fenced or not, gives the texts that it holds.
    """
    gate = LabelGate(allowed=())
    said = gate.feed(_unwrapped(strip_thoughts(clean_text(text))[:MAX_REPLY_CHARS]), final=True)
    lines = [_bare(line)[:max_chars] for line in said.splitlines()]
    kept = (line for line in lines if len(line) >= min_chars and not line.endswith(":"))
    queries = [line for line in kept if not line.startswith("```")]
    return list(dict.fromkeys(queries))[:limit]


def _unwrapped(said: str) -> str:
    for part in (said, *FENCE.findall(said)):
        if is_json(part):
            return "\n".join(json_texts(part))
    return said


def _bare(line: str) -> str:
    return _decoration().sub("", line).strip().strip(_QUOTES).strip()


@cache
def _decoration() -> re.Pattern[str]:
    announced = rf"(?:{reply_words('query')})\s*+(?:\d++\s*+)?:"
    return re.compile(rf"^\s*(?:[-•]|\*(?!\*)|\(?\d{{1,2}}[.):](?!\d)|{announced})\s*", re.IGNORECASE)


def listed_items(reply: str) -> list[str]:
    """The texts that `reply` lists, in order, each once, without thinking, numbers, bullets and quotation marks.

    A list in JSON is taken before anything that stands around it. Without one every line is an item, but JSON that
    holds no text, such as scores by name, lists nothing.
    """
    told = said(reply)
    for part in (*FENCE.findall(told), told):
        if items := _lines("\n".join(json_texts(part))):
            return items
        if is_json(part):
            return []
    return _lines(told)


def said(reply: str) -> str:
    """What is read of a reply: without thinking, and no more than any list is long."""
    return strip_thoughts(clean_text(reply))[:MAX_REPLY_CHARS]


def _lines(text: str) -> list[str]:
    items = parse_queries(text, MAX_ITEMS, min_chars=1, max_chars=MAX_REPLY_CHARS)
    return list(dict.fromkeys(" ".join(item.split()) for item in items))


MAX_KEYWORDS = 5
# Of a word; a number may have any.
MIN_LETTERS = 3


def expanded(message: str, conversation: Sequence[BaseMessage], *, include_assistant: bool) -> str:
    """`message` behind the keywords of `conversation`; `message` alone when there are none that it lacks.

    Args:
        message: what the user wrote.
        conversation: what was said before, the oldest first, as far back as it counts.
        include_assistant: whether the assistant's words count as well.
    """
    texts = [str(as_said(other).text) for other in conversation if include_assistant or isinstance(other, HumanMessage)]
    return " ".join([*keywords(texts, without=message), message])


def keywords(texts: Sequence[str], *, without: str) -> list[str]:
    """At most five keywords of `texts`: numbers and names first, of these and of the others the most frequent, and
    among equals the ones said last.

    Stop words, words that name no subject, words of fewer than three letters and whatever `without` says already are
    none. Forms of one word count as one; the form that was used last stands for it.
    """
    known = {*spoken_stems(without), *subjectless_stems()}
    counts: Counter[str] = Counter()
    form: dict[str, str] = {}
    first: set[str] = set()
    # The last text first: equals stay in the order in which they were met.
    for text in reversed(texts):
        named = _named_stems(text)
        for word in words(text):
            stemmed, is_number = stem(word), any(map(str.isdigit, word))
            if stemmed in known or word in stop_words() or (len(word) < MIN_LETTERS and not is_number):
                continue
            counts[stemmed] += 1
            form.setdefault(stemmed, word)
            if is_number or stemmed in named:
                first.add(stemmed)
    ranked = sorted(counts, key=lambda stemmed: (stemmed not in first, -counts[stemmed]))
    return [form[stemmed] for stemmed in ranked[:MAX_KEYWORDS]]


def _named_stems(text: str) -> set[str]:
    return {stem(word) for start, end in sentences(text) for name in names_in(text[start:end]) for word in words(name)}
