"""Any of LangChain's document compressors as a reranker (P4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document

from groundgraph.answers.strategy_chain import Judged
from groundgraph.core.errors import RerankerFailed
from groundgraph.core.evidence import SourceResult
from groundgraph.graph.configured_reranker import by_compressor

pytestmark = pytest.mark.covers("P4")


class Compressor(BaseDocumentCompressor):
    work: Any

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        return self.work(list(documents), query)


async def judged(work) -> list[Judged]:
    found = [SourceResult(text, text, "s", "memory", metadata={"page": 1}) for text in ("alpha", "beta", "gamma")]
    return await by_compressor(Compressor(work=work))("question", found)


async def test_a_compressor_sees_texts_with_metadata_and_the_question():
    seen: list[Any] = []

    def work(documents, query):
        seen.extend([query, [document.page_content for document in documents], documents[0].metadata["page"]])
        return documents

    assert await judged(work) == [Judged(0, None), Judged(1, None), Judged(2, None)]
    assert seen == ["question", ["alpha", "beta", "gamma"], 1]


async def test_its_order_its_selection_and_its_scores_count():
    def work(documents, query):
        for document, score in zip(documents, (0.2, 0.9), strict=False):
            document.metadata["relevance_score"] = score
        return [documents[1], documents[0]]

    assert await judged(work) == [Judged(1, 0.9), Judged(0, 0.2)]


@pytest.mark.parametrize("score", [7.3, -1.0, True, "0.5", None])
async def test_a_number_of_another_scale_is_no_score(score):
    def work(documents, query):
        return [document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
                for document in documents[:1]]  # fmt: skip

    assert await judged(work) == [Judged(0, None)]


async def test_new_documents_are_recognised_by_their_text_and_repeated_ones_count_once():
    assert await judged(lambda documents, query: [Document("gamma"), Document("alpha"), Document("gamma")]) == [
        Judged(2, None), Judged(0, None),
    ]  # fmt: skip


async def test_a_document_that_was_not_given_is_refused():
    with pytest.raises(RerankerFailed):
        await judged(lambda documents, query: [Document("made up")])


async def test_a_shortened_text_stands_for_the_candidate_it_came_from():
    def work(documents, query):
        return [documents[2].model_copy(update={"page_content": "gam"})]

    assert await judged(work) == [Judged(2, None)]
