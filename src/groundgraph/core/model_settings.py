"""Which chat and embedding models there are."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from groundgraph.core.secret_values import MASK, is_secret_key


class ModelSettings(BaseModel):
    """A chat or embedding model; further keys go to `init_chat_model` or `init_embeddings`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    provider: str | None = None
    model: str

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        # The key of a provider is one of the further keys, and a repr ends in logs.
        for name, value in super().__repr_args__():
            yield name, MASK if name and is_secret_key(name) else value


class EmbeddingSettings(ModelSettings):
    """An embedding model; further keys go to `init_embeddings`."""

    languages: list[str] = Field([], description="languages it knows; a question in another is searched by words only")
    batch_size: PositiveInt = Field(64, le=2048, description="texts in one call")

    @property
    def provider_name(self) -> str:
        """The provider, also when it stands before the model's name; empty when nobody names one."""
        return self.provider or (self.model.partition(":")[0] if ":" in self.model else "")

    @property
    def full_name(self) -> str:
        """`provider:model`, the name that a knowledge base remembers."""
        return f"{self.provider}:{self.model}" if self.provider else self.model
