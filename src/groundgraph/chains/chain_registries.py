"""The six kinds of chains by name, open to functions, Runnables and third parties (K3, K4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from groundgraph.chains.chain_options import ChainOptions
from groundgraph.core.registry import Registry

Kind = Literal["chunker", "matching_text", "qualifying_text", "transformer", "reranker", "filter"]
ChainFactory = Callable[[ChainOptions], Any]

REGISTRIES: Mapping[str, Registry[ChainFactory]] = {
    "chunker": Registry("chunker", "groundgraph.chunkers"),
    "matching_text": Registry("matching text", "groundgraph.matching_texts"),
    "qualifying_text": Registry("qualifying text", "groundgraph.qualifying_texts"),
    "transformer": Registry("query transformer", "groundgraph.query_transformers"),
    "reranker": Registry("reranker", "groundgraph.rerankers"),
    "filter": Registry("filter", "groundgraph.filters"),
}
