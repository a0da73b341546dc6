"""Every public function of a package that reads a text, found by importing it: nobody lists them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from datetime import date
from types import ModuleType
from typing import Any

from groundgraph.core.evidence import SourceResult


def _result(text: str) -> SourceResult:
    return SourceResult(content=text, source_id="a", source_name="docs", source_type="in_memory")


# What a parameter of a type is given beside the text that is read.
_GIVEN: dict[str, Callable[[str], Any]] = {
    "str": lambda text: text,
    "str | None": lambda text: text,
    "Sequence[str]": lambda text: [text],
    "Iterable[str]": lambda text: [text],
    "Collection[str]": lambda text: [text],
    "list[str]": lambda text: [text],
    "tuple[str, ...]": lambda text: (text,),
    "Sequence[SourceResult]": lambda text: [_result(text)],
    "Mapping[int, SourceResult]": lambda text: {1: _result(text)},
    "SourceResult": _result,
    "bytes": lambda text: text.encode(),
    "date": lambda _: date(2026, 1, 31),
    "int": lambda _: 3,
    "Callable[[str], bool]": lambda text: lambda part: len(part) < len(text) // 2,
}
# What a text is not called: these say where something is or what it is called, and somebody configured them.
_NAMES = frozenset(
    [
        "key",
        "kind",
        "language",
        "media_type",
        "module",
        "name",
        "part",
        "path",
        "signature",
        "source",
        "step",
        "thread_id",
        "url",
        "where",
    ]
)


def text_functions(module: ModuleType) -> dict[str, Callable[[str], object]]:
    """The public functions of `module` that read a text, by name, each as a call with that text alone.

    A function is one of them when its signature says so: it is no coroutine and gives something back, every parameter
    without a default is of a type that a text can be put in (or a number), and one of them is a text that is no name.
    Whatever reaches a file, a network or a database takes a path, a connection or a name, and is left out by that.
    """
    found = {}
    for name, function in list(vars(module).items()):
        inner = inspect.unwrap(function) if callable(function) else function
        if name.startswith("_") or not inspect.isfunction(inner) or inner.__module__ != module.__name__:
            continue
        call = _as_call(function, inner)
        if call is not None:
            found[f"{module.__name__}.{name}"] = call
    return found


def _as_call(function: Callable[..., Any], inner: Callable[..., Any]) -> Callable[[str], object] | None:
    if inspect.iscoroutinefunction(inner) or (inspect.isgeneratorfunction(inner) and function is not inner):
        return None
    signature = inspect.signature(inner)
    required = [
        one
        for one in signature.parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    texts = [one for one in required if one.annotation in ("str", "bytes") and one.name not in _NAMES]
    if not texts or str(signature.return_annotation) == "None" or any(one.annotation not in _GIVEN for one in required):
        return None

    def call(text: str) -> object:
        given = {one.name: _GIVEN[str(one.annotation)](text if one.name not in _NAMES else "a") for one in required}
        positional = [given.pop(one.name) for one in required if one.kind is not one.KEYWORD_ONLY]
        try:
            result = function(*positional, **given)
            return list(result) if isinstance(result, Iterator) else result
        except (ValueError, TypeError, LookupError, RecursionError):
            return None
        except Exception as error:
            if type(error).__module__.startswith("groundgraph"):
                return None
            raise

    return call


def text_caches(modules: list[ModuleType]) -> list[Callable[[], None]]:
    """What empties the caches that are keyed by texts: those of a limited size."""
    found: list[functools._lru_cache_wrapper[Any]] = [
        value
        for module in modules
        for value in list(vars(module).values())
        if isinstance(value, functools._lru_cache_wrapper) and value.cache_parameters()["maxsize"] is not None
    ]
    return [one.cache_clear for one in dict.fromkeys(found)]
