"""The compiled turn graph: LangGraph's, with the bounds of a turn around every run."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langchain_core.tools import BaseTool, StructuredTool
from langgraph._internal._config import ensure_config, patch_config, patch_configurable
from langgraph._internal._constants import (
    CONF,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_DURABILITY,
    CONFIG_KEY_READ,
    CONFIG_KEY_RESUMING,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_TASK_ID,
    INTERRUPT,
)
from langgraph._internal._runnable import RunnableCallable, RunnableSeq, set_config_context
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import EmptyInputError
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._algo import local_read
from langgraph.types import Command, StateSnapshot, StateUpdate

from groundgraph.core.errors import InputInvalid, NothingToResume, ReviewImpossible, StorageDamaged
from groundgraph.core.thread_id import check_metadata_keys, checked_thread_id
from groundgraph.graph.parts import check_run
from groundgraph.graph.resources import Resources
from groundgraph.graph.state import begins_turn, check_update, with_kept_shapes
from groundgraph.graph.state_edits import led_on
from groundgraph.graph.stopped_turns import (
    lacks_outputs,
    lead_on,
    refuse_gone_checkpoint,
    refuse_gone_step,
    refuse_undue_decision,
    with_outputs,
)
from groundgraph.models.call_model import ChainAllowance, chain_allowance
from groundgraph.nodes.begin_turn import take_in
from groundgraph.resilience.blocking import iterate_in_background, run_in_background, running_loop
from groundgraph.resilience.bounds import Backpressure, TurnWork, current_backpressure, turn_ends_at
from groundgraph.resilience.bounds import current as current_work
from groundgraph.settings.context import Context
from groundgraph.storage.long_threads import refuse_synchronous
from groundgraph.storage.storage_errors import damaged, is_closed, server_error, sqlite_error
from groundgraph.storage.thread_locks import ForeignWrites, TurnWrites, held_thread, turn_writes

if TYPE_CHECKING:
    from groundgraph.settings.settings import Settings

# The most steps of a run, of which a turn with everything on takes about twenty.
RECURSION_LIMIT = 50


class TurnRunner(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose runs have a deadline, clean input and, on one thread, an order.

    `StateGraph.compile` fixes the class of what it returns, so `adopt` changes it afterwards. Inside a parent graph,
    and on a server, the parent's rules for threads hold; deadline and input are looked after everywhere.
    """

    resources: Resources
    retrieval: Callable[[], TurnRunner]
    """The retrieval part of this graph by itself, without checkpoints; compiled when it is first asked for."""

    @classmethod
    def adopt(
        cls,
        compiled: CompiledStateGraph[Any, Any, Any, Any],
        resources: Resources,
        retrieval: Callable[[], TurnRunner],
    ) -> Self:
        """`compiled` as a runner over `resources`; `retrieval` compiles its retrieval part alone."""
        compiled.__class__ = cls
        runner: Self = compiled  # type: ignore[assignment]
        runner.resources = resources
        runner.retrieval = cache(retrieval)
        runner.config = {"recursion_limit": RECURSION_LIMIT}
        runner.channels = with_kept_shapes(compiled.channels, compiled.builder.channels)
        lead_on(runner)
        run_lightly(runner)
        return runner

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """As LangGraph's, with the resources."""
        copied = super().copy(update)
        copied.resources, copied.retrieval = self.resources, self.retrieval
        return copied

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """As LangGraph's.

        Raises:
            ThreadBusy: another turn holds the thread for longer than a turn may take.
            ThreadConflict: another process wrote to the thread at the same time.
            StorageLocked: another process holds a database of this graph.
            StorageUnavailable: the server or file that keeps the threads or the evidence cannot be used.
            StorageDamaged: what is kept of the thread cannot be read.
            ConfigurationError: the checkpointer of the parent graph has no asynchronous methods.
            InputInvalid: the input, or the id of the thread, is nothing that a turn can take; or there is none, and the
                graph keeps its threads; or its store was opened on another event loop.
            NothingToResume: the turn waits at a step that this graph does not have, or for nobody's decision, or the
                checkpoint to run from is not there.
            ReviewImpossible: people are to review answers, and the graph has no checkpointer.
        """
        settings = self.resources.settings
        _check_run(config, kwargs)
        full = ensure_config(config)
        embedded = CONFIG_KEY_TASK_ID in full.get(CONF, {})
        config = self._checked(config, full, embedded=embedded)
        given = take_in(input, settings.limits, trusted=embedded)
        if self._resolve_checkpointer(full) is None:
            # By "sync", also a parent's, LangGraph waits for a checkpoint that nobody writes.
            kwargs.pop("durability", None)
            config = patch_configurable(config, {CONFIG_KEY_DURABILITY: "async"})
        async with AsyncExitStack() as stack:
            foreign = None
            if not embedded:
                with self.told_as_ours(full, Exception):
                    foreign = await self._hold_thread(stack, full)
            bounds = _Bounds.of(settings, foreign, anew=_begins_turn(given, full), embedded=embedded)
            items = super().astream(given, config, **kwargs)
            # Behind LangGraph's own cleaning up, which waits for the steps that it cancels.
            stack.callback(bounds.work.end)
            stack.push_async_callback(items.aclose)  # type: ignore[attr-defined]
            with self.told_as_ours(full, Exception):
                last: Any = None
                if not embedded:
                    await self._refuse_lost(given, full, anew=bounds.anew)
                while (item := await bounds.next(items)) is not _END:
                    last = item
                    yield item
                if foreign is not None:
                    await foreign.check()
                # Without a mode, a parent that is itself streamed by events takes the last item as the output.
                if embedded and kwargs.get("stream_mode") is None and kwargs.get("output_keys") is None:
                    whole = await self._with_outputs(last, input, config)
                    if whole is not last:
                        yield whole

    async def _refuse_lost(self, given: Any, full: RunnableConfig, *, anew: bool) -> None:
        """Refuse a run that has nothing to begin at, or surely none to go on with; `astream` tells the errors."""
        configurable = self._configurable(full)
        if configurable.get("checkpoint_id"):
            await refuse_gone_checkpoint(self, configurable)
        if not anew:
            await refuse_gone_step(self, given, configurable)
            await refuse_undue_decision(self, given, {**full, CONF: configurable})

    def _checked(self, config: RunnableConfig | None, full: RunnableConfig, *, embedded: bool) -> RunnableConfig | None:
        """The configuration of a run that can go on with it; `astream` tells the errors."""
        configurable = self._configurable(full)
        if configurable.get("thread_id") is not None or not embedded:
            self._check_thread(full)
        if embedded:
            return self._below_parent(config, full)
        _refuse_other_loop(self.store)
        if "review_answer" in self.nodes:
            self._check_review(full)
        return config

    def _check_thread(self, config: RunnableConfig) -> None:
        """
        Raises:
            InputInvalid: `config` names no thread, and the graph keeps its threads; or none can have the id.
        """
        configurable = self._configurable(config)
        thread_id, saver = configurable.get("thread_id"), configurable.get(CONFIG_KEY_CHECKPOINTER, self.checkpointer)
        # LangGraph takes None for a name, by which all who have none would share a conversation.
        if thread_id is not None or isinstance(saver, BaseCheckpointSaver):
            checked_thread_id("" if thread_id is None else thread_id)

    def _below_parent(self, config: RunnableConfig | None, full: RunnableConfig) -> RunnableConfig:
        """The configuration of a run inside a parent graph, with the bound on steps that this graph has by itself.

        LangGraph hands the parent's down: an agent that may take five steps would break off a turn, which takes nine.

        Raises:
            ConfigurationError: the parent's checkpointer has no asynchronous methods.
        """
        if self.checkpointer is not False:
            refuse_synchronous(full.get(CONF, {}).get(CONFIG_KEY_CHECKPOINTER))
        own = (self.config or {}).get("recursion_limit", full["recursion_limit"])
        return {**(config or {}), "recursion_limit": own}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As LangGraph's; inside a parent graph the outputs are there also when only the parent has to go on."""
        output = await self._final(input, config, **kwargs)
        if CONFIG_KEY_TASK_ID not in ensure_config(config).get(CONF, {}) or kwargs.get("output_keys") is not None:
            return output
        return await self._with_outputs(output, input, config)

    async def _final(self, input: Any, config: RunnableConfig | None, **kwargs: Any) -> Any:
        """As LangGraph's `ainvoke`, which streams the update of every step too, unless it may tell interrupts apart."""
        if kwargs.get("stream_mode", "values") != "values" or kwargs.get("version", "v1") != "v1":
            return await super().ainvoke(input, config, **kwargs)
        output = await super().ainvoke(input, config, **{**kwargs, "version": "v2"})
        if not output.interrupts:
            return output.value
        return {**(output.value if isinstance(output.value, dict) else {}), INTERRUPT: [*output.interrupts]}

    async def _with_outputs(self, output: Any, given: Any, config: RunnableConfig | None) -> Any:
        """`output` of a run inside a parent, with what no checkpoint holds of it."""
        if not lacks_outputs(output):
            return output
        if "context" in self.output_channels:
            return await self.retrieval().ainvoke(given, config)
        return await with_outputs(output, config, self.resources.evidence, self.store)

    def _check_review(self, config: RunnableConfig) -> None:
        """
        Raises:
            ReviewImpossible: an answer may have to wait for a person, and nothing keeps it.
        """
        if not isinstance(
            self._configurable(config).get(CONFIG_KEY_CHECKPOINTER, self.checkpointer), BaseCheckpointSaver
        ):
            from groundgraph.nodes.review_answer import CANNOT_WAIT

            # Before anything is asked or paid for; a server and a parent graph bring a checkpointer of their own.
            raise ReviewImpossible(CANNOT_WAIT)

    def _configurable(self, config: RunnableConfig) -> dict[str, Any]:
        return {**(self.config or {}).get(CONF, {}), **config.get(CONF, {})}

    async def _hold_thread(self, stack: AsyncExitStack, config: RunnableConfig) -> ForeignWrites | None:
        configurable = self._configurable(config)
        saver = configurable.get(CONFIG_KEY_CHECKPOINTER, self.checkpointer)
        thread_id = configurable.get("thread_id")
        if not isinstance(saver, BaseCheckpointSaver) or thread_id is None:
            return None
        wait = self.resources.settings.deadlines.turn
        await stack.enter_async_context(held_thread(saver, str(thread_id), wait))
        foreign = await ForeignWrites.watch(saver, str(thread_id))
        if foreign is not None:
            stack.push_async_callback(foreign.own.end)
        return foreign

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """As LangGraph's, with descriptions of the steps; the server shows it, and `get_graph` draws without them."""
        from groundgraph.graph.studio import with_descriptions

        return with_descriptions(await super().aget_graph(config, xray=xray))

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """As LangGraph's, with the values of the settings as defaults."""
        from groundgraph.graph.studio import with_defaults

        schema = super().get_context_jsonschema()
        if schema is None:
            return None
        return with_defaults(schema, self.resources.settings, self.nodes, list(self.resources.sources))

    async def aget_state(self, config: RunnableConfig, **kwargs: Any) -> StateSnapshot:
        """As LangGraph's.

        Raises:
            InputInvalid: no thread is named, or none can have the id.
            StorageDamaged: what is kept of the thread cannot be read.
        """
        self._check_thread(config)
        with self.told_as_ours(config):
            return await super().aget_state(config, **kwargs)

    async def aget_state_history(
        self, config: RunnableConfig, *, filter: dict[str, Any] | None = None, **kwargs: Any
    ) -> AsyncIterator[StateSnapshot]:
        """As LangGraph's.

        Raises:
            FilterInvalid: `filter` names metadata that nobody knows; see `check_metadata_keys`.
            InputInvalid: no thread is named, or none can have the id.
            StorageDamaged: what is kept of the thread cannot be read.
        """
        self._check_thread(config)
        check_metadata_keys(filter, self.resources.settings.server.metadata_keys)
        with self.told_as_ours(config):
            async for snapshot in super().aget_state_history(config, filter=filter, **kwargs):
                yield snapshot

    @contextmanager
    def told_as_ours(self, config: RunnableConfig, kind: type[Exception] = StorageDamaged) -> Iterator[None]:
        """Of the errors of a `kind`, those that come from the storage are raised as a user is told of them."""
        try:
            yield
        except kind as error:
            told = _told(error, str(self._configurable(config).get("thread_id") or ""))
            if told is None:
                raise
            raise told from error

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """As LangGraph's; a single edit goes on from where what it changes has to go through (`led_on`).

        Raises:
            InputInvalid: a channel would be given what it cannot hold, or no thread is named, or none can have the id.
            NothingToResume: the checkpoint to be edited is not there.
            StorageDamaged: what is kept of the thread cannot be read.
        """
        self._check_thread(config)
        for edit in (edit for edits in supersteps for edit in edits):
            check_update(self.channels, edit.values)
        with self.told_as_ours(config):
            await refuse_gone_checkpoint(self, self._configurable(config))
            if len(supersteps) == len(supersteps[0]) == 1:
                supersteps = [[await led_on(self, config, supersteps[0][0], self.resources.settings.limits)]]
            return await super().abulk_update_state(config, supersteps)

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """As `abulk_update_state`, for callers that are not asynchronous; raises what `invoke` does."""
        home = self.home(config)
        return run_in_background(self.abulk_update_state(config, supersteps), home)

    def get_state(self, config: RunnableConfig, **kwargs: Any) -> StateSnapshot:
        """As `aget_state`, with a saver that is not asynchronous."""
        self._check_thread(config)
        return super().get_state(config, **kwargs)

    def get_state_history(
        self, config: RunnableConfig, *, filter: dict[str, Any] | None = None, **kwargs: Any
    ) -> Iterator[StateSnapshot]:
        """As `aget_state_history`, with a saver that is not asynchronous."""
        self._check_thread(config)
        check_metadata_keys(filter, self.resources.settings.server.metadata_keys)
        return super().get_state_history(config, filter=filter, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """As `astream`, for callers that are not asynchronous; runs on another thread's event loop."""
        home = self.home(config)
        return iterate_in_background(self.astream(input, config, **kwargs), home)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As `ainvoke`, for callers that are not asynchronous; runs on another thread's event loop.

        Raises:
            RuntimeError: the caller stands on the event loop that the checkpointer or the store belongs to.
        """
        home = self.home(config)
        return run_in_background(self.ainvoke(input, config, **kwargs), home)

    def tool(self, ask: Callable[[str], Coroutine[Any, Any, tuple[str, Any]]], name: str, description: str) -> BaseTool:
        """A LangChain tool over `ask`, which runs this graph and gives what the model reads and an artifact."""

        def ask_and_wait(question: str) -> tuple[str, Any]:
            home = self.home()
            return run_in_background(ask(question), home)

        return StructuredTool.from_function(
            ask_and_wait, coroutine=ask, name=name, description=description, response_format="content_and_artifact"
        )

    def home(self, config: RunnableConfig | None = None) -> asyncio.AbstractEventLoop | None:
        """The running loop that the checkpointer or the store of a run was opened on, whose locks work on no other.

        Inside a parent graph they are the parent's.

        Raises:
            RuntimeError: the caller stands on that loop, and would wait for itself.
        """
        _check_run(config, {})
        given = ensure_config(config).get(CONF, {})
        lent = None if self.checkpointer is False else given.get(CONFIG_KEY_CHECKPOINTER)
        store = getattr(given.get(CONFIG_KEY_RUNTIME), "store", None)
        for holder, name in ((lent, "loop"), (store, "_loop"), (self.checkpointer, "loop"), (self.store, "_loop")):
            loop = getattr(holder, name, None)
            if isinstance(loop, asyncio.AbstractEventLoop) and loop.is_running():
                if loop is running_loop():
                    raise RuntimeError("This is the event loop of the checkpointer or the store in use; use ainvoke.")
                return loop
        return None


_END: Any = object()
_OF_A_THREAD = ("the evidence", "the value", "what was written")


@dataclass(frozen=True)
class _Bounds:
    """Within what a run goes.

    Attributes:
        ends_at: when it ends at the latest, on the monotonic clock.
        backpressure: how fast its reader is; None inside a parent graph, whose reader it is.
        allowance: what its chains may call.
        work: what it waits for.
        own: what it writes itself; None where nobody keeps other processes from writing.
        anew: whether it surely begins a turn.
    """

    ends_at: float
    backpressure: Backpressure | None
    allowance: ChainAllowance
    work: TurnWork
    own: TurnWrites | None
    anew: bool

    @classmethod
    def of(cls, settings: Settings, foreign: ForeignWrites | None, *, anew: bool, embedded: bool) -> _Bounds:
        """Those of a run that begins now; inside another, no wider than that one's."""
        return cls(
            _earlier(turn_ends_at.get(), time.monotonic() + settings.deadlines.turn),
            None if embedded else Backpressure(),
            chain_allowance.get() or ChainAllowance.of(settings.limits),
            TurnWork(),
            foreign.own if foreign else None,
            anew,
        )

    async def next(self, items: AsyncIterator[Any]) -> Any:
        """The next item, produced within these bounds.

        The context variables are set around each step and not once: an asynchronous generator runs in the context of
        whoever asks for its next item, and must leave nothing behind there.
        """
        within: dict[ContextVar[Any], Any] = {
            turn_ends_at: self.ends_at,
            current_work: self.work,
            begins_turn: self.anew,
            turn_writes: self.own,
            chain_allowance: self.allowance,
            current_backpressure: self.backpressure,
        }
        tokens = [(variable, variable.set(value)) for variable, value in within.items() if value is not None]
        if self.backpressure:
            self.backpressure.waiting()
        try:
            return await anext(items, _END)
        finally:
            if self.backpressure:
                self.backpressure.busy()
            for variable, token in tokens:
                variable.reset(token)


# What most runs are given.
_OPTIONS = frozenset(
    ("context", "stream_mode", "print_mode", "output_keys", "durability", "version", "debug", "subgraphs", "control")
).union(("interrupt_before", "interrupt_after"))
_MODES = (None, "values", "updates", "messages", "custom")


def _check_run(config: Any, options: dict[str, Any]) -> None:
    """See `check_run`, which is only loaded where something stands out."""
    configured = config is None or (isinstance(config, dict) and "thread_id" not in config)
    mode = options.get("stream_mode")
    usual = _OPTIONS.issuperset(options) and isinstance(options.get("context"), Context | dict | None)
    if not (configured and usual and (isinstance(mode, list) or mode in _MODES)):
        check_run(config, options)


def _refuse_other_loop(store: Any) -> None:
    """
    Raises:
        InputInvalid: `store` was opened on another event loop that is running, and would never answer on this one.
    """
    loop = getattr(store, "_loop", None)
    if isinstance(loop, asyncio.AbstractEventLoop) and loop.is_running() and loop is not running_loop():
        raise InputInvalid(
            "This graph was opened on another event loop. Use `invoke` or `stream`, which go there, or open it on this "
            "one: async with open_graph(...)."
        )


def _begins_turn(given: Any, config: RunnableConfig) -> bool:
    """Whether a run surely begins a turn, by LangGraph's rule: a run with an id may be one that is tried again."""
    resumes = config.get(CONF, {}).get(CONFIG_KEY_RESUMING) or config.get("metadata", {}).get("run_id")
    return given is not None and not isinstance(given, Command) and not resumes


def _earlier(outer: float | None, own: float) -> float:
    return own if outer is None else min(outer, own)


def _told(error: Exception, thread_id: str) -> Exception | None:
    """What a user is told in place of an error of the storage, or of LangGraph's; None for every other error."""
    if isinstance(error, EmptyInputError):
        return NothingToResume("There is no turn to go on with: None resumes one that was cut. Ask a question.")
    if isinstance(error, StorageDamaged) and thread_id and not error.thread_id and error.row.startswith(_OF_A_THREAD):
        # Evidence and channels do not know their thread; who needs them does.
        return damaged(thread_id, error.row, "is missing in part, or damaged")
    return sqlite_error(error) if isinstance(error, sqlite3.Error) or is_closed(error) else server_error(error)


# How steps and branches run.

# Whose messages and tokens are for readers.
_TOLD = ("begin_turn", "answer_conversational", "answer_hybrid", "repair_answer", "record_turn")


def run_lightly(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Let the steps and branches of `compiled` leave out what nobody would notice, a tenth of a turn's time: managers
    of callbacks where nothing listens, and copies of channels that a branch does not read; and the tokens of models
    inside a source or a reranker, which would be read for the answer."""
    for name, node in compiled.nodes.items():
        if name not in _TOLD:
            node.tags = [*(node.tags or ()), TAG_NOSTREAM]
        if type(node.node) is RunnableSeq:
            node.node.__class__ = _QuietStep
        for writer in node.writers:
            own = getattr(writer, "kwargs", {})
            if (reader := own.get("reader")) is not None:
                own["reader"] = partial(_read, reader)
                writer.afunc.__self__.path.__class__ = _QuietBranch  # type: ignore[attr-defined]


def _is_heard(config: RunnableConfig | None) -> bool:
    """Whether a handler is told what is run with `config`, a tracer or a stream of tokens among them."""
    manager = config.get("callbacks") if config else None
    return not isinstance(manager, BaseCallbackManager) or bool(manager.handlers)


class _QuietStep(RunnableSeq):
    """A step and what writes its update."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if config is None or _is_heard(config):
            return await super().ainvoke(input, config, **kwargs)
        # The name is that of this step, not of the models that it calls.
        config = patch_config(config, callbacks=config.get("callbacks"))
        step, *writers = self.steps
        with set_config_context(config) as context:
            update = await asyncio.create_task(step.ainvoke(input, config, **kwargs), context=context)
        for writer in writers:
            update = await writer.ainvoke(update, config)
        return update


class _QuietBranch(RunnableCallable):
    """What chooses where a turn goes."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if self.afunc is None or self.func_accepts or _is_heard(config):
            return await super().ainvoke(input, config, **kwargs)
        return await self.afunc(input)


def _read(reader: partial[Any], config: RunnableConfig) -> Any:
    read = config[CONF][CONFIG_KEY_READ]
    scratchpad, channels, managed, task = read.args
    wanted = {name: channels[name] for name in reader.keywords["select"] if name in channels}
    narrow = partial(local_read, scratchpad, wanted, managed, task)
    return reader({**config, CONF: {**config[CONF], CONFIG_KEY_READ: narrow}})
