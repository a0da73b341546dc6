"""The source over a knowledge base in Weaviate."""

from __future__ import annotations

from typing import Unpack

from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.knowledge_base.chained_source import DEFAULT_NAME, ChainedOptions, ChainedSource
from groundgraph.sources.knowledge_base.source import arguments_of
from groundgraph.sources.weaviate.address import load_client_library
from groundgraph.sources.weaviate_base.collections import BasePlace
from groundgraph.sources.weaviate_base.searcher import WeaviateSearcher
from groundgraph.sources.weaviate_base.topic_store import BaseTopicStore


class WeaviateBaseSource(ChainedSource):
    """The chunks that an ingest wrote into Weaviate; see `ChainedSource` for the other arguments.

    Results, their order and their relevance are those of an embedded base with the same documents. Where the place has
    tenants, what belongs to one is only searched with a filter that names it, and then nothing else is.

    Args:
        place: where the base is.
    """

    def __init__(self, place: BasePlace, **options: Unpack[ChainedOptions]) -> None:
        self._weaviate = WeaviateSearcher(place, options.get("name", DEFAULT_NAME))
        super().__init__(self._weaviate, **options)
        self._topics = BaseTopicStore(self, self._weaviate)

    def topic_store(self) -> BaseTopicStore:
        """The headings and vectors of the base."""
        return self._topics

    async def load(self) -> None:
        """Load the client library, which takes a second and is no part of the server's answer."""
        await load_client_library()

    async def recovered(self) -> bool:
        """See `GroundedSource.recovered`: whether the server says that it is ready."""
        return await self._weaviate.recovered()

    async def close(self) -> None:
        """Close the connection; what a topic index reads of the base is given up."""
        await self._topics.close()
        await super().close()


# A knowledge base in Weaviate as an entry of `sources:`.

_OPTIONS = ("prefix", "fields", "description", "vector_weight")


def weaviate_base_from_options(entry: SourceOptions, place: BasePlace) -> WeaviateBaseSource:
    """`type: knowledge_base` without a `path`, where the back end is Weaviate.

    Raises:
        ConfigurationError: an option is unknown or has a bad value.
    """
    return WeaviateBaseSource(place, **arguments_of(entry, _OPTIONS))
