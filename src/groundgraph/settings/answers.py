"""From results to an answer: what happens to results, how it is written, checked and reviewed."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)

from groundgraph.core.registry import nearest
from groundgraph.settings.section import Section
from groundgraph.settings.services import FASTEMBED, ModelSettings

# `synthesis`: how the answer is written.

Style = Literal["conversational", "structured", "hybrid"]


class AskBackSettings(Section):
    """What a question may leave open, so that the reader is asked. The fields come first: they need no model."""

    field: str | list[str] | None = Field(
        None, description="declared fields with few values, such as product; several are looked at in their order"
    )
    model: bool | ModelSettings = Field(
        False, description="whether the query model looks for something else that is left open; or a model of its own"
    )

    @field_validator("model", mode="before")
    @classmethod
    def _by_its_name(cls, given: Any) -> Any:
        return {"model": given} if isinstance(given, str) else given

    @property
    def fields(self) -> list[str]:
        """`field` as a list."""
        return [self.field] if isinstance(self.field, str) else list(self.field or ())

    @model_validator(mode="after")
    def _something_is_looked_for(self) -> Self:
        if not self.fields and not self.model:
            raise ValueError("name a `field`, or set `model: true`")
        return self


class SynthesisSettings(Section):
    """How the answer is written."""

    mode: Literal["llm", "template"] | None = Field(
        None,
        description="an older name of `style`: `llm` is conversational, `template` structured",
    )
    style: Style | None = Field(
        None,
        description="`conversational`: a model writes; `structured`: evidence is quoted, no model; `hybrid`: "
        "a model writes, and the evidence stands below; conversational when absent, and "
        "structured without a model",
    )
    listing: bool = Field(
        True, description="the structured style lists below its blocks what else was found; asked for, it always does"
    )
    require_citations: bool = Field(True, description="tell the model to cite")
    allow_parametric: bool | Literal["bridge"] = Field(
        False,
        description="`true`: a model may add general knowledge, marked as such; `bridge`: it may connect "
        "passages and add no fact",
    )
    citation_format: Literal["section", "source"] = Field(
        "section",
        description="a citation names the section, or the document",
    )
    template: str | None = Field(None, description="a Jinja template for structured answers")
    provenance_template: str | None = Field(
        None,
        description="a Jinja template for what stands below a hybrid answer, and for a structured one if no `template`",
    )
    instruction: str | None = Field(None, description="guidance for the model that writes")
    evidence_per_source: bool = Field(
        False,
        description="show a model the evidence of each source in a block of its own",
    )
    ask_back: AskBackSettings | None = Field(
        None,
        description="ask the reader when what was found answers differently by something that the question leaves "
        "open; true asks the query model whether it does",
    )

    @field_validator("ask_back", mode="before")
    @classmethod
    def _yes_asks_the_model(cls, given: Any) -> Any:
        return ({"model": True} if given else None) if isinstance(given, bool) else given


# `citation_check`: what is done about an answer that does not agree with its evidence.


def _no_is_off(value: Any) -> Any:
    return "off" if value in (None, False) else value


# What is done about a finding: nothing, a flag, one more call of the model, or no answer at all.
Policy = Annotated[Literal["off", "annotate", "repair", "refuse"], BeforeValidator(_no_is_off)]


# Where the model of a second opinion stands in the settings.
JUDGE_KEY = "citation_check.entailment.judge"


class EntailmentSettings(Section):
    """A second opinion on each sentence and what it cites, and what it may cost in a turn, a repaired answer included.

    `judge` is a chat model, by name ("provider:model") or as `llm` is written, or a cross-encoder in this process:
    `{provider: fastembed, folder: ...}`. When absent, it is the model that writes the answers.
    """

    policy: Policy = Field("annotate", description="what becomes of a sentence that does not follow from what it cites")
    judge: ModelSettings | None = Field(None, description="the model that writes the answers when absent")
    max_sentences: PositiveInt = Field(40, description="sentences that are judged, the first ones of an answer")
    max_calls: PositiveInt = Field(4, description="calls of a chat model, with about ten sentences in each")
    max_tokens: PositiveInt = Field(20_000, description="tokens of sentences and evidence")

    @field_validator("judge", mode="before", json_schema_input_type=str | ModelSettings | dict[str, Any] | None)
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("provider") == FASTEMBED and "folder" in given:
            # What it is called tells who judged.
            return {"model": str(given["folder"]), **given}
        return {"model": given} if isinstance(given, str) else given


class CitationCheckSettings(Section):
    """What happens when the answer of a model does not agree with its evidence.

    Labels that refer to no evidence are taken out whatever the policy says, and links and images that lead elsewhere
    are made plain text. With `repair` or `refuse` anywhere the answer is held until it is checked.
    """

    labels: Policy = Field("annotate", description="labels that refer to no evidence")
    quotes: Policy = Field("annotate", description="quotations that do not stand in what they cite")
    numbers: Policy = Field("annotate", description="numbers, dates, units and codes that do not")
    names: Policy = Field("annotate", description="names that stand neither in the evidence nor in the question")
    uncited: Policy = Field("annotate", description="sentences that should cite something and do not")
    support: Policy = Field("annotate", description="sentences that share too few words with what they cite")
    links: Policy = Field("annotate", description="links and images that do not lead to the evidence")
    entailment: Policy | EntailmentSettings = Field(
        "off", description="sentences of which a model judges that what they cite does not say them"
    )

    @cached_property
    def second_opinion(self) -> EntailmentSettings:
        """What `entailment` says, with its defaults."""
        given = self.entailment
        return given if isinstance(given, EntailmentSettings) else EntailmentSettings(policy=given)

    @cached_property
    def policies(self) -> dict[str, Policy]:
        """By check, what is done about its findings."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return {**own, "entailment": self.second_opinion.policy}


# When a person decides about an answer before anybody reads it.


class HumanReviewSettings(Section):
    """Off by default. Where it is on, answers are held, and a turn may stop until somebody decides."""

    support_below: float | None = Field(
        None,
        gt=0,
        le=1,
        description="an answer whose support is lower than this waits for a person; null never waits",
    )


NormalizeMethod = Literal["min_max", "z_score", "rank"]
ClusterMethod = Literal["term_overlap", "tfidf", "embedding"]
_CLUSTER_OPTIONS = ("method", "threshold", "min_size", "embedding")


StepT = TypeVar("StepT", bound=Section)


class NormalizeStep(Section):
    """One way to make relevances comparable across sources."""

    method: NormalizeMethod = Field(description="by the range, the spread or the rank of the relevances of a source")


class ClusterStep(Section):
    """One way to group results; what stands beside the options of `embedding` names its model."""

    method: ClusterMethod = Field(description="by common words, rare common words, or vectors")
    threshold: float | None = Field(None, ge=0, le=1, description="cluster_threshold when absent")
    min_size: PositiveInt | None = Field(None, description="cluster_min_size when absent")
    embedding: dict[str, Any] | None = Field(
        None,
        description="provider, model and whatever else init_embeddings takes; provider and model may stand beside "
        "`method` as well; the model of `embeddings` when absent",
    )

    @model_validator(mode="before")
    @classmethod
    def _model_beside_the_method(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or given.get("method") != "embedding" or "model" not in given:
            return given
        own = {key: value for key, value in given.items() if key in _CLUSTER_OPTIONS}
        model = {key: value for key, value in given.items() if key not in _CLUSTER_OPTIONS}
        return {**own, "embedding": {**model, **(given.get("embedding") or {})}}

    @model_validator(mode="after")
    def _only_embedding_has_a_model(self) -> Self:
        if self.embedding is not None and self.method != "embedding":
            raise ValueError(f"'{self.method}' needs no embedding model")
        if self.embedding is not None and not self.embedding.get("model"):
            raise ValueError("'embedding' must name a model")
        return self


class ResultProcessingSettings(Section):
    """Steps between the merge and the answer; each is in the graph only when it is configured.

    A strategy is a name, a mapping with `method` and its options, or a list of either: one that is not available hands
    over to the next.
    """

    normalize_strategy: NormalizeMethod | NormalizeStep | list[NormalizeMethod | NormalizeStep] | None = None
    relative_threshold: float | None = Field(
        None, ge=0, le=1, description="results below this share of the best relevance are dropped"
    )
    min_results: NonNegativeInt = Field(3, description="results that a threshold or rotation leaves in any case")
    query_rerank_weight: float | None = Field(
        None, ge=0, le=1, description="how much the share of the user's own words counts in the relevance"
    )
    cluster_strategy: ClusterMethod | ClusterStep | list[ClusterMethod | ClusterStep] | None = None
    cluster_threshold: float = Field(0.7, ge=0, le=1, description="the least mean similarity within a cluster")
    cluster_min_size: PositiveInt = Field(2, description="results that make a cluster")
    rrf_k: PositiveInt = Field(60, description="constant of the rank fusion of several queries' results")
    rotation: Literal["demote", "suppress", "shown"] | None = Field(
        None,
        description="what becomes of evidence that earlier turns quoted or cited, where fresh evidence is as relevant: "
        "moved back, or left out; shown: all that they showed is moved back, whatever it says",
    )
    rotation_turns: int = Field(3, ge=1, le=20, description="how many turns count as recent")
    max_kb_chars: PositiveInt | None = Field(None, description="characters of evidence in one turn")
    max_kb_tokens: PositiveInt | None = Field(None, description="tokens of evidence in one turn")
    reorder: Literal["zigzag"] | None = Field(None, description="zigzag: the best two results stand at both ends")

    @field_validator("normalize_strategy", mode="before")
    @classmethod
    def _known_normalization(cls, given: Any) -> Any:
        return _checked(given, NormalizeStep, NormalizeMethod)

    @field_validator("cluster_strategy", mode="before")
    @classmethod
    def _known_clustering(cls, given: Any) -> Any:
        return _checked(given, ClusterStep, ClusterMethod)

    @property
    def normalize_steps(self) -> list[NormalizeStep]:
        """`normalize_strategy` as a chain, empty when there is none."""
        return _steps(self.normalize_strategy, NormalizeStep)

    @property
    def cluster_steps(self) -> list[ClusterStep]:
        """`cluster_strategy` as a chain, empty when there is none; every step has its threshold and size."""
        return [
            one.model_copy(
                update={
                    "threshold": self.cluster_threshold if one.threshold is None else one.threshold,
                    "min_size": one.min_size or self.cluster_min_size,
                }
            )
            for one in _steps(self.cluster_strategy, ClusterStep)
        ]

    @property
    def scores(self) -> bool:
        """Whether relevances are changed, or results dropped by them."""
        return bool(self.normalize_steps) or self.relative_threshold is not None or self.query_rerank_weight is not None

    @property
    def bounds(self) -> bool:
        """Whether evidence has a budget."""
        return bool(self.max_kb_chars or self.max_kb_tokens)

    @property
    def arranges(self) -> bool:
        """Whether results are grouped or put into another order at the end."""
        return bool(self.reorder or self.cluster_steps)


class _RerankerOptions(Section):
    """What a reranker is told, in a step of a chain or for all of them."""

    model: str | None = Field(None, description="the model of a service")
    base_url: str | None = Field(None, description="the address of a service, when it is not the vendor's")
    api_key: SecretStr | None = Field(None, description="from the environment only")
    folder: Path | None = Field(None, description="fastembed: where the model lies; nothing is downloaded then")
    compressor: str | None = Field(None, description="langchain: package.module:Class of a document compressor")
    options: dict[str, Any] = Field({}, description="further arguments of the reranker")


class RerankStep(_RerankerOptions):
    """One reranker: `cohere`, `fastembed` (a cross-encoder in this process), `langchain` (a document compressor),
    `judge` (a model), `identity`, or a registered one."""

    method: str = Field(description="the kind of reranker")


class RerankerSettings(_RerankerOptions):
    """Reranking once, after the merge."""

    enabled: bool = Field(False, description="rerank")
    type: str | RerankStep | list[str | RerankStep] | None = Field(
        None, description="cohere, fastembed, langchain, judge or identity, or a chain of them; judge when absent"
    )
    provider: str | None = Field(None, description="another name of `type`")
    threshold: float = Field(0.5, ge=0, le=1, description="results with a lower score are dropped")
    candidates_count: PositiveInt = Field(
        10, le=1000, description="how many results are judged; the others are dropped"
    )

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if self.type is not None and self.provider is not None:
            raise ValueError("'provider' is another name of 'type'; give one of them")
        return self

    @property
    def steps(self) -> list[RerankStep]:
        """`type` as a chain, every step with the options of the section where it has none of its own."""
        own = {name: getattr(self, name) for name in _RerankerOptions.model_fields}
        return [
            step.model_copy(update={name: value for name, value in own.items() if not getattr(step, name)})
            for step in _steps(self.type or self.provider or "judge", RerankStep)
        ]


def _checked(given: Any, kind: type[StepT], methods: Any) -> Any:
    """`given` with its mappings as steps. What a union of types says about a wrong name helps nobody, hence this."""
    known = list(get_args(methods))
    for one in _listed(given):
        name = one.get("method") if isinstance(one, Mapping) else getattr(one, "method", one)
        if name not in known:
            hint = nearest(str(name), known)
            raise ValueError(f"there is no strategy '{name}'.{hint} Known: {', '.join(known)}.")
    made = [kind.model_validate(one) if isinstance(one, Mapping) else one for one in _listed(given)]
    return made if isinstance(given, list) else next(iter(made), None)


def _steps(given: Any, kind: type[StepT]) -> list[StepT]:
    """A strategy as a chain: names as steps without options."""
    return [one if isinstance(one, kind) else kind.model_validate({"method": one}) for one in _listed(given)]


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list) else [given]
