"""The query bot for those who have an event loop of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from langchain_core.messages import BaseMessage

from groundgraph.graph.query_bot_core import N_RESULTS, QueryBotCore
from groundgraph.graph.query_bot_reply import BotReply


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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
