"""What is fixed when a graph is built. `load_settings` reads it from a file, the environment and Python.

Settings decide the topology; what may change from run to run is a `Context`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)

from groundgraph.core.cascade_settings import RetrieverSettings, without_embeddings
from groundgraph.core.enhanced_settings import (
    MODEL_STAGES,
    CategoryRouterSettings,
    EnhancedRetrievalSettings,
    Stage,
    enhanced_processing,
)
from groundgraph.core.extraction_annotation import ExtractionAnnotation
from groundgraph.core.result_settings import RerankerSettings, ResultProcessingSettings
from groundgraph.core.review_settings import HumanReviewSettings
from groundgraph.core.server_settings import ServerSettings
from groundgraph.core.topic_settings import TopicIndexSettings
from groundgraph.core.tracing_settings import TracingSettings
from groundgraph.core.turn_values import RetrievalPath

Scope = Literal["focused", "broad", "exact"]
Style = Literal["conversational", "structured", "hybrid"]
Filters = dict[str, dict[str, Any]]

# Fields of `Settings` that nobody sets: `load_settings` fills them in.
INTERNAL = frozenset({"base_dir", "origin"})


class Section(BaseModel):
    """Base of every section: unknown keys are errors, values cannot be changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(BaseModel):
    """A chat or embedding model; further keys go to `init_chat_model` or `init_embeddings`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    provider: str | None = None
    model: str


class IntentSettings(Section):
    """How the intent of a turn is found (features I1 to I8)."""

    mode: Literal["extract", "static", "template"] = "extract"
    num_queries: int = Field(3, ge=1, le=10)
    domain_context: str = ""
    use_conversation_context: bool = True
    max_context_turns: NonNegativeInt = 3
    extraction_config: ModelSettings | None = Field(
        None, description="a model that fills in queries, scope, style and filters by a schema"
    )
    output_style_hint: str | None = Field(None, description="what that model is told about the style of an answer")
    x_extraction: dict[Literal["scope", "output_style"], ExtractionAnnotation] = Field(
        {}, description="how much of the user's own words a choice of that model needs"
    )
    expand_ambiguous_queries: bool = Field(False, description="put keywords of the conversation before a vague message")
    include_assistant_context: bool = Field(False, description="look for them in the assistant's messages too")
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
    merge: Literal["round_robin", "relative_score", "in_order"] = "round_robin"
    merge_adjacent: bool = Field(
        True, description="join neighbouring chunks under one heading, where the source can tell what is between them"
    )
    deduplicate: bool = True
    answerable_threshold: float | None = Field(
        0.05,
        ge=0,
        le=1,
        description="a turn whose evidence from knowledge bases answers the question with less than this probability "
        "(`support.answerable`) is `insufficient`, and no model writes; null never decides",
    )
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
    evidence_per_source: bool = Field(
        False, description="show a model the evidence of each source as a message of its own"
    )


class ChunkerSettings(Section):
    """How documents are cut into chunks (K5)."""

    strategy: Literal["markdown"] = "markdown"
    max_chunk_size: int = Field(800, ge=100, le=20_000, description="characters")


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
    allow_private: bool = Field(
        False,
        description="fetch from this machine and from private networks too; "
        "link-local and metadata addresses stay refused",
    )


class WeaviateSettings(Section):
    """The server that holds the knowledge base with `backend: weaviate`."""

    url: str = "http://127.0.0.1:8080"
    grpc_host: str = Field("", description="where gRPC is when it is not on the host of `url`")
    grpc_port: int = Field(50051, ge=1, le=65_535)
    api_key: SecretStr | None = Field(None, description="from the environment only")
    headers: dict[str, str] = Field({}, description="sent with every request")
    prefix: str = Field("Groundgraph", description="what the names of the collections begin with")
    consistency: Literal["one", "quorum", "all"] | None = Field(None, description="how many replicas must agree")
    replicas: PositiveInt = Field(1, description="on how many nodes each object is kept, when the base is made")
    tenant_from: str = Field(
        "", description="a text field: records that have it are kept apart by its value, in a tenant of Weaviate"
    )
    request_timeout: PositiveFloat = Field(30, description="seconds for one request")


class KnowledgeBaseSettings(Section):
    """The knowledge base (R5), embedded or in Weaviate. Paths start at the folder of the configuration file."""

    path: Path | None = Field(None, description="the documents that `groundgraph ingest` takes in by default")
    backend: Literal["embedded", "weaviate"] = Field("embedded", description="one file, or a server for many machines")
    file: Path = Field(Path(".groundgraph/knowledge_base.sqlite"), description="that of the embedded base")
    weaviate: WeaviateSettings = WeaviateSettings()
    chunker: ChunkerSettings = ChunkerSettings()
    embeddings: EmbeddingSettings | None = Field(None, description="those of the top level when absent")
    vector_weight: float = Field(0.5, ge=0, le=1, description="share of the vectors where words and vectors are fused")
    fields: dict[str, dict[str, Any]] = {}
    metadata: MetadataSettings = MetadataSettings()
    schemas: dict[str, CustomSchemaSettings] = {}
    web: WebSettings = WebSettings()
    concurrency: PositiveInt = Field(4, le=64, description="documents that are processed at once")
    passwords: dict[str, str] = Field({}, description="passwords of PDF files by a glob over their names")
    topic_index: TopicIndexSettings | None = Field(
        None, description="search by topics; for knowledge bases among the sources that have no own"
    )

    @field_validator("topic_index", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        return None if value == {} else value


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


class SourceEntry(BaseModel):
    """One entry of `sources:`; keys beside these belong to the source type."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    name: str = Field("knowledge_base", min_length=1, max_length=100)
    weight: PositiveInt = 1
    timeout: PositiveFloat | None = Field(None, description="seconds; deadlines.source when absent")
    topic_index: TopicIndexSettings | None = Field(None, description="search by topics in place of text queries")

    @field_validator("topic_index", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        return None if value == {} else value

    @property
    def options(self) -> dict[str, Any]:
        """The keys that belong to the source type."""
        return dict(self.model_extra or {})

    def without_models(self) -> SourceEntry:
        """The entry without what needs a chat or an embedding model."""
        cascade = without_embeddings(self.options.get("stages")) if self.type == "cascade" else {}
        return self.model_copy(update={"topic_index": None, **cascade})


class SaverSettings(Section):
    """Where checkpoints, or the store's items, are kept: in memory, in a SQLite file at `path`, or with `postgres` at
    `url` (`postgresql://user@host/database`), over at most `pool_size` connections."""

    type: Literal["memory", "sqlite", "postgres"] = "sqlite"
    path: Path
    url: str = ""
    pool_size: Annotated[int, Field(ge=2)] = 10

    @model_validator(mode="after")
    def _url_belongs_to_postgres(self) -> Self:
        if self.type == "postgres" and not self.url.startswith(("postgresql://", "postgres://")):
            raise ValueError("type 'postgres' needs `url`: postgresql://user@host/database")
        if self.type != "postgres" and self.url:
            raise ValueError(f"`url` belongs to type 'postgres', but the type is '{self.type}'")
        return self


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


# What is done about a finding: nothing, a flag, one more call of the model, or no answer at all.
Policy = Literal["off", "annotate", "repair", "refuse"]


class CitationCheckSettings(Section):
    """What happens when the answer of a model does not agree with its evidence.

    Labels that refer to no evidence are taken out whatever the policy says, and so are links and images that lead
    elsewhere. With `repair` or `refuse` anywhere the answer is held until it is checked.
    """

    labels: Policy = Field("annotate", description="labels that refer to no evidence")
    quotes: Policy = Field("annotate", description="quotations that do not stand in what they cite")
    numbers: Policy = Field("annotate", description="numbers, dates, units and codes that do not")
    names: Policy = Field("annotate", description="names that stand neither in the evidence nor in the question")
    uncited: Policy = Field("annotate", description="sentences that should cite something and do not")
    support: Policy = Field("annotate", description="sentences that share too few words with what they cite")
    links: Policy = Field("annotate", description="links and images that do not lead to the evidence")

    @field_validator("*", mode="before")
    @classmethod
    def _no_is_off(cls, value: Any) -> Any:
        return "off" if value in (None, False) else value

    @property
    def holds(self) -> bool:
        """Whether the answer is held until it is checked, since what was streamed cannot be taken back."""
        return any(policy in ("repair", "refuse") for policy in self.model_dump().values())


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


# The hint and the annotations are the extraction model's.
_WITHOUT_EXTRACTION: dict[str, Any] = {"extraction_config": None, "output_style_hint": None, "x_extraction": {}}


class Settings(BaseModel):
    """Everything that is fixed when a graph is built. Use `load_settings`."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    llm: ModelSettings | None = None
    query_llm: ModelSettings | None = None
    intent: IntentSettings = IntentSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    result_processing: ResultProcessingSettings = ResultProcessingSettings()
    reranker: RerankerSettings = RerankerSettings()
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
    human_review: HumanReviewSettings = HumanReviewSettings()
    prompts: PromptSettings = PromptSettings()
    fast_path: FastPathSettings = FastPathSettings()
    history: HistorySettings = HistorySettings()
    retriever: RetrieverSettings = RetrieverSettings()
    category_router: CategoryRouterSettings = CategoryRouterSettings()
    enhanced_autonomous_retrieval: bool = Field(False, description="whether the stages of enhanced_retrieval run")
    enhanced_retrieval: EnhancedRetrievalSettings = EnhancedRetrievalSettings()
    server: ServerSettings = ServerSettings()
    tracing: TracingSettings = TracingSettings()
    greeting_template: str | None = None
    store_provenance: bool = True

    base_dir: Path = Field(default_factory=Path.cwd, exclude=True)
    origin: str = Field("", exclude=True, description="the file that the settings were read from")

    @field_validator("sources")
    @classmethod
    def _names_are_unique(cls, entries: list[SourceEntry]) -> list[SourceEntry]:
        names = [entry.name for entry in entries]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"two sources are called {', '.join(repeated)}; every source needs a name of its own")
        return entries

    @property
    def holds_answers(self) -> bool:
        """Whether an answer is held until it is checked or decided about, since what was streamed stays."""
        return self.citation_check.holds or self.human_review.asks

    @property
    def topic_indices(self) -> bool:
        """Whether any source has a topic index."""
        shared = self.knowledge_base.topic_index if self.knowledge_base else None
        return bool(shared) or any(entry.topic_index for entry in self.sources)

    @property
    def stages(self) -> frozenset[Stage]:
        """The stages of autonomous retrieval that run; none without its flag."""
        return self.enhanced_retrieval.chosen if self.enhanced_autonomous_retrieval else frozenset()

    @property
    def paths(self) -> dict[RetrievalPath, ResultProcessingSettings]:
        """The ways of retrieving that a run may choose from, the default first, with how each processes results."""
        plain, stages = self.result_processing, self.stages
        if not stages:
            return {"cascade": plain}
        own = enhanced_processing(plain, self.enhanced_retrieval, stages)
        return {"enhanced": own, **({"state_facts": own} if "backfill" in stages else {}), "cascade": plain}

    @property
    def embedding_model(self) -> EmbeddingSettings | None:
        """The embedding model of the knowledge base."""
        own = self.knowledge_base.embeddings if self.knowledge_base else None
        return own or self.embeddings

    @property
    def chat_models(self) -> dict[str, ModelSettings]:
        """The chat models that are configured, by the keys under which they stand."""
        models = {
            "llm": self.llm,
            "query_llm": self.query_llm,
            "intent.extraction_config": self.intent.extraction_config,
        }
        return {key: model for key, model in models.items() if model is not None}

    def without_models(self) -> Settings:
        """The settings without chat and embedding models and without the topic indices that need them, for what needs
        none and must not fail for want of a key."""
        base = self.knowledge_base
        bare = base.model_copy(update={"embeddings": None, "topic_index": None}) if base else None
        sources = [entry.without_models() for entry in self.sources]
        intent = self.intent.model_copy(update=_WITHOUT_EXTRACTION)
        models = dict.fromkeys(("llm", "query_llm", "embeddings"))
        without = {**models, "knowledge_base": bare, "intent": intent, "sources": sources}
        return self.model_copy(update={**without, **self._stages_without_models()})

    def _stages_without_models(self) -> dict[str, Any]:
        own, retriever = self.enhanced_retrieval, self.retriever
        left = [stage for stage in own.chosen if stage not in MODEL_STAGES]
        plain = {**retriever.model_dump(), **without_embeddings(retriever.stages)}
        return {
            "retriever": RetrieverSettings.model_validate(plain),
            "category_router": self.category_router.model_copy(update={"enabled": False}),
            "enhanced_retrieval": own.model_copy(update={"stages": left}),
        }

    def at(self, path: Path) -> Path:
        """`path`, relative to the folder of the configuration file."""
        return path if path.is_absolute() else self.base_dir / path

    @property
    def configured_style(self) -> str:
        """The style for turns that ask for none: `style`, else the legacy `mode`, else conversational (S2)."""
        legacy = {"template": "structured", "llm": "conversational", None: "conversational"}
        return self.synthesis.style or legacy[self.synthesis.mode]
