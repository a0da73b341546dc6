"""What is searched and how: `sources`, `intent`, `retrieval`, its stages, and the cascade of `retriever`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from groundgraph.core.schema import ExtractionAnnotation
from groundgraph.settings.answers import ResultProcessingSettings
from groundgraph.settings.section import Section, Shown
from groundgraph.settings.services import ModelSettings
from groundgraph.settings.topics import OptionalTopicIndex

# `intent`: how the intent of a turn is found.

Scope = Literal["focused", "broad", "exact"]
Filters = dict[str, dict[str, Any]]


class IntentSettings(Section):
    """How the intent of a turn is found."""

    mode: Literal["extract", "static", "template"] = Field(
        "extract",
        description="`extract`: a model writes the queries, or the message is the query where there is none; "
        "`static`: the queries below; `template`: a template fills in the intent",
    )
    num_queries: int = Field(3, ge=1, le=10, description="extract: queries that the model writes")
    domain_context: str = Field(
        "",
        description="what the documents are about, in a sentence; models and greetings use it",
    )
    use_conversation_context: bool = Field(True, description="extract: the model sees the last turns")
    max_context_turns: NonNegativeInt = Field(
        3, description="turns of the conversation that count when a question leans on them"
    )
    extraction_config: ModelSettings | None = Field(
        None, description="a model that fills in queries, scope, style and filters by a schema"
    )
    output_style_hint: str | None = Field(None, description="what that model is told about the style of an answer")
    x_extraction: dict[Literal["scope", "output_style"], ExtractionAnnotation] = Field(
        {}, description="how much of the user's own words a choice of that model needs"
    )
    expand_ambiguous_queries: bool = Field(
        False, description="put keywords of the conversation before a message that leans on it"
    )
    include_assistant_context: bool = Field(False, description="look for them in the assistant's messages too")
    text_queries: list[str] = Field([], description="static: what is searched for beside the message")
    filters: Filters = Field({}, description="static: conditions by source and field")
    scope: Scope = Field(
        "focused",
        description="how broadly is searched where nothing else says it; chooses the profile of a topic index",
    )
    include_message_as_query: bool = Field(True, description="static: search for the message too")
    template: str | None = Field(None, description="template: a Jinja template that gives the intent as YAML")
    default_filters: Filters = Field(
        {},
        description="conditions by source and field that hold in every turn; nothing can override or widen them",
    )
    parts: bool = Field(
        True, description="without a query model, ask the sentences and clauses of a long message that ask beside it"
    )
    follow_ups: bool = Field(
        True, description="without a query model, ask a question that leans on the one before it together with that"
    )


# Retrieval that adapts to the question: its stages, bounds and the choice of categories (document 004).

Stage = Literal["rewrite", "complexity", "decomposition", "fusion", "budget", "rotation", "reorder", "backfill"]
# In the order in which they run. Routing to categories is a section of its own, and has its own switch.
STAGES: tuple[Stage, ...] = (
    "rewrite",
    "complexity",
    "decomposition",
    "fusion",
    "budget",
    "rotation",
    "reorder",
    "backfill",
)
# The stages that a chat model works in.
MODEL_STAGES: frozenset[Stage] = frozenset({"rewrite", "decomposition"})


class EnhancedRetrievalSettings(Section):
    """What the stages of `enhanced_autonomous_retrieval` do; without that flag nothing here is used."""

    stages: list[Stage] | None = Field(None, description="the stages that run; all of them when absent")
    max_kb_chars: PositiveInt = Field(40_000, description="budget: characters of evidence and state facts together")
    max_kb_tokens: PositiveInt | None = Field(
        None, description="budget: tokens; 40 000 characters are about 10 000 in English and 20 000 in Russian"
    )
    top_k_per_sub_query: PositiveInt = Field(3, le=1000, description="results of one sub-query from one source")
    max_sub_queries: int = Field(4, ge=1, le=10, description="parts into which a question is divided at most")
    rrf_k: PositiveInt = Field(60, description="fusion: the constant of the rank fusion of question and sub-queries")
    rewrite_min_words: PositiveInt = Field(4, description="rewrite: shorter questions are left as they are")
    min_complexity_length: PositiveInt = Field(
        30, description="complexity: characters of the shortest complex question"
    )

    @field_validator("stages")
    @classmethod
    def _each_once(cls, stages: list[Stage] | None) -> list[Stage] | None:
        return None if stages is None else [stage for stage in STAGES if stage in stages]

    @property
    def chosen(self) -> frozenset[Stage]:
        """The stages that run when the flag is on."""
        return frozenset(STAGES if self.stages is None else self.stages)


class CategoryRouterSettings(Section):
    """Which categories of a knowledge base a question is searched in."""

    enabled: bool = Field(False, description="a model chooses, where the dialogue's intent does not decide")
    top_k: PositiveInt = Field(3, le=100, description="categories that a model may choose")
    intents: dict[str, list[str]] = Field(
        {}, description="the categories of an intent that the dialogue names; they are searched without asking a model"
    )
    fallback_categories: list[str] = Field(
        ["faq", "features"],
        description="those of an intent that `intents` does not know, where no model chooses; all when none of them "
        "exists",
    )

    @property
    def routes(self) -> bool:
        """Whether anything decides about categories."""
        return self.enabled or bool(self.intents)


def enhanced_processing(
    plain: ResultProcessingSettings, own: EnhancedRetrievalSettings, stages: frozenset[Stage]
) -> ResultProcessingSettings:
    """`plain` with what `stages` add to it; of two budgets the smaller one holds."""
    added: dict[str, object] = {}
    if "fusion" in stages:
        added["rrf_k"] = own.rrf_k
    if "budget" in stages:
        added["max_kb_chars"] = _smaller(plain.max_kb_chars, own.max_kb_chars)
        added["max_kb_tokens"] = _smaller(plain.max_kb_tokens, own.max_kb_tokens)
    if "rotation" in stages:
        added["rotation"] = plain.rotation or "demote"
    if "reorder" in stages:
        added["reorder"] = "zigzag"
    return plain.model_copy(update=added)


def _smaller(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


# How the cascade searches (document 004): `retriever`, the defaults of every source of type `cascade`.

StageName = Literal["exact", "lemma", "semantic"]
CASCADE_STAGES: tuple[StageName, ...] = ("exact", "lemma", "semantic")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_the_default(cls, given: Any) -> Any:
        # What may be null by itself has that as its default.
        if isinstance(given, Mapping):
            return {key: value for key, value in given.items() if value is not None}
        return {} if given is None else given


class StageThresholds(_Part):
    """What a section needs to be a hit of each stage."""

    exact: float = Field(1.0, ge=0, description="keywords and titles that stand in the question, a number")
    lemma: float = Field(0.15, ge=0, le=1, description="share of the question's words")
    semantic: float = Field(0.5, ge=-1, le=1, description="cosine")


class RetrieverSettings(_Part):
    """The stages of a cascade, and what becomes of their hits. An entry of `sources:` may set each for itself."""

    use_embeddings: bool = Field(False, description="run the semantic stage; needs an embedding model")
    embedder_model: str | dict[str, Any] | None = Field(
        None, description="provider:model, or a mapping as in `embeddings`; the model of `embeddings` when absent"
    )
    thresholds: StageThresholds = StageThresholds()
    default_top_k: PositiveInt = Field(2, le=1000, description="results of CascadeRetriever when a call does not say")
    stages: list[StageName] = Field(list(CASCADE_STAGES), min_length=1, description="those that run, in this order")
    stop_at_first_hit: bool = Field(False, description="leave out the stages after the first that has a hit")
    ordering: Literal["fused", "stage"] = Field(
        "fused", description="by all stages together, or all hits of a stage before those of the next"
    )
    lemmatizer: Literal["snowball", "dictionary"] = Field(
        "snowball", description="dictionary: pymorphy3 and simplemma, of the extra `lemma`"
    )
    languages: list[str] = Field(
        ["en"], min_length=1, description="languages of the dictionaries for words that are not in Cyrillic"
    )
    vector_weight: float = Field(0.5, ge=0, le=1, description="share of the meaning where it is fused with the words")

    @field_validator("stages")
    @classmethod
    def _each_stage_once(cls, stages: list[StageName]) -> list[StageName]:
        if len(set(stages)) < len(stages):
            raise ValueError("a stage stands there twice")
        return stages

    @model_validator(mode="after")
    def _some_stage_can_run(self) -> Self:
        if self.stages == ["semantic"] and not self.use_embeddings:
            raise ValueError("the only stage is 'semantic', which needs `use_embeddings: true`")
        return self

    @field_validator("embedder_model")
    @classmethod
    def _a_model_has_a_name(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given.get("model"):
            raise ValueError("must name a `model`")
        return given


def without_embeddings(stages: Any) -> dict[str, Any]:
    """What to set in a section or an entry with `stages` so that nothing is embedded; null leaves the default."""
    return {"use_embeddings": False, "embedder_model": None, "stages": None if stages == ["semantic"] else stages}


# Below which chance evidence is quoted as no answer, and not given to a model (`python -m benchmarks L18`).
LEAST_TO_QUOTE, LEAST_TO_READ = 0.18, 0.05


class RetrievalSettings(Section):
    """How much is retrieved and how the sources' results are merged."""

    top_k: PositiveInt = Field(5, le=1000, description="results for each query and source")
    score_threshold: float = Field(0.1, ge=0, le=1, description="the least relevance of a result")
    merge: Literal["round_robin", "relative_score", "in_order"] = Field(
        "round_robin",
        description="how results of several sources are ordered: by turns and weight, by relevance, or source "
        "after source",
    )
    merge_adjacent: bool = Field(
        True, description="join neighbouring chunks under one heading, where the source can tell what is between them"
    )
    deduplicate: bool = Field(True, description="keep what several queries or sources found only once")
    answerable_threshold: Annotated[float, Field(ge=0, le=1)] | Literal["auto"] | None = Field(
        "auto",
        description="a turn whose evidence answers the question with less than this probability "
        "(`support.answerable`) is `insufficient`, and no model writes; null never decides; auto: "
        f"{LEAST_TO_QUOTE} where the evidence is quoted, {LEAST_TO_READ} where a model reads it and can say that it "
        "answers nothing",
    )
    doubt_threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="an answer that no model writes says that it may be none when the evidence answers the question "
        "with less than this probability; 0 never says so",
    )
    second_look: bool = Field(
        False,
        description="before a turn is `insufficient`, search once more: with the question in other words by a query "
        "model, without one in all categories where some were chosen",
    )
    scope_filters: dict[str, dict[str, str]] = Field(
        {}, description="per source and field, where the value comes from: context.NAME or user.NAME"
    )

    def least_chance(self, *, read: bool) -> float:
        """The least chance to answer the question with which evidence is quoted, or `read` by a model that can say
        that it answers nothing; 0 where it never decides."""
        if self.answerable_threshold == "auto":
            return LEAST_TO_READ if read else LEAST_TO_QUOTE
        return self.answerable_threshold or 0.0


# `sources`: what is searched.


class SourceEntry(Shown):
    """One entry of `sources:`; keys beside these belong to the source type."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str = Field(description="the kind of source")
    name: str = Field(
        "knowledge_base",
        min_length=1,
        max_length=100,
        description="what citations, filters and notes call it",
    )
    weight: PositiveInt = Field(1, description="how many results it gives in each round of `round_robin`")
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
