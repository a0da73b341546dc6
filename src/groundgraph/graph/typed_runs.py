"""What an editor and a type checker know of a compiled turn: what it is given, and what each kind of run gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Unpack, overload

from langchain_core.messages import BaseMessage, MessageLikeRepresentation
from langchain_core.runnables import RunnableConfig
from langgraph.types import All, Command, Durability, StreamMode

from groundgraph.core.turn_record import TurnEvent
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.settings.context import Context

OutputT = TypeVar("OutputT")


class Question(TypedDict, total=False):
    """What a turn is given: `messages`, of which the last is answered, or a `question` in their place; and `metadata`
    of the session, which is merged into what the thread has."""

    messages: Sequence[MessageLikeRepresentation]
    question: str
    metadata: Mapping[str, Any]


class RunOptions(TypedDict, total=False):
    """LangGraph's options of a run that do not change what it gives."""

    interrupt_before: All | Sequence[str] | None
    interrupt_after: All | Sequence[str] | None
    durability: Durability | None
    debug: bool | None


# A dictionary that was put into a variable before is no TypedDict for a type checker any more.
Given = Question | Mapping[str, Any] | BaseMessage | Sequence[MessageLikeRepresentation] | Command[Any] | None
GivenConfig = RunnableConfig | Mapping[str, Any] | None
GivenContext = Context | Mapping[str, Any] | None


class TurnGraph(TurnRunner, Generic[OutputT]):
    """A compiled graph, as `turn_graph` and `retrieval_graph` give it: LangGraph's, whose runs are typed.

    `invoke` and `ainvoke` give `OutputT`, `TurnOutput` or `RetrievalOutput`; `stream` and `astream` what the one
    `stream_mode` says. With LangGraph's other options (`output_keys`, `subgraphs`, `version`, several modes) the type
    is Any. At run time everything is done by `TurnRunner`.
    """

    if TYPE_CHECKING:

        @overload
        async def ainvoke(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> OutputT: ...
        @overload
        async def ainvoke(
            self, input: Given, config: GivenConfig = None, *, context: GivenContext = None, **options: Any
        ) -> Any: ...
        async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
            """The output of a run; see `TurnRunner`."""

        @overload
        def invoke(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> OutputT: ...
        @overload
        def invoke(
            self, input: Given, config: GivenConfig = None, *, context: GivenContext = None, **options: Any
        ) -> Any: ...
        def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
            """As `ainvoke`, for callers that are not asynchronous."""

        @overload
        def astream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: Literal["messages"],
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> AsyncIterator[tuple[BaseMessage, dict[str, Any]]]: ...
        @overload
        def astream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: Literal["custom"],
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> AsyncIterator[TurnEvent]: ...
        @overload
        def astream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: Literal["updates", "values"] | None = None,
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> AsyncIterator[dict[str, Any]]: ...
        @overload
        def astream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: StreamMode | Sequence[StreamMode] | None = None,
            context: GivenContext = None,
            **options: Any,
        ) -> AsyncIterator[Any]: ...
        def astream(self, input: Any, config: Any = None, **options: Any) -> Any:
            """The items of a run; see `TurnRunner.astream`."""

        @overload
        def stream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: Literal["messages"],
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> Iterator[tuple[BaseMessage, dict[str, Any]]]: ...
        @overload
        def stream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: Literal["custom"],
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> Iterator[TurnEvent]: ...
        @overload
        def stream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: Literal["updates", "values"] | None = None,
            context: GivenContext = None,
            **options: Unpack[RunOptions],
        ) -> Iterator[dict[str, Any]]: ...
        @overload
        def stream(
            self,
            input: Given,
            config: GivenConfig = None,
            *,
            stream_mode: StreamMode | Sequence[StreamMode] | None = None,
            context: GivenContext = None,
            **options: Any,
        ) -> Iterator[Any]: ...
        def stream(self, input: Any, config: Any = None, **options: Any) -> Any:
            """As `astream`, for callers that are not asynchronous."""
