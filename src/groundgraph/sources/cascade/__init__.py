"""Knowledge that people keep by hand: YAML files by category, found by keyword, by word and by meaning."""

from __future__ import annotations

from groundgraph.sources.cascade.order import SearchResult
from groundgraph.sources.cascade.source import CascadeSource

__all__ = ["CascadeSource", "SearchResult"]
