"""The Model Context Protocol over conversations: editors and assistants ask, search and open passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing, contextmanager
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ResourceError, ToolError
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import Resource
from pydantic import AnyUrl, BaseModel, Field
from typing_extensions import override

from groundgraph import __version__
from groundgraph.core.errors import GroundGraphError
from groundgraph.graph.retrieval import retrieve_context
from groundgraph.serve.conversations import Asked, NotFound, User, told_of
from groundgraph.serve.graph_conversations import GraphConversations
from groundgraph.serve.passages import Passages, cited_place
from groundgraph.serve.request import message_of
from groundgraph.settings.context import Context

_SCHEME = "groundgraph://"
_INSTRUCTIONS = (
    "Answers from the user's own documents. `ask` gives a checked answer with citations; `search` gives passages. "
    "Where the outcome is `insufficient` the documents do not say, and where it is `unavailable` they could not be "
    "searched: say so in place of answering from what you know. Where it is `clarify`, call `ask` again on the thread "
    "with one of the `choices` as the question; ask the user which, or where there are none what the answer asks."
)


class Cited(BaseModel):
    """What a label of an answer refers to."""

    label: int
    source: str
    place: str
    quote: str


class Answer(BaseModel):
    """A turn: its answer, how it ended, and where it goes on. Of `choices` one, as the next question of the thread,
    says what was meant."""

    answer: str
    outcome: Literal["answered", "insufficient", "clarify", "unavailable", "chat"] | str
    notes: list[str]
    citations: list[Cited]
    choices: list[str] = []
    thread: str
    turn: str


class Found(BaseModel):
    """A passage that was found; `relevance` is 0 to 1."""

    source: str
    document: str
    section: str
    relevance: float
    text: str


class Findings(BaseModel):
    """What a search gave, the best first."""

    outcome: str
    notes: list[str]
    passages: list[Found]


class Opened(BaseModel):
    """A passage that an answer cites, and where it stands."""

    title: str
    place: str
    url: str
    text: str


class Searched(BaseModel):
    """What is searched."""

    name: str
    kind: str
    fields: list[str]


class GroundedServer(FastMCP[Any]):
    """The tools `ask`, `search`, `open_passage` and `list_sources`, and documents as resources.

    Documents of a source with a scope filter are no resources: which of their parts somebody may see only a search
    tells.
    """

    def __init__(self, conversations: GraphConversations) -> None:
        # The gate before it knows the names of the host.
        anywhere = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        super().__init__(
            "groundgraph",
            instructions=_INSTRUCTIONS,
            stateless_http=True,
            json_response=True,
            transport_security=anywhere,
            log_level="WARNING",
        )
        # FastMCP takes none, and would tell its own.
        self._mcp_server.version = __version__
        self._conversations = conversations
        self._graph = conversations.graph
        self._passages = Passages(self._graph.resources.settings)
        for tool in (self.ask, self.search, self.open_passage, self.list_sources):
            self.add_tool(tool)

    def _user(self) -> User:
        """Whoever asks: the signed-in user of a request; whoever started the process where there is none."""
        request = self.get_context().request_context.request
        return request["user"] if request is not None else User()

    async def ask(
        self,
        question: Annotated[str, Field(description="In words; a follow-up may lean on its thread.", min_length=1)],
        thread: Annotated[str, Field(description="Of an earlier answer, to go on with it; empty for a new one.")] = "",
        turn: Annotated[str, Field(description="Of that answer; the last one of the thread when empty.")] = "",
    ) -> Answer:
        """Answer a question from the documents, every citation checked."""
        with _told():
            user = self._user()
            if not thread:
                thread, turn = (await self._conversations.start(user, question)).id, ""
            elif not turn:
                ended = [kept.id for kept in await self._conversations.turns(user, thread) if kept.outcome]
                turn = ended[-1] if ended else ""
            events = self._conversations.ask(user, thread, Asked(question, turn))
            async with aclosing(events):
                ended_turn = [event async for event in events if "ended" in event][-1]
            return _answer(ended_turn["record"], thread, ended_turn["ended"])

    async def search(
        self,
        query: Annotated[str, Field(description="What to look for.", min_length=1)],
        top_k: Annotated[int, Field(description="At most so many passages.", ge=1, le=50)] = 5,
    ) -> Findings:
        """Find passages, without writing an answer."""
        with _told():
            user = self._user()
            config: Any = {"configurable": {"langgraph_auth_user": user} if user.identity else {}}
            found = await retrieve_context(self._graph, query, config=config, context=Context(top_k=top_k))
            passages = [_found(row) for row in found.evidence[:top_k]]
            return Findings(outcome=found.outcome, notes=found.provenance["notes"], passages=passages)

    async def open_passage(
        self,
        thread: Annotated[str, Field(description="Of the answer.")],
        turn: Annotated[str, Field(description="Of the answer.")],
        label: Annotated[int, Field(description="The number of the citation.", ge=1)],
    ) -> Opened:
        """Open the whole passage that a citation of an answer leads to."""
        with _told():
            record = await self._conversations.record(self._user(), thread, turn)
            found = cited_place(record, label)
            row = next(row for row in record["results"] if row["label"] == label)
            return Opened(title=found.title, place=found.shown, url=found.url, text=row["text"])

    async def list_sources(self) -> list[Searched]:
        """List what is searched, with the fields of its records."""
        resources = self._graph.resources
        return [
            Searched(name=name, kind=source.source_type, fields=_fields(resources.schemas.get(name)))
            for name, source in resources.sources.items()
        ]

    @override
    async def list_resources(self) -> list[Resource]:
        """The documents that anybody who asks may read."""
        listed: list[Resource] = []
        for source in filter(self._passages.may_show, self._passages.bases):
            async with self._passages.base(source) as base:
                try:
                    rows = await base.adocuments()
                except GroundGraphError:
                    continue  # nothing was ever taken in
            listed += [
                Resource(uri=AnyUrl(_uri(source, row.name)), name=row.name, title=row.title, mimeType="text/plain")
                for row in rows
            ]
        return listed

    @override
    async def read_resource(self, uri: AnyUrl | str) -> Iterable[ReadResourceContents]:
        """The text of a document as it was taken in."""
        source, _, name = str(uri).removeprefix(_SCHEME).partition("/")
        try:
            async with self._passages.base(unquote(source)) as base:
                document = await base.adocument(unquote(name))
            if document is None:
                raise NotFound("There is no such document.")
        except GroundGraphError as error:
            raise ResourceError(message_of(error)) from None
        return [ReadResourceContents(content=document.text, mime_type="text/plain")]


@contextmanager
def _told() -> Any:
    """Within it, errors of ours are told to the client, and any other goes to the log."""
    try:
        yield
    except Exception as error:  # the protocol tells a client the text of any
        raise ToolError(message_of(error)) from None


def _uri(source: str, name: str) -> str:
    return f"{_SCHEME}{quote(source, safe='')}/{quote(name, safe='')}"


def _fields(schema: Any) -> list[str]:
    return sorted(schema.fields) if schema else []


def _answer(record: dict[str, Any], thread: str, turn: str) -> Answer:
    citations = [
        Cited(label=one["label"], source=one["source_name"], place=one["location"]["shown"], quote=one["quote"])
        for one in record["citations"]
    ]
    told = {"answer": record["answer"], "outcome": record["outcome"], "notes": told_of(record)}
    choices = [choice["label"] for choice in record.get("choices", [])]
    return Answer(**told, citations=citations, choices=choices, thread=thread, turn=turn)


def _found(row: Mapping[str, Any]) -> Found:
    metadata = row["metadata"]
    document = str(metadata.get("document") or metadata.get("url") or row["source_id"])
    return Found(
        source=row["source_name"],
        document=document,
        section=str(metadata.get("section") or ""),
        relevance=row["relevance"],
        text=row["content"] if "content" in row else row["text"],
    )
