"""The source over LangChain's retrievers and vector stores. Importing this package loads no LangChain."""

from groundgraph.sources.langchain_adapter.source import LangChainSource, langchain_from_options

__all__ = ["LangChainSource", "langchain_from_options"]
