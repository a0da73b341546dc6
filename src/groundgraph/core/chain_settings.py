"""`chains`: the chains by kind of data, and those of a query."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from groundgraph.core.section import Section

# A chain by its name, or a mapping with `name` and the options of that chain.
ChainChoice = str | dict[str, Any]


class KindChains(Section):
    """The ingest chains of one kind of data (K5, K7)."""

    chunker: ChainChoice = "document"
    matching_text: ChainChoice = "content"
    qualifying_text: ChainChoice = "document"


class QueryChainSettings(Section):
    """The query chains, which the whole base shares (K6, K7)."""

    transformer: ChainChoice = "identity"
    reranker: ChainChoice = "identity"
    filter: ChainChoice = "basic"
    candidates_count: PositiveInt = Field(30, le=1000)
    keep: PositiveInt | None = Field(None, description="an upper bound for top_k")
    match_cutoff: float = Field(0.5, ge=0, le=1)
    rerank_cutoff: float = Field(0.5, ge=0, le=1)


class ChainSettings(BaseModel):
    """The chains by kind of data; keys beside these are custom schemas."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, KindChains]

    documents: KindChains = KindChains()
    web_pages: KindChains = KindChains()
    query: QueryChainSettings = QueryChainSettings()

    @property
    def own_prompts(self) -> frozenset[str]:
        """The prompts that options of the chains name; those that are not shipped are files of the user's."""
        sections = (self.documents, self.web_pages, self.query, *(self.model_extra or {}).values())
        choices = [choice for section in sections for _, choice in section if isinstance(choice, dict)]
        return frozenset(str(choice["prompt"]) for choice in choices if choice.get("prompt"))

    def of_kind(self, kind: str) -> KindChains:
        """The chains of `kind`; those of `documents` unless it has its own."""
        own = {"documents": self.documents, "web_pages": self.web_pages, **(self.model_extra or {})}
        found: KindChains = own.get(kind, self.documents)
        return found
