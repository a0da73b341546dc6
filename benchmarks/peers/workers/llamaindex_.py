"""LlamaIndex: retrievers fused under a citation query engine with a canned model; files read and cut into nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core import PromptHelper, Settings, SimpleDirectoryReader
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from benchmarks.peers.workers import made_up
from benchmarks.peers.workers.worker import serve

Settings.llm = MockLLM()
# The mock's own window is smaller than thirty hits.
Settings.prompt_helper = PromptHelper(context_window=100_000)


class Ready(BaseRetriever):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.source, self.turn = source, 0

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.turn += 1
        found = made_up.ready(self.source, self.turn)
        return [
            NodeWithScore(node=TextNode(text=hit["content"], id_=hit["id"] + self.source, metadata=hit), score=0.9)
            for hit in found
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


def turns(sources: int) -> Callable[[int], Any]:
    names = [made_up.SOURCES[number % 3] for number in range(sources)]
    retrievers: list[BaseRetriever] = [Ready(name) for name in names]
    fused = QueryFusionRetriever(retrievers, num_queries=1, mode="reciprocal_rerank", similarity_top_k=10 * sources)
    engine = CitationQueryEngine.from_args(None, llm=MockLLM(), retriever=fused)
    return lambda number: engine.aquery(made_up.asked(number))


def ingest(files: int) -> Callable[[int], Any]:
    folder = made_up.markdown_folder(files)

    def once(_: int) -> int:
        read = SimpleDirectoryReader(str(folder)).load_data()
        nodes = SentenceSplitter(chunk_size=256, chunk_overlap=20)(MarkdownNodeParser()(read))
        store = SimpleDocumentStore()
        store.add_documents(nodes)
        return len(nodes)

    return once


serve({"turn": turns, "ingest": ingest})
