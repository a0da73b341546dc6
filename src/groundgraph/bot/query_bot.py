"""A bot that answers from a document store and remembers what was said, plain and asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, Unpack

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.types import StreamMode
from pydantic import BaseModel

from groundgraph.bot.log import QueryLog
from groundgraph.bot.sources import DOCSTORE, MEMORY, BotStore, bot_store
from groundgraph.bot.turn import BotReply, BotTurn, TurnEnd, composed_messages
from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem
from groundgraph.graph.parts import Models, takes
from groundgraph.graph.retrieval import retrieve_context
from groundgraph.graph.turn import turn_graph
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import iterate_in_background, plain
from groundgraph.settings.load_settings import GivenSettings, settings_of
from groundgraph.settings.services import TracingSettings
from groundgraph.settings.settings import Settings

# The settings of a query bot's graph: those of the user, and the bot's own where the user's say nothing.

SectionT = TypeVar("SectionT", bound=BaseModel)


def bot_settings(given: GivenSettings, system_prompt: str, *, memory: bool) -> Settings:
    """The settings.

    Every message is looked up as it stands (no small talk, no query model unless `intent` is configured), the best
    results count whatever their relevance, evidence of the document store stands before that of the memory, and spans
    are opened where OpenTelemetry is installed. The stores stand in place of the sources of `given`.

    Args:
        given: from `load_settings`; the defaults and the environment when absent.
        system_prompt: told to the model in every turn, before `synthesis.instruction`.
        memory: whether the bot has one.
    """
    settings = settings_of(given)
    instruction = Prompts.of(settings).render(
        "query_bot_system", system_prompt=system_prompt, memory=memory, instruction=settings.synthesis.instruction
    )
    asked = settings.intent.model_fields_set - {"default_filters", "scope"}
    intent = settings.intent if asked else settings.intent.model_copy(update={"mode": "static"})
    return settings.model_copy(
        update={
            "sources": [],
            "knowledge_base": None,
            "intent": intent,
            "fast_path": _unless_set(settings.fast_path, enabled=False),
            "retrieval": _unless_set(settings.retrieval, merge="in_order", score_threshold=0.0),
            "synthesis": _unless_set(settings.synthesis, evidence_per_source=True).model_copy(
                update={"instruction": instruction.strip()}
            ),
            "tracing": _unless_set(settings.tracing, enabled=_can_trace()),
        }
    )


def _unless_set(section: SectionT, **values: object) -> SectionT:
    """`section` with those `values` that nobody has set."""
    return section.model_copy(
        update={name: value for name, value in values.items() if name not in section.model_fields_set}
    )


def _can_trace() -> bool:
    try:
        TracingSettings(enabled=True).require_packages()
    except ConfigurationError:
        return False
    return True


# A stream whose items are produced by a task of its own.


async def produced(items: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """`items`, at most one ahead of whoever reads; closed when the reading ends, with the error that this raises.

    When an event loop ends, it first cancels its tasks and then closes all generators at once, in any order, so that of
    generators within each other none can close what it reads from. A task ends in good order.
    """
    # The room is for items; the mark of the end always has a place.
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    room = asyncio.Semaphore(1)

    async def produce() -> None:
        try:
            async with aclosing(items):
                async for item in items:
                    await room.acquire()
                    queue.put_nowait(item)
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(produce())
    try:
        while (item := await queue.get()) is not None:
            room.release()
            yield item
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


# What both query bots do; see `QueryBot`.

LOG_FILE = Path(".groundgraph/query_bot.sqlite")
N_RESULTS = 20
MOST_RESULTS = 1000


class QueryBotCore:
    """A turn graph over a document store and a memory, with a log; arguments as `QueryBot` says."""

    @takes(Models)
    def __init__(
        self,
        system_prompt: str,
        docstore: Any,
        memory: Any = None,
        *,
        model_name: str | None = None,
        settings: GivenSettings = None,
        log: str | Path | Literal[False] | None = None,
        **models: Unpack[Models],
    ) -> None:
        if model_name is not None:
            models = _with_model_name(models, model_name)
        self.system_prompt = system_prompt
        self.docstore = docstore
        self.memory = memory
        chosen = bot_settings(settings, system_prompt, memory=memory is not None)
        documents = bot_store(docstore, DOCSTORE, models)
        remembered = None if memory is None else _memory(memory, models)
        self._stores = [store for store in (documents, remembered) if store is not None]
        # Each call is a turn of its own: within a step of another graph it writes nothing into that graph's threads,
        # whose saver may belong to another event loop.
        self._graph = turn_graph(chosen, sources=[store.source for store in self._stores], checkpointer=False, **models)
        written = None if log is False else QueryLog(chosen.at(Path(log or LOG_FILE)))
        names = {DOCSTORE.name: documents.source.name}
        if remembered is not None:
            names[MEMORY.name] = remembered.source.name
        self._end = TurnEnd(self._graph.resources, written, remembered, names)

    async def _reply(self, query: str, n_results: int = N_RESULTS) -> BotReply:
        """The answer to `query`, logged and then remembered.

        Args:
            query: the user's message.
            n_results: how many results each store is asked for, at most 1000.

        Raises:
            InputInvalid: `query` is no text, or `n_results` out of range.
            StorageLocked: the log stayed locked by another process.
        """
        turn = _turn(query, n_results)
        async with self._end.of(turn):
            async for _ in self._run(turn, streaming=False):
                pass
        return turn.reply

    def _stream(self, query: str, n_results: int) -> AsyncGenerator[str, None]:
        """One turn, its answer piece by piece; log and memory are written before the stream ends."""
        return produced(self._pieces(_turn(query, n_results)))

    async def _compose(self, query: str, n_results: int = N_RESULTS) -> list[BaseMessage]:
        """What the model is shown for `query`: system prompt, evidence of the document store, evidence of the memory,
        and the user's message. Nothing is answered, logged or remembered."""
        turn = _turn(query, n_results)
        found = await retrieve_context(self._graph, query, context=turn.context)
        return composed_messages(self._graph.resources, found.provenance, turn.context)

    async def _close(self) -> None:
        """Release what was opened here; the stores belong to whoever made them."""
        for store in self._stores:
            if store.owned:
                await store.source.close()

    async def _pieces(self, turn: BotTurn) -> AsyncGenerator[str, None]:
        async with self._end.of(turn), aclosing(self._run(turn, streaming=True)) as pieces:
            async for piece in pieces:
                yield piece

    async def _run(self, turn: BotTurn, *, streaming: bool) -> AsyncGenerator[str, None]:
        given = {"messages": [HumanMessage(turn.query)]}
        modes: list[StreamMode] = ["messages", "values"] if streaming else ["values"]
        config: Any = {"callbacks": turn.shown.with_callers()}
        items = self._graph.astream(given, config, context=turn.context, stream_mode=modes)
        async with aclosing(items) as running:  # type: ignore[type-var]
            async for mode, item in running:
                if mode == "values":
                    turn.output = item
                elif item[0].text:
                    turn.text += item[0].text
                    yield item[0].text


def _with_model_name(models: Models, model_name: str) -> Models:
    """`models` with a chat model by its name, as LlamaBot takes it: there a slash stands behind the provider."""
    if models.get("chat_model") is not None:
        raise ConfigurationError([Problem("model_name", "and chat_model are two names of one thing; pass one of them")])
    provider, slash, model = model_name.partition("/")
    return {**models, "chat_model": f"{provider}:{model}" if slash and ":" not in provider else model_name}


def _memory(memory: Any, models: Models) -> BotStore:
    store = bot_store(memory, MEMORY, models)
    if store.append is None:
        kind = type(memory).__name__
        raise ConfigurationError([Problem("memory", f"a {kind} has no append(text), so nothing can be remembered")])
    return store


def _turn(query: str, n_results: int) -> BotTurn:
    if not isinstance(query, str):
        raise InputInvalid(f"'query' must be a text, not a {type(query).__name__}.")
    if isinstance(n_results, bool) or not isinstance(n_results, int) or not 1 <= n_results <= MOST_RESULTS:
        raise InputInvalid(f"'n_results' must be a number from 1 to {MOST_RESULTS}, not {n_results!r}.")
    return BotTurn(query, n_results)


# The query bot for those who have an event loop of their own.


class AsyncQueryBot(QueryBotCore):
    """`QueryBot` with coroutines; arguments, attributes and errors as there.

    ::

        bot = AsyncQueryBot("You help mechanics.", docstore=store, chat_model=model)
        async for piece in bot.stream_async("When is pump 17 serviced?"):
            print(piece, end="")

    Nothing blocks the event loop: only stores whose methods are plain functions are called in threads.
    """

    async def __call__(self, query: str, n_results: int = N_RESULTS) -> BotReply:
        """See `QueryBot.__call__`. A call that is cancelled is logged as that and not remembered."""
        return await self._reply(query, n_results)

    def stream_async(self, query: str, n_results: int = N_RESULTS) -> AsyncGenerator[str, None]:
        """The answer piece by piece; see `QueryBot.stream`."""
        return self._stream(query, n_results)

    async def compose_rag_messages(self, query: str, n_results: int = N_RESULTS) -> list[BaseMessage]:
        """See `QueryBot.compose_rag_messages`."""
        return await self._compose(query, n_results)

    async def aclose(self) -> None:
        """See `QueryBot.close`."""
        await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class QueryBot(QueryBotCore):
    """A turn graph over a document store, in one object.

    ::

        bot = QueryBot("You help mechanics.", docstore=store, chat_model=model)
        print(bot("When is pump 17 serviced?").text)

    A document store is an object with `retrieve(query, n_results)`, which gives texts in the order of their rank, and
    `append(text)` (both may be coroutine functions); a `KnowledgeBase`; any `GroundedSource`; or any vector store of
    LangChain's. Each call is a turn of its own: what is to be known of earlier ones is in the memory.

    It may be called anywhere, on a running event loop as well; it runs on a loop of its own, and stores that block are
    called in threads.

    Args:
        system_prompt: told to the model in every turn.
        docstore: what is searched.
        memory: searched as well; each answer is appended to it.
        model_name: the chat model by its name, "openai:gpt-5-mini" or as LlamaBot writes it "openai/gpt-5-mini".
        settings: from `load_settings`. Their sources do not count: the stores stand in their place. What they leave
            out is as `bot_settings` says.
        log: the SQLite file of the log, `.groundgraph/query_bot.sqlite` by default; False for none.
        models: see `Models`. Without a chat model, answers quote the evidence; a base is searched by its own embedding
            model.

    Attributes:
        docstore: the document store.
        memory: the memory, None without one.

    Raises:
        ConfigurationError: a store is none of these, the memory cannot be added to, or the settings cannot work.
    """

    __call__ = plain(QueryBotCore._reply, "__call__")
    compose_rag_messages = plain(QueryBotCore._compose, "compose_rag_messages")
    close = plain(QueryBotCore._close, "close")

    def stream(self, query: str, n_results: int = N_RESULTS) -> Iterator[str]:
        """As a call, the answer piece by piece. It is logged and remembered when the stream has ended; one that is
        closed before, or fails, is logged as that and not remembered."""
        return iterate_in_background(self._stream(query, n_results))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
