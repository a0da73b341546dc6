"""Which chat and embedding models there are."""

from typing import Any

from pydantic import ConfigDict, Field, PositiveInt

from groundgraph.core.section import Shown


class ModelSettings(Shown):
    """A chat or embedding model; further keys go to `init_chat_model` or `init_embeddings`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    provider: str | None = None
    model: str

    @property
    def given(self) -> dict[str, Any]:
        """What was set, secrets among it; `model_dump` shows none."""
        return {"provider": self.provider, "model": self.model, **(self.model_extra or {})}


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
