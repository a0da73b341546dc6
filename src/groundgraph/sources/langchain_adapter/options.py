"""The source type `langchain` of a configuration."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.core.secret_mask import know_secrets, mask
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.langchain_adapter.source import LangChainSource
from groundgraph.sources.sql.declared_fields import declared_fields

_TEXTS = ("class", "description", "id_field", "scores", "score_field")
_MAPPINGS = ("options", "schema", "rename")
_SCORES = ("store", "similarity", "distance", "none")
# What LangChain's classes call their embedding model.
_EMBEDDINGS = ("embedding", "embeddings", "embedding_function")


def langchain_from_options(entry: SourceOptions) -> LangChainSource:
    """`type: langchain` with `class: package.module:ClassName` and the `options` that it is made with.

    `class` may also name a class method, such as `langchain_community.retrievers:TFIDFRetriever.from_texts`. An
    embedding model that it asks for is that of the configuration. The class is loaded here; the object is made with
    the first question.

    Raises:
        ConfigurationError: an option is unknown or has a bad value, the class cannot be loaded, or it does not take
            the `options`.
    """
    problems = _problems(entry)
    if problems:
        raise ConfigurationError(problems)
    given = entry.options
    maker = _loaded(str(given["class"]), f"{entry.key}.class")
    options = _with_embeddings(maker, dict(given.get("options") or {}), entry)
    return LangChainSource(
        partial(_make, maker, options, f"{entry.key}.options"),
        name=entry.name,
        schema=_schema(entry),
        id_field=given.get("id_field"),
        rename=given.get("rename"),
        scores=given.get("scores") or "store",
        score_field=given.get("score_field"),
    )


def _problems(entry: SourceOptions) -> list[Problem]:
    known = (*_TEXTS, *_MAPPINGS)
    problems = []
    for option, value in entry.options.items():
        key = f"{entry.key}.{option}"
        if option not in known:
            hint = nearest(str(option), list(known))
            problems.append(Problem(key, f"a LangChain source has no such option.{hint} Known: {', '.join(known)}."))
        elif value is not None and not isinstance(value, str if option in _TEXTS else Mapping):
            problems.append(Problem(key, "must be a text" if option in _TEXTS else "must be a mapping"))
    scores = entry.options.get("scores")
    if isinstance(scores, str) and scores not in _SCORES:
        hint = nearest(scores, list(_SCORES))
        problems.append(Problem(f"{entry.key}.scores", f"'{scores}' is unknown.{hint} Known: {', '.join(_SCORES)}."))
    if not entry.options.get("class"):
        problems.append(Problem(f"{entry.key}.class", "is missing: what to ask, as package.module:ClassName"))
    return problems


def _schema(entry: SourceOptions) -> SourceSchema | None:
    schema = entry.options.get("schema")
    if schema is None:
        return None
    fields, required = declared_fields(schema, entry.key)
    return SourceSchema(entry.name, fields, required, str(entry.options.get("description") or ""))


def _loaded(named: str, key: str) -> Callable[..., Any]:
    """The class or class method called `named`."""
    module_name, _, path = named.partition(":")
    if not module_name or not path:
        raise ConfigurationError([Problem(key, f"'{named}' must have the form package.module:ClassName")])
    try:
        with warnings.catch_warnings():
            # It warns of its own end; what else it offers goes on working.
            warnings.filterwarnings("ignore", message=".*langchain-community.*", category=DeprecationWarning)
            found: Any = attrgetter(path)(import_module(module_name))
    except ImportError as error:
        package = module_name.partition(".")[0].replace("_", "-")
        message = f"'{named}' cannot be loaded ({error}): pip install {package}, or what it names"
        raise ConfigurationError([Problem(key, message)]) from error
    except AttributeError as error:
        raise ConfigurationError([Problem(key, f"'{named}' cannot be loaded ({error})")]) from error
    if not callable(found) or not _makes_a_source(found):
        raise ConfigurationError([Problem(key, f"'{named}' is no BaseRetriever or VectorStore, nor a way to make one")])
    return found  # type: ignore[no-any-return]


def _makes_a_source(maker: Any) -> bool:
    """Whether `maker` is such a class or a method of one; what another function makes shows when it is called."""
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore

    owner = maker if isinstance(maker, type) else getattr(maker, "__self__", None)
    return not isinstance(owner, type) or issubclass(owner, BaseRetriever | VectorStore)


def _with_embeddings(maker: Callable[..., Any], options: dict[str, Any], entry: SourceOptions) -> dict[str, Any]:
    """`options` with the embedding model, once they fit what `maker` takes."""
    signature = inspect.signature(maker)
    for name in _EMBEDDINGS:
        parameter = signature.parameters.get(name)
        if parameter is None or name in options:
            continue
        if entry.embedder is not None:
            options[name] = entry.embedder.model
        elif parameter.default is inspect.Parameter.empty:
            message = "needs an embedding model: name one under `embeddings`"
            raise ConfigurationError([Problem(f"{entry.key}.class", message)])
    try:
        signature.bind(**options)
    except TypeError as error:
        takes = ", ".join(name for name in signature.parameters if name not in _EMBEDDINGS)
        raise ConfigurationError([Problem(f"{entry.key}.options", f"{error}; it takes {takes}")]) from error
    return options


def _make(maker: Callable[..., Any], options: dict[str, Any], key: str) -> Any:
    """What `maker` makes of `options`; its errors become ours, without secrets."""
    from pydantic import ValidationError

    know_secrets(options)
    try:
        return maker(**options)
    except ValidationError as error:
        # Its own text quotes the values.
        text = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    except Exception as error:
        text = mask(f"{type(error).__name__}: {error}")
    raise ConfigurationError([Problem(key, f"{getattr(maker, '__qualname__', maker)} does not take them ({text})")])
