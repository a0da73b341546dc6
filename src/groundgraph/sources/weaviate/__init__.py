"""Collections of a Weaviate server as sources. Importing this package does not load the client library."""

from groundgraph.sources.weaviate.address import Address, address_of
from groundgraph.sources.weaviate.shape import PropertyMapping
from groundgraph.sources.weaviate.source import WeaviateSource

__all__ = ["Address", "PropertyMapping", "WeaviateSource", "address_of"]
