"""The semantic stage (C1): vectors are made once and kept, and an outage of the model does not look like ignorance."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings
from plant_database import rows_of

from groundgraph import turn_graph
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import EmbeddingFailed
from groundgraph.core.failure import collect_degradations
from groundgraph.core.intent import RetrievalIntent
from groundgraph.settings.search import RetrieverSettings
from groundgraph.sources.cascade import CascadeSource
from groundgraph.sources.cascade import section_vectors as section_vectors_module
from groundgraph.sources.cascade.knowledge import KnowledgeFiles
from groundgraph.sources.cascade.section_vectors import SectionVectors, VectorCache, text_hash
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("C1")


class Counting(Embeddings):
    """The n-gram model, which remembers what it was asked to embed and can be down."""

    def __init__(self, dimensions: int = 64) -> None:
        self.inner = NgramEmbeddings(dimensions)
        self.texts: list[str] = []
        self.questions: list[str] = []
        self.down = False

    def embed_query(self, text: str) -> list[float]:
        self._answer()
        self.questions.append(text)
        return self.inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self._answer()
        self.texts += texts
        return self.inner.embed_documents(list(texts))

    def _answer(self) -> None:
        if self.down:
            raise ConnectionError("no route to the embedding service")


@pytest.fixture
def model() -> Counting:
    return Counting()


def source(folder: Path, model: Embeddings, languages: frozenset[str] = frozenset()) -> CascadeSource:
    return CascadeSource(folder, embedder=Embedder(model, "ngrams", languages), vectors=folder / "vectors.sqlite")


async def test_sections_are_embedded_once_and_a_question_for_itself(shop, model):
    asked = source(shop, model)
    for question in ("rates", "support", "rates"):
        _, report = await asked.run(question)
        assert report.stages[2].ran
    assert len(model.texts) == 5
    assert model.questions == ["rates", "support", "rates"]
    assert "Monthly rates\nThe monthly rate is 990 roubles per cash desk.\nPaid for a year, it is 790 roubles." in (
        model.texts
    )


async def test_vectors_outlive_the_process(shop, model):
    await source(shop, model).run("rates")
    again = Counting()
    results, _ = await source(shop, again).run("rates")
    assert again.texts == []
    assert "semantic" in results[0].scores


async def test_only_changed_sections_are_embedded_again(shop, model):
    asked = source(shop, model)
    await asked.run("rates")
    model.texts.clear()
    text = (shop / "faq.yaml").read_text("utf-8").replace("two weeks", "a month")
    (shop / "faq.yaml").write_text(text, "utf-8")
    os.utime(shop / "faq.yaml", ns=(1, 1))
    await asked.run("rates")
    assert model.texts == ["The trial lasts a month and asks for no card."]


async def test_another_model_has_vectors_of_its_own(shop, model):
    await source(shop, model).run("rates")
    other = Counting()
    await CascadeSource(shop, embedder=Embedder(other, "other"), vectors=shop / "vectors.sqlite").run("rates")
    assert len(other.texts) == 5


@pytest.mark.covers("fault 40")
async def test_vectors_of_another_dimension_are_made_anew(shop, model):
    await source(shop, model).run("rates")
    wider = Counting(128)
    _, report = await source(shop, wider).run("rates")
    assert report.stages[2].ran
    assert len(wider.texts) == 5


class TwoSizes(Counting):
    def embed_query(self, text: str) -> list[float]:
        return NgramEmbeddings(32).embed_query(text)


@pytest.mark.covers("fault 40")
async def test_a_model_of_two_sizes_is_told_with_both(shop):
    with collect_degradations() as told:
        results, report = await source(shop, TwoSizes()).run("rates")
    assert results[0].stage == "exact" or results[0].stage == "lemma"
    assert report.stages[2].reason == told[0]["reason"]
    assert "64 numbers for a section and 32 for a question" in told[0]["reason"]


async def test_an_outage_of_the_model_leaves_the_words_and_is_told(shop, model):
    model.down = True
    with collect_degradations() as told:
        found = await source(shop, model).query(RetrievalIntent(["rates"]))
    assert [result.source_id for result in found] == ["pricing/monthly_rate"]
    failure = {"kind": "unreachable", "type": "ConnectionError", "part": "step"}
    assert told == [{"part": "vectors", "reason": "no route to the embedding service", "failure": failure}]
    model.down = False
    with collect_degradations() as told:
        await source(shop, model).query(RetrievalIntent(["rates"]))
    assert told == []


async def test_an_outage_while_sections_are_embedded_keeps_what_was_made(shop):
    class Failing(Counting):
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            made = super().embed_documents(texts)
            self.down = True
            return made

    model = Failing()
    embedder = Embedder(model, "ngrams", batch_size=2)
    asked = CascadeSource(shop, embedder=embedder, vectors=shop / "vectors.sqlite")
    with collect_degradations() as told:
        _, report = await asked.run("rates")
    assert told
    assert not report.stages[2].ran
    assert len(model.texts) == 2
    again = Counting()
    await source(shop, again).run("rates")
    assert len(again.texts) == 3


async def test_a_question_waits_for_new_vectors_for_a_while_only(shop, model, monkeypatch):
    vectors = SectionVectors(Embedder(model, "ngrams", batch_size=1), shop / "vectors.sqlite")
    knowledge = KnowledgeFiles([shop]).current()
    for made in (1, 2, 3, 4):
        with pytest.raises(EmbeddingFailed, match=f"vectors of {5 - made} sections are not computed yet"):
            await vectors.rows(knowledge, 64, patience=-1)
        assert len(model.texts) == made
    rows = await vectors.rows(knowledge, 64, patience=-1)
    assert rows.shape == (5, 64)


async def test_questions_at_once_embed_the_sections_once(shop, model):
    asked = source(shop, model)
    await asyncio.gather(*(asked.run(f"rates {number}") for number in range(8)))
    assert len(model.texts) == 5


async def test_two_loops_at_two_states_of_the_files_each_get_their_own_vectors(shop, model):
    files = KnowledgeFiles([shop])
    before = files.current()
    (shop / "faq.yaml").unlink()
    after = files.current()

    class Interrupted(Counting):
        """Is asked for the newer state while it embeds the older one."""

        rows = None

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            if self.rows is None:
                self.rows = ()
                self.rows = asyncio.run(vectors.rows(after, 64))
            return super().embed_documents(texts)

    slow = Interrupted()
    vectors = SectionVectors(Embedder(slow, "ngrams", batch_size=2), shop / "vectors.sqlite")
    rows = await vectors.rows(before, 64)
    assert slow.rows.shape == (len(after.sections), 64)
    assert rows.shape == (len(before.sections), 64)
    assert (await vectors.rows(before, 64)).shape == rows.shape


async def test_a_model_is_not_asked_in_a_language_that_it_does_not_know(shop, model):
    with collect_degradations() as told:
        _, report = await source(shop, model, frozenset({"en"})).run("какие ставки")
    assert (model.questions, told) == ([], [])
    assert not report.stages[2].ran
    assert "no words in a language" in report.stages[2].reason
    _, report = await source(shop, model, frozenset({"en"})).run("what rates")
    assert report.stages[2].ran


async def test_a_place_where_nothing_can_be_written_costs_the_cache_and_nothing_else(shop, model, caplog):
    blocked = shop / "faq.yaml" / "vectors.sqlite"
    asked = CascadeSource(shop, embedder=Embedder(model, "ngrams"), vectors=blocked)
    for _ in range(2):
        _, report = await asked.run("rates")
        assert report.stages[2].ran
    assert len(model.texts) == 5
    assert "will be computed again" in caplog.text


async def test_a_damaged_file_of_vectors_is_done_without(shop, model, caplog):
    (shop / "vectors.sqlite").write_bytes(b"no database" * 100)
    _, report = await source(shop, model).run("rates")
    assert report.stages[2].ran
    assert "will be computed again" in caplog.text


async def test_sections_near_in_meaning_are_found_without_a_common_word(shop):
    class Meanings(Embeddings):
        """Knows that money and roubles have to do with each other."""

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0] if "rouble" in text or "money" in text else [0.0, 1.0]

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    [result] = (await source(shop, Meanings()).run("money"))[0]
    assert (result.key, result.stage, result.score) == ("monthly_rate", "semantic", 1.0)
    [shown] = await source(shop, Meanings()).query(RetrievalIntent(["money"]))
    assert shown.scores == {"lemma": 0.0, "semantic": 1.0, "vector": 1.0, "lexical": 1.0, "held": 1.0}
    assert shown.relevance == 1.0


def test_the_cache_gives_back_what_it_was_given(tmp_path):
    import numpy as np

    cache = VectorCache(tmp_path / "new" / "vectors.sqlite", "m")
    made = {text_hash(f"text {number}"): np.full(3, number, dtype=np.float32) for number in range(1200)}
    assert cache.load(list(made)) == {}
    cache.save(made)
    loaded = cache.load([*made, text_hash("unknown")])
    assert loaded.keys() == made.keys()
    assert all((loaded[name] == made[name]).all() for name in made)
    assert rows_of(tmp_path / "new" / "vectors.sqlite", "SELECT count(*) FROM vectors") == [(1200,)]


def test_the_patience_is_below_the_deadline_of_a_source():
    from groundgraph.settings.services import DeadlineSettings

    assert DeadlineSettings().source > section_vectors_module.PATIENCE


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    ("question", "told"),
    [("What are the rates?", "it is searched by nothing else"), ("Какие сейчас ставки?", "иного поиска в нём нет")],
)
async def test_where_vectors_alone_are_searched_no_note_says_that_words_were(shop, model, question, told):
    settings = RetrieverSettings(stages=["semantic"], use_embeddings=True)
    model.down = True
    english = Embedder(model, "ngrams", frozenset({"en"}))
    asked = CascadeSource(shop, embedder=english, settings=settings, vectors=shop / "vectors.sqlite")
    turn = await turn_graph(sources=[asked]).ainvoke({"question": question})
    assert turn["outcome"] == "unavailable"
    assert any(told in note for note in turn["notes"])
