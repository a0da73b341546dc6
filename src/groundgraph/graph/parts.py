"""The arguments that the graphs and what is built of them have in common: said and documented here alone (PEP 692)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from groundgraph.core.registry import nearest

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langgraph.store.base import BaseStore

    from groundgraph.answers.ask_extractor import Extractor
    from groundgraph.core.chain import Reranker, SupportJudge
    from groundgraph.core.embedder import Embedder
    from groundgraph.sources.contract import GroundedSource

F = TypeVar("F", bound=Callable[..., Any])


class Models(TypedDict, total=False):
    """Models in place of those of the settings; None is as left out. A text is the name of one, "provider:model", as
    `create_agent` of LangChain takes it: "openai:gpt-5-mini".

    Attributes:
        chat_model: writes answers, in place of `settings.llm`.
        query_model: writes search queries in mode `extract` and works in the chains of a knowledge base, in place of
            `settings.query_llm`.
        embeddings: the embedding model of knowledge bases, in place of `settings.embeddings`.
    """

    chat_model: BaseChatModel | str | None
    query_model: BaseChatModel | str | None
    embeddings: Embeddings | Embedder | str | None


class Parts(Models, total=False):
    """The models, and what else a turn works with; None is as left out.

    Attributes:
        sources: beside those of the settings.
        reranker: judges the merged results, in place of those of `settings.reranker`: an object or function that gives
            one score per candidate, or one of LangChain's document compressors.
        extractor: fills in the intent in mode `extract`, in place of `settings.intent.extraction_config`: a chat model,
            or a Runnable or function that is given the messages of the prompt and returns a mapping, a text that holds
            one, or a message; a text is the name of a chat model.
        support_judge: gives the second opinion on support, in place of `citation_check.entailment.judge`: a chat model,
            its name, or a function of the question and pairs of evidence and sentence that gives a score for each.
    """

    sources: Sequence[GroundedSource] | None
    reranker: Reranker | BaseDocumentCompressor | None
    extractor: Extractor | str | None
    support_judge: BaseChatModel | SupportJudge | str | None


class GraphParts(Parts, total=False):
    """What a turn works with, and what LangGraph keeps it in; None is as left out.

    Attributes:
        checkpointer: any LangGraph saver with asynchronous methods; leave it out for a subgraph or a server. Inside a
            parent graph, False keeps nothing of the turn's steps, and True a conversation of its own.
        store: holds evidence and provenance records; without one, evidence stays in the state and checkpoints are
            large.
    """

    checkpointer: Any
    store: BaseStore | None


def takes(parts: type) -> Callable[[F], F]:
    """Of a function with `**parts: Unpack[...]`: `help` and `inspect` show the names one by one, as editors do, and a
    call with any other name is a TypeError at once, as with names written out.

    Args:
        parts: the TypedDict that is unpacked.
    """

    def spelled_out(function: F) -> F:
        signature = inspect.signature(function)
        plain = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        unpacked = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__)
            for name, hint in parts.__annotations__.items()
        ]
        known = [*(one.name for one in plain), *parts.__annotations__]

        @wraps(function)
        def checked(*positional: Any, **named: Any) -> Any:
            unknown = next((name for name in named if name not in known), None)
            if unknown is not None:
                told = f"{function.__name__}() got an unexpected keyword argument '{unknown}'.{nearest(unknown, known)}"
                raise TypeError(told)
            return function(*positional, **named)

        checked.__signature__ = signature.replace(parameters=[*plain, *unpacked])  # type: ignore[attr-defined]
        return cast(F, checked)

    return spelled_out
