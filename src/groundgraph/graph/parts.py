"""The arguments that the graphs and what is built of them have in common: said and documented here alone (PEP 692), and
looked at where they are handed over: not everybody runs a type checker, and a turn that breaks over one would tell
nobody where it came from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast, get_args

from langchain_core.runnables import RunnableConfig

from groundgraph.core.errors import InputInvalid, Problem, refuse_any
from groundgraph.core.registry import nearest
from groundgraph.settings.context import Context
from groundgraph.sources.contract import GroundedSource

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langgraph.store.base import BaseStore

    from groundgraph.answers.extract_intent import Extractor
    from groundgraph.core.chain import Reranker, SupportJudge
    from groundgraph.core.embedder import Embedder


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


GraphT = TypeVar("GraphT")

_MODEL = (
    "a chat model of LangChain's itself, without bind, with_fallbacks or with_retry around it, or its name such as "
    "'openai:gpt-5-mini'"
)
# By argument: a method of what it takes, and what that is.
_KINDS = {
    "chat_model": ("ainvoke", _MODEL),
    "query_model": ("bind_tools", _MODEL),
    "embeddings": ("aembed_query", "an embedding model of LangChain's, an Embedder, or a name such as 'openai:NAME'"),
    "store": ("abatch", "a store of LangGraph's; open_graph opens the configured one"),
    "checkpointer": ("aget_tuple", "a saver of LangGraph's; open_graph opens the configured one"),
}
_NAMED = ("chat_model", "query_model", "embeddings")


def check_given(parts: Mapping[str, Any]) -> None:
    """Refuse parts of a graph that are nothing of their kind; see `GraphParts`.

    Raises:
        ConfigurationError: names each, and what it takes.
    """
    given = {name: value for name, value in parts.items() if value is not None and not isinstance(value, bool)}
    problems = [
        Problem(name, f"takes {told}; this is {_kind(given[name])}")
        for name, (method, told) in _KINDS.items()
        if name in given and not _fits(name, given[name], method)
    ]
    problems += _reranker_problems(given.get("reranker"))
    problems += _source_problems(given.get("sources", ()))
    refuse_any(problems)


def _fits(name: str, value: Any, method: str) -> bool:
    if isinstance(value, str):
        return name in _NAMED
    if name == "chat_model":
        # Loaded by whoever has one.
        from langchain_core.language_models import BaseChatModel

        return isinstance(value, BaseChatModel)
    if name == "query_model":
        # What LangChain wraps around a model hands its methods on, but is not called as one.
        return hasattr(type(value), method)
    # An `Embedder` has the model within.
    held = getattr(value, "model", None)
    return not isinstance(value, type) and (hasattr(value, method) or (name == "embeddings" and hasattr(held, method)))


def _judges(reranker: Any) -> bool:
    return callable(reranker) or hasattr(reranker, "compress_documents")


def _reranker_problems(reranker: Any) -> list[Problem]:
    if reranker is None or (not isinstance(reranker, type) and _judges(reranker)):
        return []
    told = "takes a function or object that gives one score per candidate, or a document compressor of LangChain's"
    return [Problem("reranker", f"{told}; this is {_kind(reranker)}. A service is named in the settings")]


def _source_problems(sources: Any) -> list[Problem]:
    if not isinstance(sources, Sequence) or isinstance(sources, str):
        return [Problem("sources", f"sources are a list, and this is {_kind(sources)}; put it in one: sources=[...]")]
    problems = []
    for place, source in enumerate(sources):
        key = f"sources[{place}]"
        if isinstance(source, type):
            problems.append(Problem(key, f"is {_kind(source)}"))
        elif not (isinstance(getattr(source, "name", None), str) and hasattr(source, "query")):
            problems.append(Problem(key, f"is {_kind(source)}, which is no source; {_instead(source)}"))
        elif not source.name.strip():
            problems.append(Problem(key, "a source has a name, by which citations and filters refer to it"))
        elif lacking := _lacking(source):
            told = f"which lacks {', '.join(lacking)} of a source; derive its class from GroundedSource"
            problems.append(Problem(key, f"is {_kind(source)}, {told}"))
    return problems


def _lacking(source: Any) -> list[str]:
    """The members of a source that `source` lacks; a class that is not derived from `GroundedSource` may have all."""
    return [name for name in vars(GroundedSource) if not name.startswith("_") and not hasattr(source, name)]


def _instead(value: Any) -> str:
    if hasattr(value, "add_records") and hasattr(value, "documents"):
        return "leave sources= out: a graph with the same settings searches the knowledge base"
    found = hasattr(value, "as_retriever") or hasattr(value, "ainvoke")
    return f"LangChainSource wraps retrievers and stores{': LangChainSource(..., name=...)' if found else ''}"


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__} and no object of it: write {value.__name__}(...)"
    return f"a value of type {type(value).__name__}"


# A run, and what takes a graph.


def check_run(config: Any, options: Mapping[str, Any]) -> None:
    """Refuse a configuration and options of a run that LangGraph would drop without a word, or break over.

    Raises:
        InputInvalid: says what to write in their place.
    """
    if config is not None and (not isinstance(config, Mapping) or "thread_id" in config):
        told = '{"configurable": {"thread_id": "visit-1"}}'
        raise InputInvalid(f"The second argument of a run is its configuration, such as {told}.")
    for name in options:
        _check_option(name)
    context = options.get("context")
    if isinstance(context, str | bytes | int | float | list | tuple | set):
        raise InputInvalid(f"The context of a run is a Context, or a mapping, and this is {_kind(context)}.")
    _check_modes(options.get("stream_mode"))


def _check_option(name: str) -> None:
    if name in Context.model_fields:
        raise InputInvalid(f"A run has no option '{name}'; pass context=Context({name}=...).")
    if name == "thread_id" or name in RunnableConfig.__annotations__:
        raise InputInvalid(f"A run has no option '{name}': it stands in its configuration, the second argument.")
    # Others are left to LangGraph, since a newer server may bring some.
    if name not in _run_options() and (meant := nearest(name, _run_options())):
        raise InputInvalid(f"A run has no option '{name}'.{meant}")


@cache
def _run_options() -> list[str]:
    """What LangGraph's runs know; everything else they take too, and drop."""
    from langgraph.pregel import Pregel

    # The last one is an earlier name, which LangGraph warns of.
    return [*inspect.signature(Pregel.astream).parameters, "checkpoint_during"]


def _check_modes(modes: Any) -> None:
    from langgraph.types import StreamMode

    known = get_args(StreamMode)
    for mode in [modes] if isinstance(modes, str) else modes or ():
        if mode not in known:
            raise InputInvalid(f"There is no stream mode {mode!r}. Known: {', '.join(known)}.")


def the_graph(given: GraphT, name: str) -> GraphT:
    """`given`, the first argument of the function `name`.

    Raises:
        InputInvalid: it is no graph.
    """
    if not hasattr(given, "resources"):
        raise InputInvalid(
            f"The first argument of {name}() is the graph that ran the turn, and this is {_kind(given)}."
        )
    return given
