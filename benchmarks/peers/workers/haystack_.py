"""Haystack: a pipeline of retrievers, joiner, prompt, canned model and answers; BM25; a pipeline that indexes files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
from haystack.components.converters import TextFileToDocument
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.peers.workers import made_up
from benchmarks.peers.workers.worker import serve

_PROMPT = """Answer from this:
{% for document in documents %}[{{ loop.index }}] {{ document.content }}
{% endfor %}"""


@component
class Ready:
    def __init__(self, source: str) -> None:
        self.source, self.turn = source, 0

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        self.turn += 1
        found = made_up.ready(self.source, self.turn)
        return {
            "documents": [
                Document(id=hit["id"] + self.source, content=hit["content"], meta=hit, score=1 - rank / 20)
                for rank, hit in enumerate(found)
            ]
        }


def turns(sources: int) -> Callable[[int], Any]:
    pipeline = Pipeline()
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    messages = [ChatMessage.from_system(_PROMPT), ChatMessage.from_user("{{ question }}")]
    pipeline.add_component("prompt", ChatPromptBuilder(template=messages, required_variables="*"))
    pipeline.add_component("model", MockChatGenerator(made_up.REPLY))
    pipeline.add_component("answer", AnswerBuilder(reference_pattern=r"\[(\d+)\]"))
    for number in range(sources):
        pipeline.add_component(f"source{number}", Ready(made_up.SOURCES[number % 3]))
        pipeline.connect(f"source{number}.documents", "joiner.documents")
    pipeline.connect("joiner.documents", "prompt.documents")
    pipeline.connect("joiner.documents", "answer.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    pipeline.connect("model.replies", "answer.replies")

    def turn(number: int) -> Any:
        asked = made_up.asked(number)
        given: dict[str, Any] = {f"source{one}": {"query": asked} for one in range(sources)}
        return pipeline.run({**given, "prompt": {"question": asked}, "answer": {"query": asked}})

    return turn


def words(size: int) -> Callable[[int], Any]:
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text) for text in made_up.texts(size)])
    retriever = InMemoryBM25Retriever(store, top_k=10)
    return lambda number: retriever.run(query=made_up.asked(number, made_up.topics_of(size)))


def ingest(files: int) -> Callable[[int], Any]:
    folder = made_up.markdown_folder(files)
    paths = sorted(folder.iterdir())

    def once(_: int) -> Any:
        pipeline = Pipeline()
        pipeline.add_component("read", TextFileToDocument())
        pipeline.add_component("cut", DocumentSplitter(split_by="passage", split_length=2))
        pipeline.add_component("write", DocumentWriter(InMemoryDocumentStore()))
        pipeline.connect("read.documents", "cut.documents")
        pipeline.connect("cut.documents", "write.documents")
        return pipeline.run({"read": {"sources": paths}})

    return once


serve({"turn": turns, "words": words, "ingest": ingest})
