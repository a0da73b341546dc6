"""The query bot for those who have an event loop of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from groundgraph.core.settings import Settings
from groundgraph.graph.query_bot_core import N_RESULTS, QueryBotCore
from groundgraph.graph.query_bot_reply import BotReply


class AsyncQueryBot:
    """`QueryBot` with coroutines; arguments, attributes and errors as there.

    ::

        bot = AsyncQueryBot("You help mechanics.", docstore=store, chat_model=model)
        async for piece in bot.stream_async("When is pump 17 serviced?"):
            print(piece, end="")

    Nothing blocks the event loop: only stores whose methods are plain functions are called in threads.
    """

    def __init__(
        self,
        system_prompt: str,
        *,
        docstore: Any,
        memory: Any = None,
        settings: Settings | None = None,
        chat_model: BaseChatModel | None = None,
        log: str | Path | Literal[False] | None = None,
    ) -> None:
        self.system_prompt = system_prompt
        self.docstore = docstore
        self.memory = memory
        self._core = QueryBotCore(
            system_prompt, docstore=docstore, memory=memory, settings=settings, chat_model=chat_model, log=log
        )

    async def __call__(self, query: str, n_results: int = N_RESULTS) -> BotReply:
        """See `QueryBot.__call__`. A call that is cancelled is logged as that and not remembered."""
        return await self._core.reply(query, n_results)

    def stream_async(self, query: str, n_results: int = N_RESULTS) -> AsyncGenerator[str, None]:
        """The answer piece by piece; see `QueryBot.stream`."""
        return self._core.stream(query, n_results)

    async def compose_rag_messages(self, query: str, n_results: int = N_RESULTS) -> list[BaseMessage]:
        """See `QueryBot.compose_rag_messages`."""
        return await self._core.compose(query, n_results)

    async def aclose(self) -> None:
        """See `QueryBot.close`."""
        await self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
