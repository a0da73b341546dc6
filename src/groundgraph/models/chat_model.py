"""The chat models that the settings name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from langchain_core.caches import InMemoryCache
from pydantic import ValidationError

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.secret_mask import mask
from groundgraph.models.replies import provider_of
from groundgraph.settings.load_settings import variable_of
from groundgraph.settings.services import ModelSettings
from groundgraph.settings.settings import Settings
from groundgraph.text.words import read_data

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# Replies that `cache: memory` keeps.
_CACHED = 1000

# The extra of each provider that has one.
EXTRAS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google_genai": "google",
    "mistralai": "mistral",
    "ollama": "ollama",
    "fastembed": "local",
}

# Where these packages get no key, they say so at the first call only, and as if nobody could be reached; the field that
# holds it is called as the variable is.
_LATE_KEYS = {"anthropic": "anthropic_api_key", "mistralai": "mistral_api_key"}

# A chat model that does not think at length before it writes three short lines.


def without_thinking(model: BaseChatModel | None) -> BaseChatModel | None:
    """`model` once more with its thinking switched off; None when its provider has no switch or it is off already."""
    switches = thinking_switches().get(provider_of(model), {})
    if model is None or not switches or not set(switches) <= set(type(model).model_fields):
        return None
    if all(getattr(model, name) == value for name, value in switches.items()):
        return None
    return model.model_copy(update=switches)


@cache
def thinking_switches() -> dict[str, dict[str, Any]]:
    """The switches by provider, from `thinking_switches.yaml`."""
    text = (files("groundgraph.models") / "thinking_switches.yaml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = read_data(text)
    return found


@dataclass(frozen=True)
class ModelProblem:
    """Why a model cannot be built.

    Attributes:
        message: what is wrong and what to do, without secrets.
        of_this_machine: a package or a key is missing here; the configuration itself may be right.
    """

    message: str
    of_this_machine: bool


def named_model(given: BaseChatModel | str | None, key: str) -> BaseChatModel | None:
    """A model that Python passes in as `key`, itself or by its name, "provider:model".

    Raises:
        ConfigurationError: there is none of that name, or it cannot be built.
    """
    return configured_model(ModelSettings(model=given), key) if isinstance(given, str) else given


def configured_model(settings: ModelSettings | None, key: str) -> BaseChatModel | None:
    """The model of the section `key` through `init_chat_model`, with the SDK's own retries off: one layer retries.

    Raises:
        ConfigurationError: it cannot be built; the message names the missing package or variable.
    """
    if settings is None:
        return None
    try:
        return _built(settings)
    except Exception as error:  # a missing package or key is reported by errors of the SDKs' own
        # Without the cause, which may quote a key.
        raise ConfigurationError([Problem(key, explained(error, settings, key).message)]) from None


def model_problem(settings: ModelSettings | None, key: str) -> ModelProblem | None:
    """Why the model of the section `key` cannot be built, None when it can; no service is asked."""
    if settings is None:
        return None
    try:
        _built(settings)
    except Exception as error:
        return explained(error, settings, key)
    return None


def _built(settings: ModelSettings) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    if settings.model.endswith(":"):
        raise ValueError("names no model; write it behind the provider, as in openai:gpt-5-mini")
    options: dict[str, Any] = {"max_retries": 0, **(settings.model_extra or {})}
    if options.get("cache") == "memory":
        options["cache"] = InMemoryCache(maxsize=_CACHED)
    with warnings.catch_warnings():
        # Where a provider's own package is missing, LangChain looks into this one, which warns of its end.
        warnings.filterwarnings("ignore", message=".*langchain-community.*", category=DeprecationWarning)
        model: BaseChatModel = init_chat_model(settings.model, model_provider=settings.provider, **options)
    if problem := _lacking(model, options):
        raise ValueError(problem)
    return model


def _lacking(model: BaseChatModel, options: Mapping[str, Any]) -> str:
    """The key that `model` lacks and would tell too late; empty for none."""
    field = _LATE_KEYS.get(provider_of(model), "")
    key = getattr(model, field, None) if field else None
    # A gateway may know its callers otherwise.
    if not field or (key and key.get_secret_value()) or {"base_url", "default_headers"} & set(options):
        return ""
    return f"The API key is missing: set the variable {field.upper()}."


def explained(error: Exception, settings: ModelSettings, key: str) -> ModelProblem:
    """What an error of an SDK means for the section `key`, without secrets."""
    if isinstance(error, ImportError | AttributeError):
        return ModelProblem(_package(error, settings), of_this_machine=True)
    text = str(error)
    if isinstance(error, ValidationError):
        # Its text quotes the values.
        text = "; ".join(
            ": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"]))) for one in error.errors()
        )
    text = mask(text).removeprefix("Value error, ")
    if re.search(r"api[ _]?key|credential", text, re.IGNORECASE):
        path = (*key.split("."), "api_key")
        # What Python passes in is no section, and no variable sets it.
        own = f" The variable {variable_of(path)} does as well." if path[0] in Settings.model_fields else ""
        return ModelProblem(f"{_first_line(text)}{own}", of_this_machine=True)
    if "infer model provider" in text:
        named = settings.model.partition(":")
        told = f"there is no model provider '{named[0]}'" if named[1] else f"'{settings.model}' names no provider"
        return ModelProblem(f"{told}; write provider and model, as in openai:gpt-5-mini.", of_this_machine=False)
    if "upported" in text and settings.provider:
        known = re.findall(r"[a-z_]+", text.rpartition(":")[2])
        return ModelProblem(
            f"there is no model provider '{settings.provider}'.{nearest(settings.provider, known)}",
            of_this_machine=False,
        )
    return ModelProblem(_first_line(text), of_this_machine=False)


def _package(error: Exception, settings: ModelSettings) -> str:
    provider = settings.provider or settings.model.partition(":")[0]
    if provider in EXTRAS:
        return f"models of '{provider}' need: pip install \"groundgraph[{EXTRAS[provider]}]\""
    named = re.search(r"langchain-[a-z0-9-]+", str(error))
    package = named.group() if named else f"langchain-{provider.replace('_', '-')}"
    return f"models of '{provider}' need the package {package}: pip install {package}"


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0].strip()
    return line if line.endswith((".", "!")) else f"{line}."
