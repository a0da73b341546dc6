"""The chunks beside a result, fetched for all results in one request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundgraph.search.rank import RankedPassage
from groundgraph.sources.weaviate.client_library import queries
from groundgraph.sources.weaviate.mapping import PropertyMapping
from groundgraph.sources.weaviate.search import as_text

if TYPE_CHECKING:
    from weaviate.collections import CollectionAsync

Place = tuple[str, int]


@dataclass(frozen=True)
class Allowed:
    """What a neighbour must satisfy.

    Attributes:
        filter: that of the search; None for none. It may keep a little more than the conditions say.
        properties: those that the conditions are about.
        holds: whether the conditions themselves hold for an object.
    """

    filter: Any
    properties: Sequence[str]
    holds: Callable[[Any], bool]


async def neighbours_of(
    collection: CollectionAsync[Any, Any],
    found: Sequence[RankedPassage],
    mapping: PropertyMapping,
    reach: int,
    allowed: Allowed,
) -> dict[str, tuple[str, str]]:
    """For the UUID of each of `found` the text before and after it, up to `reach` chunks each way.

    A chunk stands beside one result only, the best, and not at all when it is a result itself.

    Args:
        collection: the collection.
        found: the results, the best first.
        mapping: of its properties; `document` and `order` are there.
        reach: how many chunks.
        allowed: the conditions of the search, which hold for neighbours too.
    """
    places = {str(one.payload.uuid): _place(one.payload.properties, mapping) for one in found}
    own = {place for place in places.values() if place}
    wanted = {beside for place in own for beside in _around(place, reach)} - own
    if not wanted:
        return {}
    texts = await _texts(collection, wanted, mapping, allowed)
    taken: set[Place] = set()
    around: dict[str, tuple[str, str]] = {}
    for uuid, place in places.items():
        if place:
            around[uuid] = (_run(texts, place, -1, reach, taken), _run(texts, place, 1, reach, taken))
    return around


def _place(values: Any, mapping: PropertyMapping) -> Place | None:
    document, order = values.get(mapping.document), values.get(mapping.order)
    return None if document is None or order is None else (str(document), int(order))


def _around(place: Place, reach: int) -> list[Place]:
    document, order = place
    return [(document, order + step) for step in range(-reach, reach + 1) if step]


async def _texts(
    collection: CollectionAsync[Any, Any], wanted: set[Place], mapping: PropertyMapping, allowed: Allowed
) -> dict[Place, str]:
    by = queries().Filter.by_property
    orders: dict[str, list[int]] = {}
    for document, order in sorted(wanted):
        orders.setdefault(document, []).append(order)
    near = [
        queries().Filter.all_of([by(mapping.document).equal(document), by(mapping.order).contains_any(numbers)])
        for document, numbers in orders.items()
    ]
    anywhere = near[0] if len(near) == 1 else queries().Filter.any_of(near)
    given: Any = await collection.query.fetch_objects(
        limit=len(wanted),
        filters=anywhere if allowed.filter is None else queries().Filter.all_of([allowed.filter, anywhere]),
        return_properties=list(dict.fromkeys([mapping.text, mapping.document, mapping.order, *allowed.properties])),
    )
    objects = (one for one in given.objects if allowed.holds(one))
    places = ((_place(one.properties, mapping), as_text(one.properties.get(mapping.text))) for one in objects)
    return {place: text for place, text in places if place and text.strip()}


def _run(texts: dict[Place, str], place: Place, step: int, reach: int, taken: set[Place]) -> str:
    """The chunks on one side without a gap, in the order of the document."""
    document, order = place
    found: list[str] = []
    for distance in range(1, reach + 1):
        beside = (document, order + step * distance)
        if beside not in texts or beside in taken:
            break
        taken.add(beside)
        found.append(texts[beside])
    return "\n\n".join(found if step > 0 else found[::-1])
