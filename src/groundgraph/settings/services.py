"""What a configuration runs on: models, checkpointer and store, tracing, the server, and the bounds of a turn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, StringConstraints, model_validator

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.settings.section import Section, Shown

# `checkpointer` and `store`: where threads and evidence are kept.


class SaverSettings(Section):
    """Where checkpoints, or the store's items, are kept: in memory, in a SQLite file at `path`, or with `postgres` at
    `url` (`postgresql://user@host/database`), over at most `pool_size` connections."""

    type: Literal["memory", "sqlite", "postgres"] = Field(
        "sqlite",
        description="`memory` is gone with the process; `postgres` is for several machines",
    )
    path: Path = Field(description="the file of SQLite")
    url: str = Field("", description="the server of PostgreSQL")
    pool_size: Annotated[int, Field(ge=2)] = Field(10, description="the most connections to PostgreSQL at once")

    @model_validator(mode="after")
    def _url_belongs_to_postgres(self) -> Self:
        if self.type == "postgres" and not self.url.startswith(("postgresql://", "postgres://")):
            raise ValueError("type 'postgres' needs `url`: postgresql://user@host/database")
        if self.type != "postgres" and self.url:
            raise ValueError(f"`url` belongs to type 'postgres', but the type is '{self.type}'")
        return self


class CheckpointerSettings(SaverSettings):
    """Where `open_graph` keeps checkpoints."""

    path: Path = Field(Path(".groundgraph/threads.sqlite"), description="the file of SQLite")


class StoreSettings(SaverSettings):
    """Where `open_graph` keeps evidence and provenance records."""

    path: Path = Field(Path(".groundgraph/evidence.sqlite"), description="the file of SQLite")


# The section `tracing`: spans of OpenTelemetry.


class TracingSettings(Section):
    """Spans for a turn and its parts. They go to the application's own tracer provider; none is set up here."""

    enabled: bool = Field(False, description="Open OpenTelemetry spans with OpenInference kinds.")
    content: bool = Field(
        False, description="Put questions, texts, prompts and error messages into the spans, beside ids and numbers."
    )

    def require_packages(self) -> None:
        """Nothing, when tracing is off or can work.

        Raises:
            ConfigurationError: it is on, and a package is missing.
        """
        if self.enabled and not (_installed("opentelemetry.trace") and _installed("openinference.semconv")):
            raise ConfigurationError([Problem("tracing.enabled", 'needs: pip install "groundgraph[otel]"')])


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package above it is missing.
        return False


# What holds for the LangGraph Server alone.


class ServerSettings(Section):
    """What clients of a server may do beside what a turn allows."""

    metadata_keys: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]] = Field(
        [], description="names beside LangGraph's own by which threads and their history may be looked for"
    )
    page_rate: PositiveInt = Field(60, description="how many questions and changes a minute from each user of `/page`")
    page_uploads: Path | None = Field(
        None, description="the folder, below that of the documents, into which readers may drop documents on `/page`"
    )


# `deadlines` and `limits`: the bounds of one turn.


class DeadlineSettings(Section):
    """Limits in seconds: the whole turn, one question to one source, one call of a model."""

    turn: PositiveFloat = Field(60, description="seconds for the whole turn")
    source: PositiveFloat = Field(10, description="seconds for one question to one source")
    model: PositiveFloat = Field(30, description="seconds for one call of a model")


class LimitSettings(Section):
    """Bounds of one turn."""

    message_chars: PositiveInt = Field(32_000, description="the longest message, in characters")
    long_message: Literal["reject", "truncate"] = Field(
        "reject",
        description="what becomes of a longer one: refused, or cut",
    )
    model_calls: NonNegativeInt = Field(
        8,
        description="calls of models in one turn; when they are spent the turn goes on without a model",
    )
    tokens: PositiveInt = Field(100_000, description="prompt and completion tokens of all model calls of a turn")
    attempts: int = Field(3, ge=1, le=10, description="tries of one question to a source or a model")
    breaker_failures: PositiveInt = Field(5, description="failures in a row after which a source is left alone")
    breaker_pause: PositiveFloat = Field(30, description="seconds for which it is")


class ModelSettings(Shown):
    """A chat or embedding model; further keys go to `init_chat_model` or `init_embeddings`.

    `cache` of a chat model is LangChain's: true for the one of `set_llm_cache`, `memory` for one of this process.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    provider: str | None = Field(
        None,
        description="as `init_chat_model` and `init_embeddings` name it; may stand before the model's name instead",
    )
    model: str = Field(description="its name at the provider")

    @model_validator(mode="after")
    def _address_is_one(self) -> Self:
        if (self.model_extra or {}).get("base_url") == "":
            raise ValueError("`base_url` is empty; name an address, or leave it out for the provider's own")
        return self

    @property
    def given(self) -> dict[str, Any]:
        """What was set, secrets among it; `model_dump` shows none."""
        return {"provider": self.provider, "model": self.model, **(self.model_extra or {})}


# The provider of models that run in this process without torch.
FASTEMBED = "fastembed"


class EmbeddingSettings(ModelSettings):
    """An embedding model; further keys go to `init_embeddings`."""

    languages: list[str] = Field([], description="languages it knows; a question in another is searched by words only")
    batch_size: PositiveInt = Field(64, le=2048, description="texts in one call")
    folder: Path | None = Field(None, description="fastembed: where the model lies; nothing is downloaded then")

    @model_validator(mode="after")
    def _folder_belongs_to_fastembed(self) -> Self:
        if self.folder is not None and self.provider_name != FASTEMBED:
            raise ValueError(f"`folder` belongs to the provider '{FASTEMBED}'")
        return self

    @property
    def provider_name(self) -> str:
        """The provider, also when it stands before the model's name; empty when nobody names one."""
        return self.provider or (self.model.partition(":")[0] if ":" in self.model else "")

    @property
    def full_name(self) -> str:
        """`provider:model`, the name that a knowledge base remembers."""
        return f"{self.provider}:{self.model}" if self.provider else self.model
