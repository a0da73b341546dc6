"""What both query bots do; see `QueryBot`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, Unpack

from langchain_core.messages import BaseMessage, HumanMessage

from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem
from groundgraph.core.settings import Settings
from groundgraph.graph.parts import Models, takes
from groundgraph.graph.query_bot_log import QueryLog
from groundgraph.graph.query_bot_messages import composed_messages
from groundgraph.graph.query_bot_reply import BotReply
from groundgraph.graph.query_bot_settings import bot_settings
from groundgraph.graph.query_bot_source import DOCSTORE, MEMORY
from groundgraph.graph.query_bot_store import BotStore, bot_store
from groundgraph.graph.query_bot_stream import produced
from groundgraph.graph.query_bot_turn import BotTurn, TurnEnd
from groundgraph.graph.retrieval import retrieve_context
from groundgraph.graph.turn import turn_graph

LOG_FILE = Path(".groundgraph/query_bot.sqlite")
N_RESULTS = 20
MOST_RESULTS = 1000


class QueryBotCore:
    """A turn graph over a document store and a memory, with a log; arguments as `QueryBot` says."""

    @takes(Models)
    def __init__(
        self,
        system_prompt: str,
        *,
        docstore: Any,
        memory: Any = None,
        settings: Settings | None = None,
        log: str | Path | Literal[False] | None = None,
        **models: Unpack[Models],
    ) -> None:
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
        modes = ["messages", "values"] if streaming else ["values"]
        config: Any = {"callbacks": turn.shown.with_callers()}
        items = self._graph.astream(given, config, context=turn.context, stream_mode=modes)
        async with aclosing(items) as running:  # type: ignore[type-var]
            async for mode, item in running:
                if mode == "values":
                    turn.output = item
                elif item[0].text:
                    turn.text += item[0].text
                    yield item[0].text


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
