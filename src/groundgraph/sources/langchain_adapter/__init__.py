"""The source over LangChain's retrievers and vector stores. Importing this package loads no LangChain."""

from groundgraph.sources.langchain_adapter.options import langchain_from_options
from groundgraph.sources.langchain_adapter.source import LangChainSource

__all__ = ["LangChainSource", "langchain_from_options"]
