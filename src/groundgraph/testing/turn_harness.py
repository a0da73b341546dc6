"""A turn graph with scripted models, ready to be talked to in a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.graph.turn import turn_graph
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.settings.load_settings import settings_of
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.in_memory import InMemorySource
from groundgraph.testing.models import ReplyLike, ScriptedChatModel


@dataclass(frozen=True)
class TurnResult:
    """What one turn gave: `response` is the answer, `output` everything.

    A turn that waits for a person (`human_review`) has no answer yet, and what they are asked in
    `output["__interrupt__"]`.
    """

    response: str
    output: dict[str, Any]

    @property
    def provenance(self) -> dict[str, Any]:
        """The turn's provenance record."""
        record: dict[str, Any] = self.output["provenance"]
        return record


@dataclass
class TurnHarness:
    """One thread of a turn graph over memory, with the scripted models at hand.

    Use `await TurnHarness.create(...)`, as an asynchronous context manager or not.
    """

    graph: TurnRunner
    main_model: ScriptedChatModel | None = None
    query_model: ScriptedChatModel | None = None
    extractor_model: ScriptedChatModel | None = None
    thread_id: str = "harness"
    results: list[TurnResult] = field(default_factory=list)

    @classmethod
    async def create(
        cls,
        bot_config: Mapping[str, Any] | None = None,
        main_responses: Sequence[ReplyLike] | None = None,
        *,
        query_responses: Sequence[ReplyLike] | None = None,
        extractor_responses: Sequence[ReplyLike] | None = None,
        sources: Sequence[GroundedSource] | None = None,
    ) -> TurnHarness:
        """A harness.

        Args:
            bot_config: settings as a mapping, for example from `GroundedConfigBuilder`.
            main_responses: the replies of the main model in order; without them there is no model.
            query_responses: those of a query model of its own.
            extractor_responses: those of a model that extracts intents, for example one JSON object a turn.
            sources: what is searched; one empty in-memory source when neither this nor the settings name any.

        Raises:
            ConfigurationError: the settings cannot work, or responses are no list.
        """
        main = _scripted("main_responses", main_responses)
        query = _scripted("query_responses", query_responses)
        extractor = _scripted("extractor_responses", extractor_responses)
        settings = settings_of({} if bot_config is None else bot_config)
        if sources is None and not settings.sources and settings.knowledge_base is None:
            sources = [InMemorySource(name="knowledge_base")]
        graph = turn_graph(
            settings,
            sources=sources,
            chat_model=main,
            query_model=query,
            extractor=extractor,
            checkpointer=InMemorySaver(),
            store=InMemoryStore(),
        )
        return cls(graph, main, query, extractor)

    @property
    def config(self) -> Any:
        """The run configuration of the harness's thread."""
        return {"configurable": {"thread_id": self.thread_id}}

    async def chat(self, message: str, *, metadata: Mapping[str, Any] | None = None, context: Any = None) -> TurnResult:
        """One turn; the response is empty when it waits for a person, see `decide`."""
        return await self._run({"messages": [("user", message)], "metadata": dict(metadata or {})}, context)

    async def decide(self, decision: Mapping[str, Any], *, context: Any = None) -> TurnResult:
        """The end of a turn that waits for a person (`human_review`), with what they decided; see `ReviewDecision`."""
        return await self._run(Command(resume=dict(decision)), context)

    async def _run(self, given: Any, context: Any) -> TurnResult:
        output = await self.graph.ainvoke(given, self.config, context=context)
        self.results.append(TurnResult(output.get("answer", ""), output))
        return self.results[-1]

    async def stream_chat(self, message: str) -> AsyncIterator[str]:
        """One turn, its answer piece by piece."""
        given = {"messages": [("user", message)]}
        async for chunk, _ in self.graph.astream(given, self.config, stream_mode="messages"):
            if chunk.text:
                yield chunk.text

    async def metadata(self) -> dict[str, Any]:
        """The session metadata of the thread."""
        snapshot = await self.graph.aget_state(self.config)
        found: dict[str, Any] = snapshot.values.get("metadata", {})
        return found

    async def close(self) -> None:
        """Close what the settings opened."""
        await self.graph.resources.close()

    async def __aenter__(self) -> TurnHarness:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _scripted(name: str, responses: Any) -> ScriptedChatModel | None:
    if responses is None:
        return None
    # The letters of a text would be replies, one for each call.
    if isinstance(responses, str) or not isinstance(responses, Sequence):
        told = f"a list of replies is needed, and this is a value of type {type(responses).__name__}: put it in [...]"
        raise ConfigurationError([Problem(name, told)])
    return ScriptedChatModel(list(responses))
