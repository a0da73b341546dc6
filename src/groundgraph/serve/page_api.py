"""What the page asks for: its files and words, conversations, turns as they happen, and the passages of citations."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from groundgraph.answers.label_gate import LABEL_OR_CODE, escape_labels, label_numbers
from groundgraph.core.errors import GroundGraphError, InputInvalid
from groundgraph.report.evidence import RecordedTurn
from groundgraph.report.room import Room
from groundgraph.report.turn_page import THEME, static_text, turn_page, words_of
from groundgraph.report.turn_view import TurnView
from groundgraph.report.words import findings_of, plain
from groundgraph.serve.conversations import Asked, Conversations, Event, KeptTurn, NotFound
from groundgraph.serve.passages import Passages
from groundgraph.serve.request import (
    SEND_JSON,
    is_json,
    language_of,
    message_of,
    own_path,
    refused,
    status_of,
    told_in,
    words,
)
from groundgraph.serve.uploads import Uploads
from groundgraph.serve.users import COOKIE, KnowsUsers, with_token
from groundgraph.settings.settings import Settings

# A recorded turn as the page shows it, and a turn or a conversation to take along: as Markdown with footnotes, and as
# JSON.

Record = Mapping[str, Any]


def citations_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The citations by label, each with the first of its quotes."""
    found: dict[int, dict[str, Any]] = {}
    for one in record["citations"]:
        shown = {"label": one["label"], "title": one["title"] or "", "section": one["section"] or ""}
        place = {"shown": one["location"]["shown"], "source": one["source_name"], "quote": one["quote"]}
        found.setdefault(one["label"], {**shown, **place})
    return [found[label] for label in sorted(found)]


def turn_markdown(record: Record, before: str = "") -> str:
    """A turn as Markdown, its citations as footnotes whose names begin with `before`."""
    citations = citations_of(record)
    known = {one["label"] for one in citations}

    def footnotes(found: re.Match[str]) -> str:
        labels = label_numbers(found.group(1)) if found.group(1) else []
        cited = labels and known.issuperset(labels)
        return "".join(f"[^{before}{label}]" for label in labels) if cited else found.group()

    notes = [f"> {_line(note)}" for note in record["notes"]]
    listed = [f"[^{before}{one['label']}]: {_found(one['shown'])}: “{_found(one['quote'])}”" for one in citations]
    answer = LABEL_OR_CODE.sub(footnotes, record["answer"].strip())
    parts = [f"**{_line(record['question'])}**", answer, *notes, "\n".join(listed)]
    return plain("\n\n".join(part for part in parts if part)) + "\n"


def thread_markdown(title: str, turns: Sequence[KeptTurn], records: Mapping[str, Record]) -> str:
    """The branch of a conversation that was taken last, turn by turn; a turn without a record is its question."""
    shown = [f"# {_line(title)}\n"]
    for number, turn in enumerate(_latest(turns), 1):
        record = records.get(turn.id)
        shown.append(turn_markdown(record, f"{number}-") if record else f"**{_line(turn.question)}**\n")
    return plain("\n".join(shown))


def thread_json(title: str, turns: Sequence[KeptTurn], records: Mapping[str, Record]) -> dict[str, Any]:
    """All branches of a conversation: every turn with the name of its parent."""
    return {"title": title, "turns": [_turn_json(turn, records.get(turn.id)) for turn in turns]}


def _turn_json(turn: KeptTurn, record: Record | None) -> dict[str, Any]:
    kept = {"id": turn.id, "parent": turn.parent, "at": turn.at, "question": turn.question, "mark": dict(turn.mark)}
    if record is None:
        return {**kept, "outcome": turn.outcome}
    told = {name: record[name] for name in ("outcome", "answer", "notes")}
    return {**kept, **told, "citations": citations_of(record)}


def _latest(turns: Sequence[KeptTurn]) -> Iterator[KeptTurn]:
    """From the first turn by the newest at each step, as the page opens a conversation."""
    newest = {turn.parent: turn for turn in turns}
    at = newest.get("")
    while at:
        yield at
        at = newest.get(at.id)


def _found(text: str) -> str:
    """Words of a document in one line, which load and run nothing."""
    return _line(escape_labels(text))


def _line(text: str) -> str:
    return " ".join(text.split())


def kept_json(turn: KeptTurn, settings: Settings, language: str) -> dict[str, Any]:
    """A turn in the tree of its conversation."""
    asked = None if turn.asked is None else asked_json(turn.asked, settings, language)
    return {**vars(turn), "mark": dict(turn.mark), "asked": asked}


def asked_json(asked: Mapping[str, Any], settings: Settings, language: str) -> dict[str, Any]:
    """What a person is asked by whose decision an answer goes out; everything is text."""
    shown = {name: asked[name] for name in ("answer", "support", "support_below", "evidence")}
    findings = findings_of(asked["flags"], words_of({}, settings, language))
    return {**shown, "findings": findings, "problem": asked.get("problem", "")}


def turn_json(record: Mapping[str, Any], settings: Settings, language: str) -> dict[str, Any]:
    """What the page shows of a record; `html` is safe to put into a page, everything else is text.

    `choices` are those of a turn that asks back (outcome `clarify`), else none: the `label` of each is shown and, sent
    as the next message of the conversation, chooses it; `citations` are the labels of the passages that speak of it.
    The answer holds them too, as a list.
    """
    view = TurnView(RecordedTurn(record), words_of(record, settings, language), Room())
    name, called, means = view.outcome
    answer = str(view.answer)
    return {
        "html": answer,
        "language": record.get("language") or "",
        "outcome": {"name": name, "called": str(called), "means": means},
        "alert": view.source_failed,
        "notes": list(record["notes"]),
        "findings": findings_of(view.record["citation_check"].get("flags", []), view.words),
        "citations": citations_of(record),
        "markdown": turn_markdown(record),
        "choices": [{name: one[name] for name in ("label", "citations")} for one in record.get("choices", [])],
    }


# What the page asks for.

_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
# What the page has in common with the report of a turn.
_THEME = "theme.css"
# A page of a turn brings a policy of its own, stricter than a header could be that every page has.
_REPORT = {"content-security-policy": "frame-ancestors 'none'"}
Handler = Callable[[Request], Awaitable[Response]]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Title(_Given):
    title: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


class _Question(_Given):
    question: Annotated[str, StringConstraints(min_length=1)]
    parent: Annotated[str, StringConstraints(max_length=64)] = ""


class _Mark(_Given):
    mark: Literal["good", "bad", ""]
    comment: Annotated[str, StringConstraints(max_length=4_000)] = ""


class _Decision(_Given):
    decision: Literal["approve", "refuse", "replace"]
    text: Annotated[str, StringConstraints(max_length=32_000)] = ""
    comment: Annotated[str, StringConstraints(max_length=4_000)] = ""


class _Token(_Given):
    token: Annotated[str, StringConstraints(max_length=1_000)]


G = TypeVar("G", bound=_Given)


async def _read(request: Request, kind: type[G]) -> G:
    """The body as a `kind`.

    Raises:
        InputInvalid: it is something else.
    """
    if not is_json(request):
        raise InputInvalid(SEND_JSON)
    try:
        return kind.model_validate(json.loads(await request.body()))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputInvalid(f"{'.'.join(map(str, first['loc'])) or 'The body'}: {first['msg']}.") from None
    except (ValueError, RecursionError):
        raise InputInvalid("The body is no JSON.") from None


def _told(handler: Handler) -> Handler:
    """The handler, with errors of ours as answers."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except GroundGraphError as error:
            return refused(request.scope, status_of(error), message_of(error))

    return answered


def page_routes(
    conversations: Conversations, settings: Settings, users: KnowsUsers, uploads: Uploads | None = None
) -> list[Route]:
    """The routes of the page; without `uploads` no document can be given to it."""
    api = _Api(conversations, settings, users, uploads)
    thread, turn = "/api/threads/{thread}", "/api/threads/{thread}/turns/{turn}"
    listed: list[tuple[str, str, Handler]] = [
        ("GET", "/", _index),
        ("GET", "/static/{name}", _static),
        ("POST", "/sign-in", api.sign_in),
        ("POST", "/sign-out", api.sign_out),
        ("GET", "/api/page", api.page),
        ("GET", "/api/threads", api.threads),
        ("POST", "/api/threads", api.start),
        ("GET", thread, api.turns),
        ("DELETE", thread, api.delete),
        ("GET", f"{thread}/export.{{kind}}", api.export),
        ("POST", f"{thread}/turns", api.ask),
        ("GET", turn, api.turn),
        ("POST", f"{turn}/decision", api.decide),
        ("PUT", f"{turn}/mark", api.mark),
        ("GET", f"{turn}/report", api.report),
        ("GET", f"{turn}/citations/{{label:int}}", api.passage),
        ("GET", f"{turn}/citations/{{label:int}}/page.png", api.picture),
    ]
    if uploads is not None:
        listed.append(("PUT", "/api/documents/{name}", api.upload))
    return [Route(path, _told(handler), methods=[method]) for method, path, handler in listed]


@cache
def _file(name: str) -> bytes:
    if name == _THEME:
        return static_text(THEME).encode()
    return (files("groundgraph.serve") / "static" / name).read_bytes()


@cache
def _names() -> frozenset[str]:
    return frozenset([_THEME, *(entry.name for entry in (files("groundgraph.serve") / "static").iterdir())])


async def _index(request: Request) -> Response:  # noqa: ARG001 - of the contract
    return HTMLResponse(_file("index.html"))


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _TYPES.get(name.rpartition(".")[2])
    if kind is None or name not in _names():
        raise NotFound("There is no such file.")
    tag = f'"{hashlib.sha256(_file(name)).hexdigest()[:20]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(_file(name), media_type=kind, headers=headers)


class _Api:
    """The handlers; `request["user"]` is whoever asks, whom the gate knows."""

    def __init__(
        self, conversations: Conversations, settings: Settings, users: KnowsUsers, uploads: Uploads | None
    ) -> None:
        self._conversations = conversations
        self._uploads = uploads
        self._settings = settings
        self._users = users
        self._passages = Passages(settings)

    async def sign_in(self, request: Request) -> Response:
        """A cookie that no script of the page can read."""
        token = (await _read(request, _Token)).token.strip()
        if await self._users.of_request(with_token(request, token)) is None:
            return refused(request.scope, 401, "Nobody has this token.")
        answer = JSONResponse({"ok": True})
        secure = request.url.scheme == "https"
        # Without a path the browser takes that of the page, as it sees it: another server may stand beside this one.
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure, path=None, max_age=2_592_000)
        return answer

    async def sign_out(self, request: Request) -> Response:  # noqa: ARG002 - of the contract
        """The cookie is taken back, and one for the whole host, with which the reader would be signed in here yet."""
        answer = JSONResponse({"ok": True})
        for path in (None, "/"):
            answer.set_cookie(COOKIE, httponly=True, samesite="strict", path=path, max_age=0)
        return answer

    async def page(self, request: Request) -> Response:
        """The page's words, and who asks."""
        user = request["user"]
        told = {"known": user is not None, "signIn": self._users.sign_in, "user": user.identity if user else ""}
        takes = dict(self._uploads.told) if self._uploads else None
        return JSONResponse({"words": words(language_of(request.scope)), "uploads": takes, **told})

    async def threads(self, request: Request) -> Response:
        """The conversations of the user."""
        found = await self._conversations.threads(request["user"])
        return JSONResponse({"threads": [vars(thread) for thread in found]})

    async def start(self, request: Request) -> Response:
        """A new conversation."""
        title = (await _read(request, _Title)).title
        return JSONResponse(vars(await self._conversations.start(request["user"], title)), 201)

    async def turns(self, request: Request) -> Response:
        """The tree of a conversation."""
        found = await self._conversations.turns(request["user"], request.path_params["thread"])
        language = language_of(request.scope)
        return JSONResponse({"turns": [kept_json(turn, self._settings, language) for turn in found]})

    async def delete(self, request: Request) -> Response:
        """A conversation is forgotten."""
        await self._conversations.delete(request["user"], request.path_params["thread"])
        return Response(status_code=204)

    async def ask(self, request: Request) -> Response:
        """A turn, a line of JSON for each thing that happens."""
        given, thread = await _read(request, _Question), request.path_params["thread"]
        # Told before anything is streamed, as 404.
        await self._conversations.turns(request["user"], thread)
        asked = Asked(given.question, given.parent, reviewed=True)
        return self._streamed(request, self._conversations.ask(request["user"], thread, asked))

    async def decide(self, request: Request) -> Response:
        """A turn that waits for a person goes on, streamed as when it was asked."""
        given, (thread, turn) = await _read(request, _Decision), _place(request)
        known = {kept.id: kept for kept in await self._conversations.turns(request["user"], thread)}
        if turn not in known or known[turn].asked is None:
            raise NotFound("Nobody has to decide about this answer.")
        decision = given.model_dump(exclude_defaults=True)
        return self._streamed(request, self._conversations.decide(request["user"], thread, turn, decision))

    async def upload(self, request: Request) -> Response:
        """A document is kept and taken in, each stage a line of JSON."""
        assert self._uploads is not None
        dropped = await self._uploads.keep(request.path_params["name"], request.stream())
        return self._streamed(request, self._uploads.take_in(request["user"], dropped))

    def _streamed(self, request: Request, events: AsyncGenerator[Event]) -> Response:
        lines = self._lines(events, language_of(request.scope))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def _lines(self, events: AsyncGenerator[Event], language: str) -> AsyncIterator[str]:
        try:
            async with aclosing(events):
                async for event in events:
                    yield json.dumps(self._told(event, language), default=str) + "\n"
        except Exception as error:  # the answer has begun: the stream is the only place left for an error
            yield json.dumps({"error": told_in(language, message_of(error))}) + "\n"

    def _told(self, event: Event, language: str) -> Mapping[str, Any]:
        if "record" in event:
            return {"ended": event["ended"], **turn_json(event["record"], self._settings, language)}
        if "waits" in event:
            return {**event, "asked": asked_json(event["asked"], self._settings, language)}
        if "failed" in event:
            return {"failed": told_in(language, event["failed"])}
        return event

    async def turn(self, request: Request) -> Response:
        """A turn that has ended."""
        record = await self._record(request)
        return JSONResponse(turn_json(record, self._settings, language_of(request.scope)))

    async def export(self, request: Request) -> Response:
        """A conversation to take along."""
        thread, kind = request.path_params["thread"], request.path_params["kind"]
        turns = await self._conversations.turns(request["user"], thread)
        titles = {known.id: known.title for known in await self._conversations.threads(request["user"])}
        if kind not in ("md", "json"):
            raise NotFound("A conversation is exported as Markdown (md) or as json.")
        records: dict[str, Record] = {}
        for turn in turns:
            # Of one that was cut there is no record, and old ones are pruned.
            with suppress(NotFound):
                records[turn.id] = await self._conversations.record(request["user"], thread, turn.id)
        headers = {"content-disposition": f'attachment; filename="conversation.{kind}"'}
        if kind == "json":
            return JSONResponse(thread_json(titles.get(thread, ""), turns, records), headers=headers)
        text = thread_markdown(titles.get(thread, ""), turns, records)
        return Response(text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers)

    async def mark(self, request: Request) -> Response:
        """What a person says of a turn."""
        given = await _read(request, _Mark)
        kept = {name: value for name, value in given.model_dump().items() if value} if given.mark else {}
        await self._conversations.mark(request["user"], *_place(request), kept)
        return JSONResponse({"mark": kept})

    async def report(self, request: Request) -> Response:
        """How the answer came about, as `groundgraph report` writes it."""
        record = await self._record(request)
        page = turn_page(record, settings=self._settings, language=language_of(request.scope))
        return HTMLResponse(page, headers=_REPORT)

    async def passage(self, request: Request) -> Response:
        """The passage that a label leads to."""
        label = request.path_params["label"]
        found = await self._passages.passage(await self._record(request), label)
        picture = f"{own_path(request.scope)}/page.png" if found.page is not None else ""
        return JSONResponse({**vars(found), "html": str(found.html), "picture": picture})

    async def picture(self, request: Request) -> Response:
        """The page of a PDF that a label leads to."""
        picture = await self._passages.picture(await self._record(request), request.path_params["label"])
        return Response(picture, media_type="image/png", headers={"cache-control": "private, max-age=3600"})

    async def _record(self, request: Request) -> dict[str, Any]:
        return await self._conversations.record(request["user"], *_place(request))


def _place(request: Request) -> tuple[str, str]:
    """The thread and the turn that a path names."""
    return request.path_params["thread"], request.path_params["turn"]
