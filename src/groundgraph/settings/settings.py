"""What is fixed when a graph is built. `load_settings` reads it from a file, the environment and Python.

Settings decide the topology; what may change from run to run is a `Context`. The sections stand in files of their own.
"""

import hashlib
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, Field, PositiveInt, field_validator

from groundgraph.core.turn_values import RetrievalPath
from groundgraph.settings.answers import (
    JUDGE_KEY,
    CitationCheckSettings,
    HumanReviewSettings,
    RerankerSettings,
    ResultProcessingSettings,
    SynthesisSettings,
)
from groundgraph.settings.knowledge_base import (
    ChainSettings,
    KnowledgeBaseSettings,
)
from groundgraph.settings.search import (
    MODEL_STAGES,
    CategoryRouterSettings,
    EnhancedRetrievalSettings,
    IntentSettings,
    RetrievalSettings,
    RetrieverSettings,
    SourceEntry,
    Stage,
    enhanced_processing,
    without_embeddings,
)
from groundgraph.settings.section import LanguageCode, Section, Shown
from groundgraph.settings.services import (
    FASTEMBED,
    CheckpointerSettings,
    DeadlineSettings,
    EmbeddingSettings,
    LimitSettings,
    ModelSettings,
    ServerSettings,
    StoreSettings,
    TracingSettings,
)
from groundgraph.text.words import LANGUAGES

# Fields of `Settings` that nobody sets: `load_settings` fills them in.
INTERNAL = frozenset({"base_dir", "origin"})


class FastPathSettings(Section):
    """Messages that are nothing but small talk are answered without retrieval."""

    enabled: bool = Field(True, description="greetings, thanks and the like are answered at once")
    languages: list[LanguageCode] = Field(list(LANGUAGES), description="the languages whose small talk is known")

    @property
    def recognised(self) -> list[LanguageCode]:
        """The languages whose small talk is answered as such."""
        return self.languages if self.enabled else []


class HistorySettings(Section):
    """How much of the conversation a thread keeps at hand."""

    keep_messages: PositiveInt | None = Field(None, description="older ones go to the store; all are kept when absent")


class PromptSettings(Section):
    """Where prompts and answer texts are looked for before those that groundgraph ships."""

    path: Path | None = Field(
        None,
        description="a folder with prompts of your own, which replace those of the same name",
    )


# What the models read that write queries or fill in intents.
_WITHOUT_EXTRACTION: dict[str, Any] = {
    "extraction_config": None,
    "output_style_hint": None,
    "x_extraction": {},
    **{name: IntentSettings.model_fields[name].default for name in ("num_queries", "use_conversation_context")},
}


class Settings(Shown):
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
    sources: list[SourceEntry] = Field([])
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
    greeting_template: str | None = Field(
        None,
        description="a Jinja template for the reply to a greeting; gets `domain_context` and `metadata`",
    )
    store_provenance: bool = Field(True, description="keep the record of each turn")

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
        policies = self.citation_check.policies.values()
        return "repair" in policies or "refuse" in policies or self.human_review.support_below is not None

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
            JUDGE_KEY: self.citation_check.second_opinion.judge,
            "synthesis.ask_back.model": self._own_asking,
        }
        return {key: model for key, model in models.items() if model is not None and model.provider != FASTEMBED}

    @property
    def _own_asking(self) -> ModelSettings | None:
        """The model that has no other work than to see what a question leaves open."""
        asks = self.synthesis.ask_back
        return asks.model if asks and isinstance(asks.model, ModelSettings) else None

    def without_models(self) -> Self:
        """The settings without chat and embedding models and without the topic indices that need them, for what needs
        none and must not fail for want of a key."""
        base = self.knowledge_base
        bare = base.model_copy(update={"embeddings": None, "topic_index": None}) if base else None
        entries = [entry.without_models() for entry in self.sources]
        sources = {"sources": entries} if entries else {}
        intent = self.intent.model_copy(update=_WITHOUT_EXTRACTION)
        models = dict.fromkeys(("llm", "query_llm", "embeddings"))
        checks = self.citation_check.model_copy(update={"entailment": "off"})
        without = {**models, "knowledge_base": bare, "intent": intent, "citation_check": checks, **sources}
        if self._own_asking:
            asks = self.synthesis.ask_back.model_copy(update={"model": True})  # type: ignore[union-attr]
            without["synthesis"] = self.synthesis.model_copy(update={"ask_back": asks})
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

    def timeout_of(self, source: str) -> float:
        """How many seconds the source of that name may take: its own limit, else that of all."""
        own = {entry.name: entry.timeout for entry in self.sources}
        return own.get(source) or self.deadlines.source

    @property
    def configured_style(self) -> str:
        """The style for turns that ask for none: `style`, else the legacy `mode`, else conversational."""
        legacy = {"template": "structured", "llm": "conversational", None: "conversational"}
        return self.synthesis.style or legacy[self.synthesis.mode]


# What says where things are kept and who sees what goes on, and nothing about an answer.
_BESIDE = {"checkpointer", "store", "server", "tracing", "store_provenance"}


def settings_hash(settings: Settings) -> str:
    """Eight hexadecimal digits of everything that can change an answer; of a folder of prompts by its path alone."""
    told = settings.model_dump_json(exclude=_BESIDE)
    return hashlib.blake2b(told.encode(), digest_size=4).hexdigest()
