"""LangChain: retrievers side by side and merged, a prompt, a canned model; BM25; files, cut, kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.document_loaders import TextLoader
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

from benchmarks.peers.workers import made_up
from benchmarks.peers.workers.worker import serve


class Ready(BaseRetriever):
    source: str
    turn: int = 0

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.turn += 1
        found = made_up.ready(self.source, self.turn)
        return [Document(hit["content"], id=hit["id"], metadata=hit) for hit in found]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=run_manager)


def turns(sources: int) -> Callable[[int], Any]:
    names = [made_up.SOURCES[number % 3] for number in range(sources)]
    merged = EnsembleRetriever(retrievers=[Ready(source=name) for name in names])
    prompt = ChatPromptTemplate.from_messages([("system", "Answer from this:\n{context}"), ("user", "{question}")])
    shown = RunnableLambda(lambda found: "\n\n".join(f"[{n}] {one.page_content}" for n, one in enumerate(found, 1)))
    model = FakeListChatModel(responses=[made_up.REPLY])
    chain: Any = {"context": merged | shown, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    return lambda number: chain.ainvoke(made_up.asked(number))


def words(size: int) -> Callable[[int], Any]:
    found = BM25Retriever.from_texts(made_up.texts(size), k=10)
    return lambda number: found.invoke(made_up.asked(number, made_up.topics_of(size)))


def ingest(files: int) -> Callable[[int], Any]:
    folder = made_up.markdown_folder(files)
    by_heading = MarkdownHeaderTextSplitter([("#", "h1"), ("##", "h2")])
    by_size = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100)

    def once(_: int) -> int:
        kept: list[Document] = []
        for path in sorted(folder.iterdir()):
            for document in TextLoader(str(path), encoding="utf-8").load():
                kept += by_size.split_documents(by_heading.split_text(document.page_content))
        return len(kept)

    return once


serve({"turn": turns, "words": words, "ingest": ingest})
