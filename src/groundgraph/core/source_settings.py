"""`sources`: what is searched."""

from typing import Any, Self

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt

from groundgraph.core.cascade_settings import without_embeddings
from groundgraph.core.section import Shown
from groundgraph.core.topic_settings import OptionalTopicIndex


class SourceEntry(Shown):
    """One entry of `sources:`; keys beside these belong to the source type."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    name: str = Field("knowledge_base", min_length=1, max_length=100)
    weight: PositiveInt = 1
    timeout: PositiveFloat | None = Field(None, description="seconds; deadlines.source when absent")
    topic_index: OptionalTopicIndex = Field(None, description="search by topics in place of text queries")

    @property
    def options(self) -> dict[str, Any]:
        """The keys that belong to the source type."""
        return dict(self.model_extra or {})

    def without_models(self) -> Self:
        """The entry without what needs a chat or an embedding model."""
        cascade = without_embeddings(self.options.get("stages")) if self.type == "cascade" else {}
        return self.model_copy(update={"topic_index": None, **cascade})
