"""What a refused object tells of itself, and what of the server."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from groundgraph.sources.weaviate.errors import fault_of
from groundgraph.sources.weaviate_base.insert import NewObject, _insert

OBJECTS = [NewObject(name, {"text": name}) for name in "abc"]
BAD = "invalid text property 'text' on class 'Chunk1': not a string"


def collection(messages):
    async def insert_many(objects):
        from weaviate.exceptions import WeaviateInsertManyAllFailedError

        if len(messages) == len(objects):
            raise WeaviateInsertManyAllFailedError(f"Here is the set of all errors: {', '.join(messages.values())}")
        return SimpleNamespace(errors={place: SimpleNamespace(message=told) for place, told in messages.items()})

    return SimpleNamespace(data=SimpleNamespace(insert_many=insert_many))


@pytest.mark.covers("fault 53")
async def test_of_objects_that_are_refused_the_reasons_are_told():
    assert await _insert(collection({1: BAD}), OBJECTS) == {"b": BAD}
    assert set(await _insert(collection(dict.fromkeys(range(3), BAD)), OBJECTS)) == {"a", "b", "c"}
    assert await _insert(collection({}), OBJECTS) == {}


@pytest.mark.covers("fault 32")
@pytest.mark.parametrize("places", [[1], [0, 1, 2]])
@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("cannot achieve consistency level QUORUM: read error", "replicas"),
        ("could not find class Chunk1 in schema", "missing_collection"),
    ],
)
async def test_an_outage_is_no_fault_of_a_document(places, told, kind):
    with pytest.raises(RuntimeError) as raised:
        await _insert(collection(dict.fromkeys(places, told)), OBJECTS)
    assert fault_of(raised.value).kind == kind
