"""Topic indices: sources searched by the headings of their documents, or by clusters of similar passages."""

from groundgraph.sources.topic_index.source import TopicIndexSource, index_problems

__all__ = ["TopicIndexSource", "index_problems"]
