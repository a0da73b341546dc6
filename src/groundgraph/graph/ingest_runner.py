"""The compiled ingest graph: LangGraph's, with the base open around every run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from groundgraph.core.errors import InputInvalid
from groundgraph.core.registry import nearest
from groundgraph.graph.ingest_resources import SharedStore
from groundgraph.graph.stopped_turns import told_nothing_is_there
from groundgraph.ingest.ingest_report import ReportValues, combined
from groundgraph.ingest.readers import READERS, Readers
from groundgraph.nodes.ingest.find_documents import PASSED_IN
from groundgraph.resilience.blocking import iterate_in_background, run_blocking, run_in_background

# A batch takes seven steps, and there may be any number of batches: the plan ends an ingest, not the count of its
# steps. The limit of a parent graph, or of a server, does not hold here for the same reason.
RECURSION_LIMIT = 1_000_000_000
GIVEN = "passed_in"
_CHOICES = ("dry_run", "rebuild", "follow_links")
_INPUT = ("paths", "documents", *_CHOICES, GIVEN)


class IngestOutput(TypedDict):
    """What a caller gets; `IngestReport.of` makes an object of it."""

    report: Annotated[ReportValues, combined]


class IngestRunner(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose runs share the store of the base, which is closed after the last of them.

    Each run has processes of its own that read its documents; none of them outlives it.

    `StateGraph.compile` fixes the class of what it returns, so `adopt` changes it afterwards.
    """

    base: SharedStore
    make_readers: Callable[[], Readers]

    @classmethod
    def adopt(
        cls, compiled: CompiledStateGraph[Any, Any, Any, Any], base: SharedStore, make_readers: Callable[[], Readers]
    ) -> IngestRunner:
        """`compiled` as a runner over `base`, which reads documents in processes that `make_readers` gives."""
        compiled.__class__ = cls
        runner: IngestRunner = compiled  # type: ignore[assignment]
        runner.base = base
        runner.make_readers = make_readers
        return runner

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """As LangGraph's, with the base."""
        copied = super().copy(update)
        copied.base = self.base
        copied.make_readers = self.make_readers
        return copied

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """As LangGraph's.

        Raises:
            InputInvalid: there is nothing to ingest, or something that is no document.
            NothingToResume: there is no input, and no ingest that was cut.
            EmbeddingModelChanged: the base holds vectors of another embedding model.
            SchemaVersionUnsupported: a newer groundgraph wrote the base.
            StorageLocked: another process held the base for too long; what was written stays.
        """
        given, unbounded = _without_documents(input, {**ensure_config(config), "recursion_limit": RECURSION_LIMIT})
        readers = self.make_readers()
        unbounded["configurable"] = {**unbounded.get("configurable", {}), READERS: readers}
        async with self.base.in_use():
            items = super().astream(given, unbounded, **kwargs)
            try:
                with told_nothing_is_there("ingest", "Name paths or documents."):
                    async for item in items:
                        yield item
            finally:
                await run_blocking(readers.close)
                await items.aclose()  # type: ignore[attr-defined]

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """As LangGraph's, with descriptions of the steps; the server shows it."""
        from groundgraph.graph.studio import with_descriptions

        return with_descriptions(await super().aget_graph(config, xray=xray))

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """As LangGraph's, without what the graph itself puts into the input."""
        schema = super().get_input_jsonschema(config)
        return {**schema, "properties": {name: one for name, one in schema["properties"].items() if name != GIVEN}}

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """As `astream`, for callers that are not asynchronous; runs on another thread's event loop."""
        return iterate_in_background(self.astream(input, config, **kwargs))

    async def ainvoke(  # type: ignore[override]
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> IngestOutput:
        """As LangGraph's."""
        output: IngestOutput = await super().ainvoke(input, config, **kwargs)
        return output

    def invoke(  # type: ignore[override]
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> IngestOutput:
        """As `ainvoke`, for callers that are not asynchronous; runs on another thread's event loop."""
        return run_in_background(self.ainvoke(input, config, **kwargs))


def _check_keys(given: Mapping[str, Any]) -> None:
    unknown = [name for name in given if name not in _INPUT]
    if unknown:
        raise InputInvalid(f"An ingest has no key '{unknown[0]}'.{nearest(str(unknown[0]), list(_INPUT))}")
    for name in _CHOICES:
        # A text is true whatever it says, "false" too.
        if not isinstance(given.get(name), bool | None):
            raise InputInvalid(f"'{name}' is true or false, not a {type(given[name]).__name__}.")


def _without_documents(given: Any, config: RunnableConfig) -> tuple[Any, RunnableConfig]:
    """The input without its documents, and `config` with them: they may be an iterator, and stand in no checkpoint.

    What the input leaves out is set to its default: on a thread, the last run's choice would hold again.
    """
    if given is None or isinstance(given, Command):
        return given, config
    if not isinstance(given, Mapping):
        raise InputInvalid(f'An ingest takes a mapping, such as {{"paths": ["docs"]}}, not a {type(given).__name__}.')
    _check_keys(given)
    documents = given.get("documents")
    rest = {name: value for name, value in given.items() if name != "documents"}
    complete = {
        "paths": [],
        **dict.fromkeys(_CHOICES, False),
        **rest,
        GIVEN: documents is not None,
    }
    if documents is None:
        return complete, config
    return complete, {**config, "configurable": {**config.get("configurable", {}), PASSED_IN: documents}}
