"""A source from its entry in a configuration, whatever a third party registered for its type."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.sources.contract import GroundedSource, SourceFactory, SourceOptions


def make_source(factory: SourceFactory | Callable[..., GroundedSource], entry: SourceOptions) -> GroundedSource:
    """What `factory` makes of `entry`: a function is given the entry, a class of a source its name and options.

    Raises:
        ConfigurationError: an option is unknown or has a bad value, or what was made is no source.
    """
    given: dict[str, Any] = {"name": entry.name, **entry.options}
    if isinstance(factory, type) and issubclass(factory, GroundedSource) and _takes_keywords(factory):
        try:
            inspect.signature(factory).bind(**given)
        except TypeError as error:
            raise ConfigurationError([Problem(entry.key, f"{factory.__name__}: {error}")]) from error
        made: Any = factory(**given)
    else:
        made = factory(entry)
    if not isinstance(made, GroundedSource):
        raise ConfigurationError([Problem(entry.key, f"what was registered for this type made no source but {made!r}")])
    return made


def _takes_keywords(source_class: type[GroundedSource]) -> bool:
    """Whether the class names its source by an argument `name`; one that does not takes the whole entry."""
    parameters = inspect.signature(source_class).parameters.values()
    return any(parameter.name == "name" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
