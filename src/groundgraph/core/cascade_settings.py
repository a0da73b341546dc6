"""How the cascade searches (document 004): `retriever`, the defaults of every source of type `cascade`."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator, model_validator

StageName = Literal["exact", "lemma", "semantic"]
STAGES: tuple[StageName, ...] = ("exact", "lemma", "semantic")


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
    """The stages of a cascade, and what becomes of their hits (C1). An entry of `sources:` may set each for itself."""

    use_embeddings: bool = Field(False, description="run the semantic stage; needs an embedding model")
    embedder_model: str | dict[str, Any] | None = Field(
        None, description="provider:model, or a mapping as in `embeddings`; the model of `embeddings` when absent"
    )
    thresholds: StageThresholds = StageThresholds()
    default_top_k: PositiveInt = Field(2, le=1000, description="results of CascadeRetriever when a call does not say")
    stages: list[StageName] = Field(list(STAGES), min_length=1, description="those that run, in this order")
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
