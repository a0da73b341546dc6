"""A chat model that does not think at length before it writes three short lines (I9)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from groundgraph.core.data_file import read_data

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def without_thinking(model: BaseChatModel | None) -> BaseChatModel | None:
    """`model` once more with its thinking switched off; None when its provider has no switch or it is off already."""
    provider = type(model).__module__.partition(".")[0].removeprefix("langchain_")
    switches = thinking_switches().get(provider, {})
    if model is None or not switches or not set(switches) <= set(type(model).model_fields):
        return None
    if all(getattr(model, name) == value for name, value in switches.items()):
        return None
    return model.model_copy(update=switches)


@cache
def thinking_switches() -> dict[str, dict[str, Any]]:
    """The switches by provider, from `thinking_switches.yaml`."""
    text = (files("groundgraph.core") / "thinking_switches.yaml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = read_data(text)
    return found
