"""An intent filled in by a model, a chat model or something of the user's own: one request, one repair, and how an
intent is read out of whatever it made of the request.

A JSON object is looked for in the arguments of tool calls, between fences, after thinking and among prose; trailing
commas are taken out and one that was cut off is closed behind its last complete value.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from groundgraph.answers.generate_queries import MAX_QUERY_CHARS, conversation_block, conversation_rows
from groundgraph.core.characters import clean_text
from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import jsonable
from groundgraph.core.intent import SCOPES, STYLES
from groundgraph.core.schema import SourceSchema
from groundgraph.core.turn_values import ModelCall, Turn
from groundgraph.models.call_model import recorded_call, tokens_left, tokens_of, used_tokens
from groundgraph.models.replies import (
    ask_for_object,
    finish_reason,
    in_turns,
    prompt_messages,
    refusal_text,
    strip_thoughts,
    unstreamed,
    with_schema,
)
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.settings import Settings

KNOWN = ("text_queries", "scope", "output_style", "filters")
# More than an intent needs; what is longer is cut, and then closed as a reply that the provider cut off.
MAX_CHARS = 50_000
MAX_DEPTH = 30
_MAX_STARTS = 20
_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\],]', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")

Fault = Literal["no_object", "no_queries"]


class ExtractionUnreadable(Exception):
    """A reply holds no intent; `fault` says what is missing."""

    def __init__(self, fault: Fault) -> None:
        self.fault: Fault = fault
        super().__init__(fault)


@dataclass(frozen=True)
class Extraction:
    """What a model proposed.

    Attributes:
        text_queries: at least one, cleaned, without repetitions.
        values: the other values of an intent, as they were written.
        extra: keys that an intent does not have.
        raw: the whole object.
    """

    text_queries: list[str]
    values: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)


def read_extraction(reply: object, limit: int) -> Extraction:
    """The intent in `reply`, a message, a text or a mapping, with at most `limit` queries.

    Raises:
        ExtractionUnreadable: there is no object in it, or one without a query.
    """
    objects = list(objects_in(reply))
    if not objects:
        raise ExtractionUnreadable("no_object")
    for found in objects:
        queries = _queries(found.get("text_queries"), limit)
        if queries:
            values = {name: found[name] for name in KNOWN[1:] if name in found}
            extra = {str(name): value for name, value in found.items() if name not in KNOWN}
            return Extraction(queries, values, extra, found)
    raise ExtractionUnreadable("no_queries")


def _queries(given: Any, limit: int) -> list[str]:
    items = given if isinstance(given, list) else [given]
    texts = [" ".join(clean_text(item).split())[:MAX_QUERY_CHARS] for item in items if isinstance(item, str)]
    return [text for text in dict.fromkeys(texts) if any(map(str.isalnum, text))][:limit]


def objects_in(reply: object) -> Iterator[dict[str, Any]]:
    """The JSON objects of `reply`, the likeliest first."""
    if isinstance(reply, BaseModel) and not isinstance(reply, AIMessage):
        reply = reply.model_dump(mode="json")
    if isinstance(reply, Mapping):
        yield from _objects_of_text(_as_json(reply))
    elif isinstance(reply, AIMessage):
        for arguments in _arguments(reply):
            yield from _objects_of_text(arguments)
        yield from _objects_of_text(str(reply.text))
    elif isinstance(reply, str):
        yield from _objects_of_text(reply)


def _arguments(reply: AIMessage) -> Iterator[str]:
    yield from (_as_json(call["args"]) for call in reply.tool_calls)
    yield from (str(call.get("args") or "") for call in reply.invalid_tool_calls)


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return ""


def _objects_of_text(text: str) -> Iterator[dict[str, Any]]:
    # A backslash at the end escapes nothing any more.
    said = strip_thoughts(clean_text(text[:MAX_CHARS])).rstrip("\\")
    for part in (*_FENCE.findall(said), said):
        starts = [found.start() for found in re.finditer(r"\{", part)][:_MAX_STARTS]
        end = 0
        for start in starts:
            # An object within the one before it is none of its own.
            if start < end:
                continue
            found, length = _object_at(part[start:])
            if found is not None:
                end = start + length
                yield found


def _object_at(text: str) -> tuple[dict[str, Any] | None, int]:
    """The object with which `text` begins, and how long it is; None when it is none."""
    closed, length = _closed(text)
    for attempt in closed:
        try:
            found = json.loads(attempt, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            # An escape such as \u0000 is a forbidden character only now.
            return jsonable(found), length
    return None, 0


def _closed(text: str) -> tuple[list[str], int]:
    """`text` up to where its first object ends, or closed where it was cut off, without trailing commas.

    What was cut off is closed twice: as it is, and behind its last complete value.
    """
    pieces: list[str] = []
    open_ends: list[str] = []
    complete: tuple[int, str] = (0, "")
    position = 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        pieces.append(text[position : token.start()])
        position = token.end()
        if mark in "{[":
            open_ends.append("}" if mark == "{" else "]")
            if len(open_ends) > MAX_DEPTH:
                return [], 0
        elif mark in "}]":
            if not open_ends or open_ends.pop() != mark:
                return [], 0
            _drop_comma(pieces)
        elif mark == ",":
            complete = len(pieces), "".join(reversed(open_ends))
        pieces.append(mark)
        if not open_ends:
            return ["".join(pieces)], position
    ends = "".join(reversed(open_ends))
    return _ended(text, "".join(pieces) + text[position:], ends, "".join(pieces[: complete[0]]) + complete[1]), len(
        text
    )


def _ended(text: str, whole: str, ends: str, complete: str) -> list[str]:
    """What is tried for a text that was cut off: all of it with its `ends`, and what was `complete`."""
    if not _is_open_string(text):
        return [whole.rstrip().rstrip(",") + ends, complete]
    # Half a word is worth less than the values before it.
    return [complete, f'{_HALF_ESCAPE.sub("", whole)}"{ends}']


def _drop_comma(pieces: list[str]) -> None:
    """Take out the comma behind which a bracket closes."""
    if len(pieces) > 1 and not pieces[-1].strip() and pieces[-2] == ",":
        del pieces[-2]


def _is_open_string(text: str) -> bool:
    """Whether `text` was cut off within a string."""
    strings = [token.group() for token in _TOKEN.finditer(text) if token.group().startswith('"')]
    return bool(strings) and not _STRING.fullmatch(strings[-1]) and text.endswith(strings[-1])


# Asking for it.

# What a function or Runnable of the user's is given: the messages of the prompt. It returns a mapping, a text that
# holds one, a message, or a Pydantic model.
ExtractorFunction = Callable[[Sequence[BaseMessage]], Any]
Extractor = BaseChatModel | Runnable[Any, Any] | ExtractorFunction


@dataclass
class AskExtractor:
    """Asks `extractor` for an object that fits a JSON schema.

    Args:
        extractor: a chat model is asked as its profile allows (`models/replies.py`); anything else is called with
            the messages, whose instructions then hold the schema.
        prompts: the prompt files.
    """

    extractor: Extractor
    prompts: Prompts

    async def __call__(self, messages: list[BaseMessage], schema: dict[str, Any]) -> Any:
        """The reply, unread."""
        if isinstance(self.extractor, BaseChatModel):
            return await ask_for_object(self.extractor, messages, schema, self.prompts)
        told = with_schema(in_turns(messages), schema, self.prompts)
        if isinstance(self.extractor, Runnable):
            return await self.extractor.ainvoke(told, unstreamed())
        if inspect.iscoroutinefunction(self.extractor) or inspect.iscoroutinefunction(
            getattr(self.extractor, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        ):
            return await self.extractor(told)
        found = await run_blocking(self.extractor, told)
        return await found if isinstance(found, Awaitable) else found

    async def recorded(
        self,
        role: str,
        prompt: list[BaseMessage],
        schema: dict[str, Any],
        settings: Settings,
        record: Callable[[ModelCall], object],
    ) -> Any:
        """The reply within the bounds of `settings`; `record` takes the record of the call.

        Raises:
            ModelError: see `recorded_call`.
        """
        return await recorded_call(
            role,
            self.extractor,
            lambda: self(prompt, schema),
            record,
            partial(tokens_used, prompt),
            limit=settings.deadlines.model,
            attempts=settings.limits.attempts,
        )


# The JSON schema of an intent that a model fills in, with a filter for every field that a source declares.

TITLE = "retrieval_intent"
# Beyond so many fields a model no longer reads the list; a filter on the others is still understood.
MAX_FIELDS = 150
_JSON_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean"}
_ORDERED = ("integer", "number", "date", "datetime")


def intent_schema(
    schemas: Mapping[str, SourceSchema | None],
    held: Mapping[str, Collection[str]],
    told: Mapping[str, str],
) -> dict[str, Any]:
    """The schema.

    Args:
        schemas: the declared fields of every source, by source name.
        held: per source, the fields that have a default or scope filter, which no extraction can set.
        told: what the model is told about `intent`, `text_queries`, `scope`, `output_style`, `filters` and `date`.
    """
    properties: dict[str, Any] = {
        "text_queries": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": told["text_queries"],
        },
        "scope": {"type": "string", "enum": list(SCOPES), "description": told["scope"]},
        "output_style": {"type": "string", "enum": list(STYLES), "description": told["output_style"]},
    }
    filters = _filters(schemas, held, told["date"])
    if filters:
        properties["filters"] = {**closed(filters), "description": told["filters"]}
    return {"title": TITLE, "description": told["intent"], **closed(properties), "required": ["text_queries"]}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has no other keys than `properties`."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _filters(
    schemas: Mapping[str, SourceSchema | None], held: Mapping[str, Collection[str]], date: str
) -> dict[str, Any]:
    left = MAX_FIELDS
    filters: dict[str, Any] = {}
    for name, schema in schemas.items():
        if schema is None:
            continue
        offered = [field for field in schema.fields if field not in held.get(name, ())][:left]
        left -= len(offered)
        if offered:
            filters[name] = closed({field: condition_schema(schema.fields[field], date) for field in offered})
            if schema.description:
                filters[name]["description"] = schema.description
    return filters


def condition_schema(spec: Mapping[str, Any], date: str) -> dict[str, Any]:
    """One value, any of several, or operators: those that mean something for the field's type."""
    kind = spec.get("type", "string")
    value = _value(spec, kind)
    described = [str(spec["description"])] if spec.get("description") else []
    described += [date] if kind in ("date", "datetime") else []
    description = {"description": " ".join(described)} if described else {}
    if kind == "boolean":
        return {**value, **description}
    operators: dict[str, Any] = {"not": value}
    if kind in _ORDERED and not spec.get("enum"):
        operators |= dict.fromkeys(("gte", "gt", "lte", "lt"), value)
    elif not spec.get("enum"):
        operators["contains"] = {"type": "string"}
    return {"anyOf": [value, {"type": "array", "items": value}, closed(operators)], **description}


def _value(spec: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"enum": list(spec["enum"])} if spec.get("enum") else {"type": _JSON_TYPES.get(kind, "string")}


# How much of a reply that could not be used is shown when another one is asked for.
_SHOWN_CHARS = 4_000
_FIELDS = "extraction_fields"


@dataclass(frozen=True)
class ExtractIntent:
    """Asks for the intent of a turn.

    Args:
        settings: the `intent` section and the bounds of a call.
        prompts: the prompt files.
        ask: what is asked.
    """

    settings: Settings
    prompts: Prompts
    ask: AskExtractor

    async def __call__(
        self,
        message: str,
        turn: Turn,
        messages: Sequence[BaseMessage],
        schema: dict[str, Any],
        calls: list[ModelCall],
    ) -> Extraction:
        """What the model proposes for `message`; each call is added to `calls`.

        Args:
            message: the user's, or with keywords of the conversation before it.
            turn: the turn.
            messages: the thread.
            schema: see `intent_schema`.
            calls: those of the turn so far.

        Raises:
            ModelError: the model failed, refused, or wrote nothing usable twice; or it may not be called any more.
        """
        prompt, missing = self._prompt(message, turn, messages), ""
        for role in ("extract_intent", "repair_intent"):
            tokens_left(self.settings.limits, calls)
            reply = await self.ask.recorded(role, prompt, schema, self.settings, calls.append)
            try:
                return self._read(reply)
            except ExtractionUnreadable as unreadable:
                missing = "a search query" if unreadable.fault == "no_queries" else "a JSON object"
                prompt = [*prompt, *self._repair(reply, unreadable.fault)]
        raise ModelError(f"its reply did not hold {missing}, nor did the one that it was asked for then")

    def schema(self, schemas: Mapping[str, SourceSchema | None], held: Mapping[str, Collection[str]]) -> dict[str, Any]:
        """The schema of an intent over sources with `schemas`; `held` fields are not offered."""
        intent, told = self.settings.intent, self.prompts.told
        names = ("intent", "scope", "output_style", "filters", "date")
        fields = {name: told(_FIELDS, name) for name in names}
        fields["text_queries"] = told(_FIELDS, "text_queries", num_queries=intent.num_queries)
        if intent.output_style_hint:
            fields["output_style"] = intent.output_style_hint
        return intent_schema(schemas, held, fields)

    def _prompt(self, message: str, turn: Turn, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        conversation = conversation_rows(self.settings.intent, turn, messages)
        system = self.prompts.render(
            "extract_intent",
            domain_context=self.settings.intent.domain_context,
        )
        talk = conversation_block(self.prompts, conversation)
        return prompt_messages(system, talk, message)

    def _repair(self, reply: Any, fault: Fault) -> list[BaseMessage]:
        said = reply.text if isinstance(reply, AIMessage) else reply if isinstance(reply, str) else ""
        told = HumanMessage(self.prompts.render("repair_intent", fault=fault))
        return [AIMessage(str(said)[:_SHOWN_CHARS]), told] if said else [told]

    def _read(self, reply: Any) -> Extraction:
        if isinstance(reply, AIMessage) and (finish_reason(reply) == "refusal" or refusal_text(reply)):
            raise ModelError("it refused")
        return read_extraction(reply, self.settings.intent.num_queries)


def tokens_used(prompt: list[BaseMessage], reply: Any) -> dict[str, Any]:
    """The tokens of a call whose reply may be of any kind; see `used_tokens`."""
    if isinstance(reply, AIMessage):
        return used_tokens(prompt, reply)
    return {"input_tokens": tokens_of(prompt), "output_tokens": tokens_of([AIMessage(str(reply))]), "estimated": True}
