"""What is fixed when a graph is built. `load_settings` reads it from a file, the environment and Python.

Settings decide the topology; what may change from run to run is a `Context`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

Scope = Literal["focused", "broad", "exact"]
Style = Literal["conversational", "structured", "hybrid"]
Filters = dict[str, dict[str, Any]]

# Fields of `Settings` that nobody sets: `load_settings` fills them in.
INTERNAL = frozenset({"base_dir", "origin", "notices"})


class Section(BaseModel):
    """Base of every section: unknown keys are errors, values cannot be changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(BaseModel):
    """A chat or embedding model; further keys go to `init_chat_model` or `init_embeddings`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    provider: str | None = None
    model: str


class IntentSettings(Section):
    """How the intent of a turn is found (features I1, I6 to I8)."""

    mode: Literal["extract", "static", "template"] = "extract"
    num_queries: int = Field(3, ge=1, le=10)
    domain_context: str = ""
    use_conversation_context: bool = True
    max_context_turns: NonNegativeInt = 3
    text_queries: list[str] = []
    filters: Filters = {}
    scope: Scope = "focused"
    include_message_as_query: bool = True
    template: str | None = None
    default_filters: Filters = {}
    follow_ups: bool = Field(
        True, description="without a query model, ask a question that leans on the one before it together with that"
    )


class RetrievalSettings(Section):
    """How much is retrieved and how the sources' results are merged (R7, R8, R10)."""

    top_k: PositiveInt = Field(5, le=1000)
    score_threshold: float = Field(0.3, ge=0, le=1)
    merge: Literal["round_robin", "relative_score"] = "round_robin"
    deduplicate: bool = True
    scope_filters: dict[str, dict[str, str]] = Field(
        {}, description="per source and field, where the value comes from: context.NAME or user.NAME"
    )


class SynthesisSettings(Section):
    """How the answer is written (S1 to S6)."""

    mode: Literal["llm", "template"] | None = None
    style: Style | None = None
    require_citations: bool = True
    allow_parametric: bool | Literal["bridge"] = False
    citation_format: Literal["section", "source"] = "section"
    template: str | None = None
    provenance_template: str | None = None
    instruction: str | None = None


class ChunkerSettings(Section):
    """How documents are cut into chunks (K5)."""

    strategy: Literal["markdown"] = "markdown"
    max_chunk_size: int = Field(800, ge=100, le=20_000, description="characters")


class EmbeddingSettings(ModelSettings):
    """An embedding model; further keys go to `init_embeddings`."""

    languages: list[str] = Field([], description="languages it knows; a question in another is searched by words only")
    batch_size: PositiveInt = Field(64, le=2048, description="texts in one call")


class PathRule(Section):
    """Metadata for the documents whose name matches a pattern (K11)."""

    path: str = Field(description="a glob over document names: * within a folder, ** across folders")
    set: dict[str, Any]


class MetadataSettings(Section):
    """Where the fields of documents come from beside their front matter, which wins over both (K11)."""

    rules: list[PathRule] = []
    sidecar: str | None = Field(
        "metadata.yaml", description="a file in a folder of documents that maps names below it to fields"
    )


class CustomSchemaSettings(Section):
    """A kind of data of one's own: records that Python or a larger graph writes (K8)."""

    fields: dict[str, dict[str, Any]]
    content: list[str] = Field([], description="the fields that make the text, in order; all of them when empty")
    id: str | None = Field(None, description="the field that identifies a record; a hash of its content when absent")
    description: str = ""


class WebSettings(Section):
    """How web pages are fetched."""

    max_bytes: PositiveInt = 5_000_000
    timeout: PositiveFloat = Field(20, description="seconds for one page with all its redirects")
    max_redirects: NonNegativeInt = 5
    user_agent: str = "groundgraph"
    obey_robots: bool = True


class KnowledgeBaseSettings(Section):
    """The embedded knowledge base (R5). Paths start at the folder of the configuration file."""

    path: Path | None = Field(None, description="the documents that `groundgraph ingest` takes in by default")
    file: Path = Path(".groundgraph/knowledge_base.sqlite")
    chunker: ChunkerSettings = ChunkerSettings()
    embeddings: EmbeddingSettings | None = Field(None, description="those of the top level when absent")
    vector_weight: float = Field(0.5, ge=0, le=1, description="share of the vectors where words and vectors are fused")
    fields: dict[str, dict[str, Any]] = {}
    metadata: MetadataSettings = MetadataSettings()
    schemas: dict[str, CustomSchemaSettings] = {}
    web: WebSettings = WebSettings()
    concurrency: PositiveInt = Field(4, le=64, description="documents that are processed at once")
    passwords: dict[str, str] = Field({}, description="passwords of PDF files by a glob over their names")


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

    def of_kind(self, kind: str) -> KindChains:
        """The chains of `kind`; those of `documents` unless it has its own."""
        own = {"documents": self.documents, "web_pages": self.web_pages, **(self.model_extra or {})}
        found: KindChains = own.get(kind, self.documents)
        return found


class SourceEntry(BaseModel):
    """One entry of `sources:`; keys beside these belong to the source type."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    name: str = Field("knowledge_base", min_length=1, max_length=100)
    weight: PositiveInt = 1
    timeout: PositiveFloat | None = Field(None, description="seconds; deadlines.source when absent")

    @property
    def options(self) -> dict[str, Any]:
        """The keys that belong to the source type."""
        return dict(self.model_extra or {})


class SaverSettings(Section):
    """Where checkpoints, or the store's items, are kept."""

    type: Literal["memory", "sqlite"] = "sqlite"
    path: Path


class CheckpointerSettings(SaverSettings):
    """Where `open_graph` keeps checkpoints."""

    path: Path = Path(".groundgraph/threads.sqlite")


class StoreSettings(SaverSettings):
    """Where `open_graph` keeps evidence and provenance records."""

    path: Path = Path(".groundgraph/evidence.sqlite")


class DeadlineSettings(Section):
    """Limits in seconds: the whole turn, one question to one source, one call of a model."""

    turn: PositiveFloat = 60
    source: PositiveFloat = 10
    model: PositiveFloat = 30


class LimitSettings(Section):
    """Bounds of one turn (T9)."""

    message_chars: PositiveInt = 32_000
    long_message: Literal["reject", "truncate"] = "reject"
    model_calls: NonNegativeInt = 8
    tokens: PositiveInt = Field(100_000, description="prompt and completion tokens of all model calls of a turn")
    attempts: int = Field(3, ge=1, le=10, description="tries of one question to a source or a model")
    breaker_failures: PositiveInt = Field(5, description="failures in a row after which a source is left alone")
    breaker_pause: PositiveFloat = Field(30, description="seconds for which it is")


class CitationCheckSettings(Section):
    """What happens to a label that refers to no evidence: it is removed and recorded (`annotate`)."""

    labels: Literal["annotate"] = "annotate"


class FastPathSettings(Section):
    """Messages that are nothing but small talk are answered without retrieval (T6)."""

    enabled: bool = True
    languages: list[Literal["en", "ru"]] = ["en", "ru"]


class HistorySettings(Section):
    """How much of the conversation a thread keeps at hand."""

    keep_messages: PositiveInt | None = Field(None, description="older ones go to the store; all are kept when absent")


class PromptSettings(Section):
    """Where prompts and answer texts are looked for before those that groundgraph ships."""

    path: Path | None = None


class Settings(BaseSettings):
    """Everything that is fixed when a graph is built. Use `load_settings`."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, env_prefix="GROUNDGRAPH_", env_nested_delimiter="__")

    llm: ModelSettings | None = None
    query_llm: ModelSettings | None = None
    intent: IntentSettings = IntentSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    embeddings: EmbeddingSettings | None = None
    knowledge_base: KnowledgeBaseSettings | None = None
    chains: ChainSettings = ChainSettings()
    sources: list[SourceEntry] = []
    checkpointer: CheckpointerSettings = CheckpointerSettings()
    store: StoreSettings = StoreSettings()
    deadlines: DeadlineSettings = DeadlineSettings()
    limits: LimitSettings = LimitSettings()
    citation_check: CitationCheckSettings = CitationCheckSettings()
    prompts: PromptSettings = PromptSettings()
    fast_path: FastPathSettings = FastPathSettings()
    history: HistorySettings = HistorySettings()
    greeting_template: str | None = None
    store_provenance: bool = True

    base_dir: Path = Field(default_factory=Path.cwd, exclude=True)
    origin: str = Field("", exclude=True, description="the file that the settings were read from")
    notices: list[str] = Field([], exclude=True, description="what is configured and not used, one sentence each")

    @field_validator("sources")
    @classmethod
    def _names_are_unique(cls, entries: list[SourceEntry]) -> list[SourceEntry]:
        names = [entry.name for entry in entries]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"two sources are called {', '.join(repeated)}; every source needs a name of its own")
        return entries

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings'
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` merged; it reads the environment itself, to place it above the file."""
        return (init_settings,)

    @property
    def embedding_model(self) -> EmbeddingSettings | None:
        """The embedding model of the knowledge base."""
        own = self.knowledge_base.embeddings if self.knowledge_base else None
        return own or self.embeddings

    def at(self, path: Path) -> Path:
        """`path`, relative to the folder of the configuration file."""
        return path if path.is_absolute() else self.base_dir / path

    @property
    def configured_style(self) -> str:
        """The style for turns that ask for none: `style`, else the legacy `mode`, else conversational (S2)."""
        legacy = {"template": "structured", "llm": "conversational", None: "conversational"}
        return self.synthesis.style or legacy[self.synthesis.mode]
