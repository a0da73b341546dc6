"""OpenAI's chat completions over conversations, so that any chat client can ask.

A client sends the whole conversation every time. Where it is one that was answered here, the turn goes on in its
thread, as a branch where the client went back; else a thread begins with what was said.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from groundgraph.answers.label_gate import LABEL
from groundgraph.core.errors import GroundGraphError
from groundgraph.resilience.blocking import end_task
from groundgraph.serve.conversations import Asked, Conversations, Event, User, answer_shown, said_by
from groundgraph.serve.request import SEND_JSON, is_json, message_of, openai_error, own_address, refused, status_of

T = TypeVar("T")
MODEL = "groundgraph"
Handler = Callable[[Request], Awaitable[Response]]
_NUMBER = re.compile(r"\d+")
_MOST_MESSAGES = 1000
# As long as `Context.instruction`.
_INSTRUCTION_CHARS = 20_000


class _Part(BaseModel):
    type: Literal["text", "input_text"]
    text: str


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        """What is said."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Request(BaseModel):
    """What is read of a request; what sets a model's temperature and the like says nothing here."""

    model: Annotated[str, StringConstraints(max_length=200)]
    messages: list[_Message] = Field(min_length=1, max_length=_MOST_MESSAGES)
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    n: Literal[1] | None = 1


@dataclass(frozen=True)
class _Refused(Exception):
    status: int
    message: str
    param: str | None = None
    code: str | None = None


def openai_routes(conversations: Conversations) -> list[Route]:
    """The routes below `/v1`."""
    api = _Api(conversations)
    return [
        Route("/v1/models", _told(api.models), methods=["GET"]),
        Route("/v1/models/{model:path}", _told(api.model), methods=["GET"]),
        Route("/v1/chat/completions", _told(api.complete), methods=["POST"]),
    ]


def _told(handler: Handler) -> Handler:
    """The handler, with refusals and errors of ours in the protocol's form."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except _Refused as error:
            return refused(request.scope, error.status, error.message, param=error.param, code=error.code)
        except GroundGraphError as error:
            return refused(request.scope, status_of(error), message_of(error))

    return answered


def _listed(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": MODEL}


class _Api:
    """The handlers; a model is the graph as it is configured, or one of its assistants."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    async def models(self, request: Request) -> Response:
        """All that may be asked."""
        names = dict.fromkeys([MODEL, *await self._conversations.assistants(request["user"])])
        return JSONResponse({"object": "list", "data": [_listed(name) for name in names]})

    async def model(self, request: Request) -> Response:
        """One of them."""
        name = request.path_params["model"]
        await self._assistant(request["user"], name)
        return JSONResponse(_listed(name))

    async def complete(self, request: Request) -> Response:
        """A completion, whole or as a stream."""
        asked = await _read(request)
        assistant = await self._assistant(request["user"], asked.model)
        thread, question = await self._placed(request["user"], asked.messages)
        events = self._conversations.ask(request["user"], thread, replace(question, assistant=assistant))
        place = _Place(own_address(request), thread, asked.model)
        if asked.stream:
            usage = bool(asked.stream_options and asked.stream_options.include_usage)
            return StreamingResponse(_stream(events, place, usage=usage), media_type="text/event-stream")
        ended = await _while_awaited(request, _ended(events))
        # Nobody reads what follows a client that left.
        return JSONResponse(_completion(ended, place)) if ended else Response(status_code=499)

    async def _assistant(self, user: User, model: str) -> str:
        if model == MODEL:
            return ""
        known = await self._conversations.assistants(user)
        if model not in known:
            there = ", ".join(dict.fromkeys([MODEL, *known]))
            raise _Refused(
                404, f"The model '{model[:100]}' does not exist. There is: {there}.", "model", "model_not_found"
            )
        return known[model]

    async def _placed(self, user: User, messages: Sequence[_Message]) -> tuple[str, Asked]:
        """The thread that a conversation goes on in, and its last question."""
        question, before = _last_question(messages)
        context = _instruction(messages)
        said = _said(before)
        found = await self._conversations.find(user, said) if said else None
        if found:
            return found[0], Asked(question, parent=found[1], context=context)
        started = await self._conversations.start(user, question)
        return started.id, Asked(question, history=[(m.role, m.text) for m in before], context=context)


def _last_question(messages: Sequence[_Message]) -> tuple[str, Sequence[_Message]]:
    """What is asked, and what was said before."""
    spoken = [m for m in messages if m.role in ("user", "assistant")]
    if not spoken or spoken[-1].role != "user" or not spoken[-1].text.strip():
        raise _Refused(400, "The last message must be the user's, and must say something.", "messages")
    return spoken[-1].text, spoken[:-1]


def _instruction(messages: Sequence[_Message]) -> dict[str, str]:
    """The context of a turn that messages of the system instruct."""
    instruction = "\n\n".join(m.text for m in messages if m.role in ("system", "developer")).strip()
    if len(instruction) > _INSTRUCTION_CHARS:
        raise _Refused(400, f"The instruction is longer than {_INSTRUCTION_CHARS} characters.", "messages")
    return {"instruction": instruction} if instruction else {}


async def _read(request: Request) -> _Request:
    if not is_json(request):
        raise _Refused(415, SEND_JSON)
    try:
        return _Request.model_validate(json.loads(await request.body()))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or None
        raise _Refused(400, f"{place or 'The body'}: {first['msg']}.", place) from None
    except (ValueError, RecursionError):
        raise _Refused(400, "The body is no JSON.") from None


def _said(messages: Sequence[_Message]) -> str:
    """The name of what was said, question by answer; empty for nothing, or for what was not said by turns."""
    said = ""
    roles = [message.role for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2):
        return ""
    for question, answer in zip(messages[::2], messages[1::2], strict=True):
        said = said_by(said, question.text, answer.text)
    return said


@dataclass(frozen=True)
class _Place:
    """Where a citation is shown: the page of the server at `base`, and the thread there; which model was asked."""

    base: str
    thread: str
    model: str

    def link(self, turn: str, label: int) -> str:
        return f"{self.base}#t/{self.thread}/{turn}/{label}"


def url_citations(record: Mapping[str, Any], text: str, place: _Place, turn: str) -> list[dict[str, Any]]:
    """Each label in `text` with its indexes there, and the address of the passage that it cites."""
    cited = {citation["label"]: citation for citation in record["citations"]}
    found: list[dict[str, Any]] = []
    for written in LABEL.finditer(text):
        for label in dict.fromkeys(int(number.group()) for number in _NUMBER.finditer(written.group())):
            if label in cited:
                where = {"start_index": written.start(), "end_index": written.end()}
                named = {"url": place.link(turn, label), "title": cited[label]["location"]["shown"]}
                found.append({"type": "url_citation", "url_citation": {**where, **named}})
    return found


def _usage(record: Mapping[str, Any]) -> dict[str, int]:
    """The tokens of all models of the turn, as they report them."""
    given = sum(call.get("input_tokens") or 0 for call in record["models"])
    written = sum(call.get("output_tokens") or 0 for call in record["models"])
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


def _ending(record: Mapping[str, Any], place: _Place, turn: str) -> dict[str, Any]:
    """What no field of OpenAI's has: how the turn ended, and where it is kept."""
    return {"outcome": record["outcome"], "notes": record["notes"], "thread": place.thread, "turn": turn}


def _finish(record: Mapping[str, Any]) -> str:
    return "length" if record["finish"] == "length" else "stop"


def _completion(ended: Event, place: _Place) -> dict[str, Any]:
    record, turn = ended["record"], ended["ended"]
    text = answer_shown(record)
    message = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "annotations": url_citations(record, text, place, turn),
    }
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": place.model,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(record), "logprobs": None}],
        "usage": _usage(record),
        "groundgraph": _ending(record, place, turn),
    }


async def _stream(events: AsyncGenerator[Event], place: _Place, *, usage: bool) -> AsyncIterator[str]:
    """Server-sent events: pieces of the answer as they pass the gate, and at the end what belongs to the whole."""
    chunks = _Chunks(place)
    try:
        async with aclosing(events):
            async for event in events:
                for chunk in chunks.of(event, usage=usage):
                    yield f"data: {json.dumps(chunk)}\n\n"
    except Exception as error:  # the answer has begun: the stream is the only place left for an error
        yield f"data: {json.dumps({'error': openai_error(status_of(error), message_of(error))})}\n\n"
    yield "data: [DONE]\n\n"


async def _ended(events: AsyncGenerator[Event]) -> Event:
    async with aclosing(events):
        return [event async for event in events if "ended" in event][-1]


async def _while_awaited(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` gives; None where the client leaves before, which cancels it as it does a stream."""
    task, left = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        await end_task(left)
        await end_task(task)


async def _left(request: Request) -> None:
    """Waits until the client is gone: what comes behind the body, which was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Chunks:
    """The chunks of one completion."""

    def __init__(self, place: _Place) -> None:
        self._place = place
        self._text = ""
        self._frame = {"object": "chat.completion.chunk", "created": int(time.time()), "model": place.model}

    def of(self, event: Event, *, usage: bool) -> Iterator[dict[str, Any]]:
        """Those that tell `event`."""
        if "begun" in event:
            self._frame["id"] = f"chatcmpl-{event['begun']}"
            yield self._chunk({"role": "assistant", "content": ""})
        elif "text" in event:
            self._text += event["text"]
            yield self._chunk({"content": event["text"]})
        elif "ended" in event:
            yield from self._last(event["record"], event["ended"], usage=usage)

    def _last(self, record: Mapping[str, Any], turn: str, *, usage: bool) -> Iterator[dict[str, Any]]:
        rest = self._rest(answer_shown(record))
        if rest:
            yield self._chunk({"content": rest})
        cited = url_citations(record, self._text + rest, self._place, turn)
        ending = {"groundgraph": _ending(record, self._place, turn)}
        yield {**self._chunk({"annotations": cited}, _finish(record)), **ending}
        if usage:
            yield {**self._frame, "choices": [], "usage": _usage(record)}

    def _rest(self, answer: str) -> str:
        """What is missing of `answer`; all of it where a model failed on the way and something else was written."""
        if answer.startswith(self._text):
            return answer[len(self._text) :]
        return f"\n\n{answer}" if self._text.strip() != answer else ""

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._frame, "choices": [choice]}
