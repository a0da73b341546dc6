"""Words and vectors together in the source (R5, K10, K11, faults 39 and 40)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asking import ask, ids, opened
from filled_base import fill
from langchain_core.embeddings import Embeddings

from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, EmbeddingModelChanged
from groundgraph.core.failure import collect_degradations
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.testing import NgramEmbeddings
from groundgraph.text.words import words

NGRAM = Embedder(NgramEmbeddings(), "ngram")


class Meanings(Embeddings):
    """Texts as counts of concepts; a word and its synonyms are one concept."""

    CONCEPTS = (("car", "automobile"), ("doctor", "physician"), ("apple",), ("sea", "ocean"))

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        found = set(words(text))
        return [float(len(found.intersection(concept))) for concept in self.CONCEPTS] + [0.1]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Broken(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("the embedding service is down")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("the embedding service is down")


@asynccontextmanager
async def base(tmp_path: Path, *documents: Document, embedder: Embedder | None, texts=None, asked=None, **options):
    how = {"texts": texts} if texts else {}
    await fill(tmp_path / "kb.sqlite", documents, embedder=embedder, **how)
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite", embedder=asked or embedder, **options)
    try:
        yield source
    finally:
        await source.close()


FLEET = [
    Document("a", "The automobile stands outside."),
    Document("b", "An apple a day."),
    Document("c", "By the sea."),
]


@pytest.mark.covers("R5")
async def test_a_chunk_without_a_common_word_is_found_by_its_vector(tmp_path):
    async with base(tmp_path, *FLEET, embedder=Embedder(Meanings(), "m")) as source:
        found = await ask(source, "car", score_threshold=0.3)
        assert ids(found) == ["a#0"]
        assert found[0].relevance == pytest.approx(found[0].scores["vector"], abs=1e-3)
        assert found[0].scores["lexical"] == 0
        assert found[0].score == found[0].scores["fused"]
        assert found[0].scores["match"] == found[0].relevance
    async with base(tmp_path, *FLEET, embedder=Embedder(Meanings(), "m"), vector_weight=0) as source:
        assert await ask(source, "car") == []


@pytest.mark.covers("R5")
async def test_what_words_and_vectors_both_find_comes_first_and_nothing_is_found_twice(tmp_path):
    documents = [Document("words", "The car apple."), Document("both", "A car."), Document("near", "An automobile.")]
    async with base(tmp_path, *documents, embedder=Embedder(Meanings(), "m")) as source:
        found = ids(await ask(source, "car"))
    assert found[0] == "both#0"
    assert sorted(found) == ["both#0", "near#0", "words#0"]


@pytest.mark.covers("K10")
async def test_a_chunk_is_found_once_by_its_best_matching_text(tmp_path):
    questions = {"a": ["who heals?", "where is the physician"], "b": ["a doctor", "a car", "apple", "the doctor"]}
    documents = [Document(name, f"text {name}") for name in questions]

    def texts(chunk):
        return questions[chunk.document.name]

    embedder = Embedder(Meanings(), "m")
    async with base(tmp_path, *documents, embedder=embedder, texts=texts) as source:
        found = await ask(source, "doctor")
        assert sorted(ids(found)) == ["a#0", "b#0"]
        best = {result.source_id: result.scores["vector"] for result in found}
        for name, candidates in questions.items():
            question = await embedder.embed_query("doctor")
            expected = max(float(row @ question) for row in await embedder.embed_texts(candidates))
            assert best[f"{name}#0"] == pytest.approx(expected, abs=1e-3)
        assert [result.content for result in found] == [f"text {result.metadata['document']}" for result in found]
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite"))
    assert ids(await ask(source, "doctor")) == ["b#0"]
    assert ids(await ask(source, "physician")) == ["a#0"]


@pytest.mark.covers("K10")
async def test_by_words_too_the_best_matching_text_counts_and_the_others_take_nothing_away(tmp_path):
    found_by = {"one": ["house doctor"], "many": ["house plant", "house doctor", "doctor"], "half": ["the doctor"]}
    documents = [Document(name, f"text {name}") for name in found_by]
    async with base(tmp_path, *documents, embedder=None, texts=lambda chunk: found_by[chunk.document.name]) as source:
        found = {result.source_id: result for result in await ask(source, "house doctor")}
    assert found["one#0"].relevance == found["many#0"].relevance == pytest.approx(1.0)
    assert found["one#0"].score == pytest.approx(found["many#0"].score)
    assert found["half#0"].relevance < 0.6


@pytest.mark.covers("R5")
async def test_many_matching_texts_of_one_chunk_do_not_hide_the_other_chunks(tmp_path):
    documents = [Document(f"d{n:02}", f"body {n}") for n in range(40)]

    def texts(chunk):
        return [f"apple question {n}" for n in range(20)]

    async with base(tmp_path, *documents, embedder=None, texts=texts) as source:
        assert len(await ask(source, "apple", top_k=40)) == 40


@pytest.mark.covers("L14")
async def test_a_question_in_a_language_that_the_model_does_not_know_is_searched_by_words_alone(tmp_path):
    model = Meanings()
    embedder = Embedder(model, "m", frozenset({"en"}))
    async with base(tmp_path, Document("a", "море и яблоко"), Document("b", "sea"), embedder=embedder) as source:
        model.asked.clear()
        with collect_degradations() as told:
            assert ids(await ask(source, "яблоки")) == ["a#0"]
        assert (model.asked, told) == ([], [])
        await ask(source, "apples")
        assert model.asked == ["apples"]


@pytest.mark.covers("R5")
@pytest.mark.parametrize("question", ["", "  ", "?!", "\x00", "\ud800", "🙂"])
async def test_a_question_without_words_costs_no_embedding_and_finds_nothing(tmp_path, question):
    model = Meanings()
    async with base(tmp_path, *FLEET, embedder=Embedder(model, "m")) as source:
        model.asked.clear()
        assert await ask(source, question) == []
        assert model.asked == []


@pytest.mark.covers("R7")
async def test_an_embedding_model_that_fails_leaves_the_words_and_is_told(tmp_path, caplog):
    broken = Embedder(Broken(), "m")
    async with base(tmp_path, *FLEET, embedder=Embedder(Meanings(), "m"), asked=broken) as source:
        with collect_degradations() as told:
            assert ids(await ask(source, "apple")) == ["b#0"]
        assert [(one["part"], one["reason"]) for one in told] == [("vectors", "the embedding service is down")]
        await ask(source, "apple", "sea")
    assert "without its vectors: the embedding service is down" in caplog.text


@pytest.mark.covers("R5")
async def test_a_base_without_vectors_is_searched_by_words_and_says_what_to_do(tmp_path):
    model = Meanings()
    async with base(tmp_path, *FLEET, embedder=None, asked=Embedder(model, "m")) as source:
        with collect_degradations() as told:
            assert ids(await ask(source, "apple")) == ["b#0"]
    assert [(entry["part"], "groundgraph ingest" in entry["reason"]) for entry in told] == [("vectors", True)]
    assert model.asked == []


@pytest.mark.covers("R5")
async def test_documents_without_vectors_are_found_by_words_beside_those_that_have_some(tmp_path):
    embedder = Embedder(Meanings(), "m")
    await fill(tmp_path / "kb.sqlite", [Document("old", "apple tart")])
    await fill(tmp_path / "kb.sqlite", FLEET, embedder=embedder)
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite", embedder=embedder))
    found = {result.source_id: result for result in await ask(source, "apple tart", score_threshold=0.3)}
    assert set(found) == {"old#0", "b#0"}
    assert "vector" not in found["old#0"].scores
    assert found["old#0"].relevance == found["old#0"].scores["match"] == pytest.approx(1.0)


@pytest.mark.covers("fault 40")
@pytest.mark.parametrize(
    ("other", "named"),
    [(Embedder(NgramEmbeddings(8), "other"), "'other'"), (Embedder(NgramEmbeddings(8), "m"), r"'m' \(8 numbers\)")],
)
async def test_a_question_in_another_model_or_size_is_refused_and_both_are_named(tmp_path, other, named):
    async with base(tmp_path, *FLEET, embedder=Embedder(Meanings(), "m"), asked=other) as source:
        with pytest.raises(EmbeddingModelChanged, match=rf"'m' \(5 numbers\).*{named}.*ingest --rebuild"):
            await ask(source, "apple")


@pytest.mark.covers("R5")
async def test_a_source_sees_what_was_written_after_its_vectors_were_read(tmp_path):
    embedder = Embedder(Meanings(), "m")
    async with base(tmp_path, *FLEET, embedder=embedder) as source:
        assert ids(await ask(source, "doctor", score_threshold=0.5)) == []
        await fill(tmp_path / "kb.sqlite", [Document("d", "The physician is in.")], embedder=embedder)
        assert ids(await ask(source, "doctor", score_threshold=0.5)) == ["d#0"]


@pytest.mark.covers("fault 76")
async def test_searches_with_vectors_at_once_do_not_mix(tmp_path):
    documents = [Document(f"d{n}", f"word{n}x{n * 7} common", metadata={"n": n}) for n in range(40)]
    async with base(tmp_path, *documents, embedder=NGRAM, fields={"n": {"type": "integer"}}) as source:
        found = await asyncio.gather(*(ask(source, f"word{n}x{n * 7}", top_k=1, n=n) for n in range(40)))
    assert [ids(results) for results in found] == [[f"d{n}#0"] for n in range(40)]


@pytest.mark.covers("R11")
def test_vector_weight_is_an_option_and_a_bad_one_is_refused():
    def entry(weight):
        return SourceOptions("docs", {"vector_weight": weight}, Path("/base"), "sources[0]", embedder=NGRAM)

    assert source_types.get("knowledge_base")(entry(0.7)).name == "docs"
    for bad in (1.5, "much", True):
        with pytest.raises(ConfigurationError, match=r"sources\[0\]\.vector_weight: must be from 0 to 1"):
            source_types.get("knowledge_base")(entry(bad))
    with pytest.raises(ConfigurationError, match="vector_weight"):
        KnowledgeBaseSource("kb.sqlite", vector_weight=-1)
