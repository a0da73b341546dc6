"""How a source is searched by the topics of its documents.

One class holds the options of both kinds of index, so that a profile, and an intent, may name just some of them.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from groundgraph.core.registry import nearest
from groundgraph.settings.section import Section

HEADING_TREE, CLUSTER = "heading_tree", "cluster"


class HeadingMatchSettings(Section):
    """Which words of a question count when they are compared with headings, and which headings."""

    min_word_length: PositiveInt = Field(2, description="shorter words do not count")
    min_heading_depth: NonNegativeInt = Field(1, description="headings above this depth are not compared; 0: the title")
    stopwords: list[str] | None = Field(None, description="in place of those that groundgraph knows")


class HeadingTreeOptions(Section):
    """What a profile may change of a `heading_tree`."""

    entry_strategy: Literal["both", "heading_match", "vector"] = Field(
        "both",
        description="begin at headings with the words of the question, at what the search itself finds, or at both",
    )
    seed_score_threshold: float = Field(0.3, ge=0, le=1, description="least score of a chunk to begin with")
    seed_max_results: PositiveInt = Field(10, le=1000, description="most chunks, and most headings, to begin with")
    min_heading_depth: NonNegativeInt = Field(1, description="a topic is no heading above this depth; 0: the title")
    expansion_mode: Literal["subtree", "children", "leaves"] = Field(
        "subtree",
        description="what belongs to a topic: all below the heading, what stands right below it, or only what "
        "has nothing below it",
    )
    max_expansion_depth: NonNegativeInt | None = Field(None, description="levels below the heading; null: all")
    max_expanded_results: PositiveInt = Field(50, le=10_000, description="most passages of one turn")
    resolution_prompt: str | None = Field(None, description="lets a model choose among the headings, and tells it how")
    max_headings_for_llm: PositiveInt = Field(100, le=1000, description="most headings that a model chooses among")
    heading_match: HeadingMatchSettings = HeadingMatchSettings()


class TopicIndexOptions(HeadingTreeOptions):
    """What a profile may change, of a `cluster` too."""

    cluster_threshold: float = Field(0.7, ge=0, le=1, description="least cosine to the first chunk of a cluster")
    min_cluster_size: PositiveInt = Field(2, description="passages that make a cluster")
    top_clusters: PositiveInt = Field(3, description="clusters of one turn")
    max_results_per_cluster: PositiveInt = Field(20, description="most passages of one cluster")
    max_total_results: PositiveInt = Field(50, le=10_000, description="most passages of one turn")
    centroid_score_threshold: float = Field(0.2, ge=0, le=1, description="least cosine of question and centroid")
    label_min_word_length: PositiveInt = Field(3, description="shorter words do not name a cluster")
    label_top_terms: PositiveInt = Field(3, description="words that name a cluster")
    label_stopwords: list[str] | None = Field(None, description="in place of those that groundgraph knows")


_OF_CLUSTER = TopicIndexOptions.model_fields.keys() - HeadingTreeOptions.model_fields.keys()


class TopicIndexSettings(TopicIndexOptions):
    """The topic index of a source."""

    type: Literal["heading_tree", "cluster"] = Field(
        description="by the headings of documents, or by groups of similar passages, which needs embeddings",
    )
    scope_profiles: dict[Literal["focused", "broad", "exact"], TopicIndexOptions] = Field(
        {}, description="options in place of those above, by the scope of the intent"
    )

    @model_validator(mode="after")
    def _options_of_this_type(self) -> Self:
        layers: list[tuple[tuple[str, ...], TopicIndexOptions]] = [((), self)]
        layers += [(("scope_profiles", scope), profile) for scope, profile in self.scope_profiles.items()]
        foreign: list[InitErrorDetails] = [
            {"type": self._foreign(name), "loc": (*where, name), "input": getattr(layer, name)}
            for where, layer in layers
            for name in sorted(layer.model_fields_set & _names())
            if (name in _OF_CLUSTER) != (self.type == CLUSTER)
        ]
        if foreign:
            # So each problem has the place of its key, where a ValueError would have that of the section.
            raise ValidationError.from_exception_data(type(self).__name__, foreign)
        return self

    def _foreign(self, name: str) -> PydanticCustomError:
        other = CLUSTER if name in _OF_CLUSTER else HEADING_TREE
        told = "belongs to type '{other}', but the type is '{own}'"
        return PydanticCustomError("other_type", told, {"other": other, "own": self.type})

    @property
    def needs_vectors(self) -> bool:
        """Whether nothing can be found without vectors, whatever the scope is."""
        return self.type == CLUSTER or self.entry_strategy == "vector"

    def in_force(self, scope: str, override: Any) -> tuple[TopicIndexOptions, list[str]]:
        """The options of one turn: `override` over the profile of `scope` over the configuration.

        Args:
            scope: of the intent.
            override: what the intent's `raw_data` says about topic indices, in whatever shape.

        Returns:
            The options, and a sentence for each part of `override` that cannot be used and was left out.
        """
        given, wrong = _readable(override, self.type)
        profile = self.scope_profiles.get(scope)  # type: ignore[call-overload]
        layers = [*([profile] if profile else []), *given]
        options: TopicIndexOptions = self
        for layer in layers:
            options = _over(options, layer)
        return options, wrong


# Of a source or a knowledge base: nothing in it is the same as none.
OptionalTopicIndex = Annotated[TopicIndexSettings | None, BeforeValidator(lambda given: None if given == {} else given)]


def _over(options: TopicIndexOptions, layer: TopicIndexOptions) -> TopicIndexOptions:
    """`options` with whatever is set in `layer`."""
    update: dict[str, Any] = {name: getattr(layer, name) for name in layer.model_fields_set & _names()}
    if "heading_match" in update:
        own = update["heading_match"]
        set_there = {name: getattr(own, name) for name in own.model_fields_set}
        update["heading_match"] = options.heading_match.model_copy(update=set_there)
    return options.model_copy(update=update)


@cache
def _names() -> frozenset[str]:
    return frozenset(TopicIndexOptions.model_fields)


def _readable(override: Any, kind: str) -> tuple[list[TopicIndexOptions], list[str]]:
    """The options that `override` names with a usable value, one by one, and what is wrong with the others."""
    if override is None:
        return [], []
    if not isinstance(override, Mapping):
        return [], [f"must be a mapping of options, not {type(override).__name__}"]
    good: list[TopicIndexOptions] = []
    wrong: list[str] = []
    for name, value in override.items():
        if name == "type":
            wrong += [] if value == kind else [f"the type of the index stays '{kind}'"]
            continue
        try:
            good.append(TopicIndexOptions.model_validate({str(name): value}))
        except ValidationError as error:
            wrong.append(_told(error))
    return good, wrong


def _told(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"'{where[:80]}' is no option of a topic index.{nearest(str(first['loc'][-1]), _near(first['loc']))}"
    return f"{where[:80]}: {first['msg']}"


def _near(location: Sequence[Any]) -> list[str]:
    """The options that could have been meant at `location`."""
    return sorted(HeadingMatchSettings.model_fields) if len(location) > 1 else sorted(_names())
