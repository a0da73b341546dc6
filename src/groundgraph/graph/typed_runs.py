"""What an editor and a type checker know of a compiled turn: what it is given, and what each kind of run gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack, overload

from langchain_core.messages import BaseMessage, MessageLikeRepresentation
from langchain_core.runnables import RunnableConfig
from langgraph.types import All, Command, Durability

from groundgraph.core.turn_record import TurnEvent
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.settings.context import Context

OutputT = TypeVar("OutputT")
OutputT_co = TypeVar("OutputT_co", covariant=True)
AnyT_co = TypeVar("AnyT_co", covariant=True)
MessageT_co = TypeVar("MessageT_co", covariant=True)
EventT_co = TypeVar("EventT_co", covariant=True)
ItemT_co = TypeVar("ItemT_co", covariant=True)


class Question(TypedDict, total=False):
    """What a turn is given: `messages`, of which the last is answered, or a `question` in their place; and `metadata`
    of the session, which is merged into what the thread has."""

    messages: Sequence[MessageLikeRepresentation]
    question: str
    metadata: Mapping[str, Any]


class RunOptions(TypedDict, total=False):
    """Options of a run that do not change what it gives: its context, and LangGraph's."""

    context: Context | Mapping[str, Any] | None
    interrupt_before: All | Sequence[str] | None
    interrupt_after: All | Sequence[str] | None
    durability: Durability | None
    debug: bool | None


# A dictionary that was put into a variable before is no TypedDict for a type checker any more.
Given = Question | Mapping[str, Any] | BaseMessage | Sequence[MessageLikeRepresentation] | Command[Any] | None
GivenConfig = RunnableConfig | Mapping[str, Any] | None


class Run(Protocol[OutputT_co, AnyT_co]):
    """A run as a call that gives `OutputT_co`; with LangGraph's other options what they give."""

    @overload
    def __call__(self, input: Given, config: GivenConfig = None, **options: Unpack[RunOptions]) -> OutputT_co: ...
    @overload
    def __call__(self, input: Given, config: GivenConfig = None, **options: Any) -> AnyT_co: ...


class Stream(Protocol[MessageT_co, EventT_co, ItemT_co, AnyT_co]):
    """A run whose items come as they happen: which, the one `stream_mode` says."""

    @overload
    def __call__(
        self,
        input: Given,
        config: GivenConfig = None,
        *,
        stream_mode: Literal["messages"],
        **options: Unpack[RunOptions],
    ) -> MessageT_co: ...
    @overload
    def __call__(
        self, input: Given, config: GivenConfig = None, *, stream_mode: Literal["custom"], **options: Unpack[RunOptions]
    ) -> EventT_co: ...
    @overload
    def __call__(
        self,
        input: Given,
        config: GivenConfig = None,
        *,
        stream_mode: Literal["updates", "values"] | None = None,
        **options: Unpack[RunOptions],
    ) -> ItemT_co: ...
    @overload
    def __call__(self, input: Given, config: GivenConfig = None, **options: Any) -> AnyT_co: ...


Told = tuple[BaseMessage, dict[str, Any]]


class TurnGraph(TurnRunner, Generic[OutputT]):
    """A compiled graph, as `turn_graph` and `retrieval_graph` give it: LangGraph's, whose runs are typed.

    `invoke` and `ainvoke` give `OutputT`, `TurnOutput` or `RetrievalOutput`; `stream` and `astream` what the one
    `stream_mode` says. With LangGraph's other options (`output_keys`, `subgraphs`, `version`, several modes) the type
    is Any. At run time everything is done by `TurnRunner`.
    """

    if TYPE_CHECKING:
        ainvoke: Run[Coroutine[Any, Any, OutputT], Coroutine[Any, Any, Any]]
        invoke: Run[OutputT, Any]
        astream: Stream[
            AsyncIterator[Told], AsyncIterator[TurnEvent], AsyncIterator[dict[str, Any]], AsyncIterator[Any]
        ]
        stream: Stream[Iterator[Told], Iterator[TurnEvent], Iterator[dict[str, Any]], Iterator[Any]]
