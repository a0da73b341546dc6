"""A bot that answers from a document store, and remembers what it said: one object, one call (document 001)."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from langchain_core.messages import BaseMessage

from groundgraph.graph.background_loop import iterate_in_background, run_in_background
from groundgraph.graph.query_bot_core import N_RESULTS, QueryBotCore
from groundgraph.graph.query_bot_reply import BotReply


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

    def __call__(self, query: str, n_results: int = N_RESULTS) -> BotReply:
        """The answer to `query`, logged and then remembered.

        Args:
            query: the user's message.
            n_results: how many results each store is asked for, at most 1000.

        Raises:
            InputInvalid: `query` is no text, or `n_results` out of range.
            StorageLocked: the log stayed locked by another process.
        """
        return run_in_background(self._reply(query, n_results))

    def stream(self, query: str, n_results: int = N_RESULTS) -> Iterator[str]:
        """As a call, the answer piece by piece. It is logged and remembered when the stream has ended; one that is
        closed before, or fails, is logged as that and not remembered."""
        return iterate_in_background(self._stream(query, n_results))

    def compose_rag_messages(self, query: str, n_results: int = N_RESULTS) -> list[BaseMessage]:
        """What the model is shown for `query`: system prompt, evidence of the document store, evidence of the memory,
        and the user's message. Nothing is answered, logged or remembered."""
        return run_in_background(self._compose(query, n_results))

    def close(self) -> None:
        """Release what was opened here; the stores belong to whoever made them."""
        run_in_background(self._close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
