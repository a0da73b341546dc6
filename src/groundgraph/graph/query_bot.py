"""A bot that answers from a document store, and remembers what it said: one object, one call (document 001)."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from groundgraph.graph.background_loop import iterate_in_background, plain
from groundgraph.graph.query_bot_core import N_RESULTS, QueryBotCore


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

    __call__ = plain(QueryBotCore._reply, "__call__")
    compose_rag_messages = plain(QueryBotCore._compose, "compose_rag_messages")
    close = plain(QueryBotCore._close, "close")

    def stream(self, query: str, n_results: int = N_RESULTS) -> Iterator[str]:
        """As a call, the answer piece by piece. It is logged and remembered when the stream has ended; one that is
        closed before, or fails, is logged as that and not remembered."""
        return iterate_in_background(self._stream(query, n_results))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
