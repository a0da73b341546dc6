"""What Python hands to a graph, looked at where it is handed over: not everybody runs a type checker, and a turn that
breaks over it would tell nobody where it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem
from groundgraph.settings.context import Context

GraphT = TypeVar("GraphT")

_MODEL = "a chat model of LangChain's, or its name such as 'openai:gpt-5-mini'"
# By argument: a method of what it takes, and what that is.
_KINDS = {
    "chat_model": ("ainvoke", _MODEL),
    "query_model": ("ainvoke", _MODEL),
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
    reranker = given.get("reranker")
    if reranker is not None and (isinstance(reranker, type) or not _judges(reranker)):
        told = "takes a function or object that gives one score per candidate, or a document compressor of LangChain's"
        problems.append(Problem("reranker", f"{told}; this is {_kind(reranker)}. A service is named in the settings"))
    problems += _source_problems(given.get("sources", ()))
    if problems:
        raise ConfigurationError(problems)


def _fits(name: str, value: Any, method: str) -> bool:
    if isinstance(value, str):
        return name in _NAMED
    # An `Embedder` has the model within.
    held = getattr(value, "model", None)
    return not isinstance(value, type) and (hasattr(value, method) or (name == "embeddings" and hasattr(held, method)))


def _judges(reranker: Any) -> bool:
    return callable(reranker) or hasattr(reranker, "compress_documents")


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
    return problems


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
        if name in Context.model_fields:
            raise InputInvalid(f"A run has no option '{name}'; pass context=Context({name}=...).")
    context = options.get("context")
    if isinstance(context, str | bytes | int | float | list | tuple | set):
        raise InputInvalid(f"The context of a run is a Context, or a mapping, and this is {_kind(context)}.")
    _check_modes(options.get("stream_mode"))


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
