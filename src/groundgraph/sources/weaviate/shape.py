"""What a collection is like on the server, and whether it fits what was configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from groundgraph.core.errors import Problem, SchemaChanged, refuse_any
from groundgraph.core.registry import nearest
from groundgraph.sources.check_options import unknown_names

# Which properties of a collection are what.


@dataclass(frozen=True)
class PropertyMapping:
    """The names of properties; an empty one is not there.

    Attributes:
        text: what is shown and searched.
        id: what identifies an object, with a value of its own for each; its UUID when empty.
        title: of the document; searched too.
        headings: the path above the text, one text or a list of them; searched too.
        document: the name of the document.
        order: the place in the document, a whole number, 1 more for the next.
        url: where the document is.
        stems: the stems of the text with spaces between, where whoever wrote the collection stored them; they are
            then searched in place of the text, which Weaviate cannot stem.
        heading_stems: the same for title and headings.
    """

    text: str = "text"
    id: str = ""
    title: str = ""
    headings: str = ""
    document: str = ""
    order: str = ""
    url: str = ""
    stems: str = ""
    heading_stems: str = ""

    def searched(self, heading_weight: int) -> list[str]:
        """The properties for a search by words, those above the text weighted as Weaviate writes it."""
        body, above = (self.stems, [self.heading_stems]) if self.stems else (self.text, [self.title, self.headings])
        return [body, *(f"{name}^{heading_weight}" for name in dict.fromkeys(above) if name)]

    def used(self) -> dict[str, str]:
        """The properties that are there, by what they are."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name)}


def mapping_of(given: Mapping[str, str] | None, key: str) -> PropertyMapping:
    """The mapping that a configuration describes.

    Raises:
        ConfigurationError: it names something that a property cannot be, or a name is no text.
    """
    given = given or {}
    known = [one.name for one in fields(PropertyMapping)]
    problems = unknown_names(given, known, key, "nothing of a result is called so")
    problems += [
        Problem(f"{key}.{name}", "must be the name of a property")
        for name, value in given.items()
        if name in known and (not isinstance(value, str) or not value)
    ]
    refuse_any(problems)
    return PropertyMapping(**given)


# The distances from which a cosine can be had; those of a multi-vector are negative products.
METRICS = ("cosine", "dot", "l2-squared")
_TEXT_ARRAYS = ("text[]", "uuid[]")
_FITS: dict[str, tuple[str, ...]] = {
    "string": ("text", "uuid", *_TEXT_ARRAYS),
    "text": ("text", *_TEXT_ARRAYS),
    "integer": ("int", "int[]"),
    "number": ("number", "int", "number[]", "int[]"),
    "boolean": ("boolean", "boolean[]"),
    "date": ("date", "text"),
    "datetime": ("date", "text"),
    "array": ("text[]", "uuid[]", "int[]", "number[]", "boolean[]"),
}


@dataclass(frozen=True)
class PropertyShape:
    """A property: its type, how its text is divided, and what it is indexed for."""

    type: str
    tokenization: str
    filterable: bool
    searchable: bool


@dataclass(frozen=True)
class CollectionShape:
    """A collection.

    Attributes:
        properties: by name.
        vectors: for each vector its distance, `multi` for a multi-vector; the single unnamed one is `default`.
        multi_tenant: whether it keeps tenants apart.
        bm25: the parameters k1 and b of its text indexes.
    """

    properties: Mapping[str, PropertyShape]
    vectors: Mapping[str, str]
    multi_tenant: bool
    bm25: tuple[float, float]


def shape_of(config: Any) -> CollectionShape:
    """The shape in the client's `config`."""
    properties = {
        one.name: PropertyShape(
            one.data_type.value,
            one.tokenization.value if one.tokenization else "",
            bool(one.index_filterable),
            bool(one.index_searchable),
        )
        for one in config.properties
    }
    bm25 = config.inverted_index_config.bm25
    tenants = bool(config.multi_tenancy_config.enabled)
    return CollectionShape(properties, _vectors(config), tenants, (bm25.k1, bm25.b))


def _vectors(config: Any) -> dict[str, str]:
    if config.vector_config:
        return {name: _metric(one.vector_index_config) for name, one in config.vector_config.items()}
    # A collection of before named vectors has one; without a vector index it has none that could be searched.
    return {"default": _metric(config.vector_index_config)} if config.vector_index_config else {}


def _metric(index: Any) -> str:
    return "multi" if getattr(index, "multi_vector", None) is not None else str(index.distance_metric.value)


@dataclass(frozen=True)
class Wanted:
    """What a source is configured with.

    Attributes:
        name: of the source, for messages.
        collection: its name.
        mapping: of its properties.
        fields: those that filters may name, with their types.
        properties: for each field the property that holds it.
        metadata: further properties to give.
        tenant_from: the field that names the tenant; empty without tenants.
        vector: the vector to search; empty for the only one.
        by_vector: whether vectors are searched at all.
        per_document: whether results are grouped by document.
    """

    name: str
    collection: str
    mapping: PropertyMapping
    fields: Mapping[str, Mapping[str, Any]]
    properties: Mapping[str, str]
    metadata: tuple[str, ...]
    tenant_from: str
    vector: str
    by_vector: bool
    per_document: bool


def check_shape(shape: CollectionShape, wanted: Wanted) -> None:
    """Whether the collection can serve the source.

    Raises:
        SchemaChanged: a property, a vector or the tenants are not there.
        ConfigurationError: they are there, and cannot do what is wanted of them.
    """
    named = [*wanted.mapping.used().values(), *wanted.properties.values(), *wanted.metadata]
    for name in named:
        if name not in shape.properties:
            raise SchemaChanged(
                f"The collection '{wanted.collection}' has no property '{name}'."
                f"{nearest(name, list(shape.properties))} It has: {', '.join(sorted(shape.properties)) or 'none'}.",
                field=name,
            )
    if shape.multi_tenant is not bool(wanted.tenant_from):
        raise SchemaChanged(_tenants_message(shape, wanted))
    problems = [*_mapping_problems(shape, wanted), *_field_problems(shape, wanted), *_vector_problems(shape, wanted)]
    refuse_any(problems)


def _tenants_message(shape: CollectionShape, wanted: Wanted) -> str:
    if shape.multi_tenant:
        return (
            f"The collection '{wanted.collection}' keeps each tenant apart: name the field for it with `tenant_from`."
        )
    return f"The collection '{wanted.collection}' has no tenants, though `tenant_from` names a field for one."


def _mapping_problems(shape: CollectionShape, wanted: Wanted) -> Iterator[Problem]:
    for name in wanted.mapping.searched(1):
        own = name.partition("^")[0]
        if shape.properties[own].type not in ("text", "text[]"):
            yield Problem(f"{wanted.name}.mapping", f"'{own}' is of type {shape.properties[own].type}, not a text")
        elif not shape.properties[own].searchable:
            yield Problem(f"{wanted.name}.mapping", f"'{own}' has no text index (index_searchable) to search by words")
    yield from _whole_problems(shape, wanted)
    order = wanted.mapping.order
    if order and shape.properties[order].type != "int":
        yield Problem(f"{wanted.name}.mapping.order", f"'{order}' is no whole number")
    document = wanted.mapping.document
    if document and (order or wanted.per_document):
        yield from _exact_problems(f"{wanted.name}.mapping.document", document, shape.properties[document])


def _whole_problems(shape: CollectionShape, wanted: Wanted) -> Iterator[Problem]:
    """No question would find a text that is kept as a single word, and that would look as if nothing covered it."""
    body = wanted.mapping.stems or wanted.mapping.text
    by_vector = wanted.by_vector and shape.vectors
    if shape.properties[body].tokenization == "field" and not by_vector:
        yield Problem(
            f"{wanted.name}.mapping",
            f"'{body}' is kept as one single word (tokenization 'field'), so no question finds a word of it; search it "
            "by vectors, or store it with the tokenization 'word'",
        )


def _field_problems(shape: CollectionShape, wanted: Wanted) -> Iterator[Problem]:
    for field, name in wanted.properties.items():
        key, found = f"{wanted.name}.fields.{field}", shape.properties[name]
        kind = str(wanted.fields[field].get("type", "string"))
        if found.type not in _FITS[kind]:
            yield Problem(key, f"is declared as {kind}, but the property '{name}' is of type {found.type}")
        elif not found.filterable:
            yield Problem(key, f"the property '{name}' has no index to filter by (index_filterable)")
        else:
            yield from _exact_problems(key, name, found)


def _exact_problems(key: str, name: str, found: PropertyShape) -> Iterator[Problem]:
    if found.type in ("text", "text[]") and found.tokenization != "field":
        yield Problem(
            key,
            f"the property '{name}' is divided into words (tokenization '{found.tokenization}'), so that a filter for "
            "'Acme' would also keep 'acme inc.'; only a property with the tokenization 'field' can be filtered by. "
            "Store the value in one, or keep tenants apart with Weaviate's own multi-tenancy and `tenant_from`",
        )


def _vector_problems(shape: CollectionShape, wanted: Wanted) -> Iterator[Problem]:
    chosen = [wanted.vector] if wanted.vector else list(shape.vectors)
    if not wanted.by_vector or not chosen:
        return
    known = ", ".join(shape.vectors) or "none"
    if wanted.vector not in ("", *shape.vectors):
        raise SchemaChanged(
            f"The collection '{wanted.collection}' has no vector '{wanted.vector}'. It has: {known}.",
            field=wanted.vector,
        )
    if len(chosen) > 1:
        yield Problem(f"{wanted.name}.vector", f"the collection has several vectors; name one of: {known}")
        return
    metric = shape.vectors[chosen[0]]
    if metric not in (*METRICS, "multi"):
        message = f"its distance is {metric}, which gives no relevance; known: {', '.join(METRICS)}"
        yield Problem(f"{wanted.name}.vector", message)
