"""Configurations put together step by step, for tests."""

from __future__ import annotations

import copy
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem


class GroundedConfigBuilder:
    """Builds the mapping that `load_settings` takes; every method returns the builder.

    ::

        GroundedConfigBuilder().intent(mode="extract", num_queries=2).retrieval(top_k=3).build()

    Calling a section twice adds to it.

    Raises:
        ConfigurationError: an option would stand within a value that another call has set.
    """

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}

    def intent(self, **options: Any) -> GroundedConfigBuilder:
        """Options of `intent`, for example `mode="static", text_queries=[...]`."""
        return self._section("intent", options)

    def retrieval(self, **options: Any) -> GroundedConfigBuilder:
        """Options of `retrieval`, for example `top_k=3`."""
        return self._section("retrieval", options)

    def synthesis(self, **options: Any) -> GroundedConfigBuilder:
        """Options of `synthesis`, for example `require_citations=True`."""
        return self._section("synthesis", options)

    def result_processing(self, **options: Any) -> GroundedConfigBuilder:
        """Options of `result_processing`, for example `normalize_strategy="min_max"`."""
        return self._section("result_processing", options)

    def knowledge_base(self, **options: Any) -> GroundedConfigBuilder:
        """Options of `knowledge_base`, for example `path="docs/"`."""
        return self._section("knowledge_base", options)

    def llm(self, provider: str, model: str, **options: Any) -> GroundedConfigBuilder:
        """The synthesis model, by the names that `init_chat_model` takes."""
        return self._section("llm", {"provider": provider, "model": model, **options})

    def source(self, source_type: str, name: str, **options: Any) -> GroundedConfigBuilder:
        """One more entry of `sources`."""
        _within(self._config, "sources", []).append({"type": source_type, "name": name, **options})
        return self

    def option(self, key: str, value: Any) -> GroundedConfigBuilder:
        """Any other key; dots lead into sections, as in `option("deadlines.turn", 5)`."""
        *sections, last = key.split(".")
        target = self._config
        for name in sections:
            target = _within(target, name, {})
        target[last] = value
        return self

    def build(self) -> dict[str, Any]:
        """The configuration, independent of the builder and of the values it was given."""
        return copy.deepcopy(self._config)

    def _section(self, name: str, options: dict[str, Any]) -> GroundedConfigBuilder:
        _within(self._config, name, {}).update(options)
        return self


def _within(target: dict[str, Any], name: str, empty: Any) -> Any:
    """What `target` has under `name`, which is of the kind of `empty`, and is that when there is nothing."""
    held = target.setdefault(name, empty)
    if not isinstance(held, type(empty)):
        needed = "a list" if isinstance(empty, list) else "a section with keys of its own"
        told = f"was set to a value of type {type(held).__name__}, and this call needs {needed} there: leave one out"
        raise ConfigurationError([Problem(name, told)])
    return held
