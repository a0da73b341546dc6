"""The chains that a configuration asks for (K3, K6, K7)."""

from __future__ import annotations

import pytest

from groundgraph.core.chain import IDENTITY, IngestChains, QueryChains
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.errors import ConfigurationError, ModelError
from groundgraph.ingest.builtin_chains import (
    CutoffFilter,
    WrittenQuery,
    chains_without_model,
    check_chains,
    ingest_chains,
    query_chains,
)
from groundgraph.ingest.chunkers import HeadingChunker, WholeTextChunker
from groundgraph.ingest.judge import Judge
from groundgraph.ingest.matching_texts import ContentWithHeadings, TitleHeadingsLead, WrittenMatchingTexts
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import call_chain
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Reply, ScriptedChatModel

MODEL = ScriptedChatModel("x")
SCHEMAS = {"schemas": {"facts": {"fields": {"text": {"type": "string"}}}}}


def query(model=None, kinds=None, **chosen) -> QueryChains:
    return query_chains(load_settings({"chains": {"query": chosen, **(kinds or {})}}), model=model)


def ingest_documents(settings, model):
    return ingest_chains(settings, "documents", model=model)


def problems(chains: dict, **settings) -> list[tuple[str, str]]:
    loaded = load_settings({"chains": chains, **settings})
    return [(problem.key, problem.message) for problem in check_chains(loaded, Prompts.of(loaded))]


@pytest.mark.covers("K5")
def test_the_defaults_need_no_model_and_change_nothing_for_a_query():
    settings = load_settings({})
    assert ingest_chains(settings, "documents", model=MODEL) == IngestChains(
        HeadingChunker(800), TitleHeadingsLead(), ContentWithHeadings()
    )
    assert query_chains(settings, model=MODEL) == IDENTITY
    assert chains_without_model(settings) == []


@pytest.mark.covers("K7")
def test_each_kind_of_data_has_its_own_chains():
    chains = {
        "web_pages": {"chunker": "identity"},
        "facts": {"matching_text": {"name": "questions", "at_most": 2}},
    }
    settings = load_settings({"chains": chains, "knowledge_base": SCHEMAS})
    built = {kind: ingest_chains(settings, kind, model=MODEL) for kind in ("documents", "web_pages", "facts", "other")}
    assert isinstance(built["web_pages"].chunker, WholeTextChunker)
    assert isinstance(built["facts"].matching_texts, WrittenMatchingTexts)
    assert isinstance(built["facts"].chunker, HeadingChunker)
    assert built["other"] == built["documents"]
    assert built["documents"].matching_texts == ContentWithHeadings()


@pytest.mark.covers("K7")
def test_bindings_is_another_name_of_chains():
    bound = load_settings({"bindings": {"documents": {"chunker": "identity"}}, "chains": {"query": {"keep": 3}}})
    assert bound.chains.documents.chunker == "identity"
    assert bound.chains.query.keep == 3
    below = load_settings({"reasoning": {"bindings": {"query": {"keep": 4}}}})
    assert below.chains.query.keep == 4


@pytest.mark.covers("K5")
def test_the_chunk_size_is_that_of_the_base_unless_the_chain_has_its_own():
    def size(chunker):
        settings = {
            "knowledge_base": {"chunker": {"max_chunk_size": 400}},
            "chains": {"documents": {"chunker": chunker}},
        }
        return ingest_chains(load_settings(settings), "documents").chunker.max_chunk_size

    assert size("document") == 400
    assert size({"name": "document", "max_chunk_size": 200}) == 200


@pytest.mark.covers("K6")
def test_candidates_and_keep_reach_the_query_chains():
    built = query(candidates_count=7, keep=3)
    assert (built.candidates_count, built.keep) == (7, 3)
    assert (query().candidates_count, query().keep) == (30, None)


@pytest.mark.covers("K6")
def test_a_model_transforms_and_judges():
    built = query(MODEL, transformer="question", reranker="judge")
    assert isinstance(built.transformer, WrittenQuery)
    assert isinstance(built.reranker, Judge)
    assert query(transformer="question", reranker="judge") == IDENTITY


@pytest.mark.covers("K6")
def test_the_filter_is_on_only_with_a_reranker_or_generated_matching_texts():
    questions = {"web_pages": {"matching_text": "questions"}}
    assert query(MODEL).filter is None
    assert query(MODEL, reranker="judge").filter == CutoffFilter(0.5, 0.5)
    assert query(MODEL, questions).filter == CutoffFilter(0.5, 0.5)
    assert query(None, questions, reranker="judge").filter is None, "nothing is generated without a model"
    assert query(MODEL, reranker="judge", filter="identity").filter is None


@pytest.mark.covers("K6")
def test_the_cutoffs_are_those_of_the_section_or_of_the_filter():
    assert query(MODEL, reranker="judge", match_cutoff=0.95, rerank_cutoff=0.1).filter == CutoffFilter(0.95, 0.1)
    own = {"name": "basic", "match_cutoff": 0.97, "rerank_cutoff": 0}
    assert query(MODEL, reranker="judge", match_cutoff=0.1, filter=own).filter == CutoffFilter(0.97, 0)


@pytest.mark.covers("K3")
@pytest.mark.parametrize("section", ["documents", "web_pages", "query"])
def test_an_unknown_chain_offers_the_nearest(section):
    key, wrong = ("reranker", "juge") if section == "query" else ("chunker", "documnt")
    [(where, message)] = problems({section: {key: wrong}})
    assert where == f"chains.{section}.{key}"
    assert "Did you mean" in message
    assert "Known: " in message
    assert "identity" in message


@pytest.mark.covers("K3")
@pytest.mark.parametrize(
    ("chains", "key", "told"),
    [
        (
            {"documents": {"chunker": {"name": "document", "max_size": 3}}},
            "documents.chunker.max_size",
            "max_chunk_size",
        ),
        (
            {"documents": {"chunker": {"name": "document", "max_chunk_size": 3}}},
            "documents.chunker.max_chunk_size",
            "100",
        ),
        ({"documents": {"chunker": {"name": "identity", "x": 3}}}, "documents.chunker.x", "It has none."),
        ({"documents": {"chunker": {"max_chunk_size": 300}}}, "documents.chunker", "needs `name`"),
        ({"query": {"reranker": {"name": "judge", "method": "magic"}}}, "query.reranker.method", "'grades'"),
        ({"query": {"filter": {"name": "basic", "match_cutoff": 2}}}, "query.filter.match_cutoff", "1"),
        ({"documents": {"matching_text": {"name": "content", "x": 1}}}, "documents.matching_text.x", "It has none."),
        (
            {"documents": {"matching_text": {"name": "questions", "prompt": "own"}}},
            "documents.matching_text.prompt",
            "no",
        ),
        ({"documents": {"qualifying_text": {"name": "place", "document_chars": 0}}}, "documents.qualifying_text", "0"),
    ],
)
def test_a_wrong_option_is_refused_whether_a_model_is_there_or_not(chains, key, told):
    [(where, message)] = problems(chains)
    assert where.startswith(f"chains.{key}")
    assert told in message
    settings = load_settings({"chains": chains})
    build = query_chains if key.startswith("query") else ingest_documents
    with pytest.raises(ConfigurationError):
        build(settings, model=MODEL)


@pytest.mark.covers("K3")
def test_every_problem_is_listed_once():
    found = problems({"documents": {"matching_text": "a", "chunker": "b"}, "query": {"reranker": "c", "filter": "d"}})
    assert sorted(key for key, _ in found) == [
        "chains.documents.chunker",
        "chains.documents.matching_text",
        "chains.query.filter",
        "chains.query.reranker",
    ]


# The chains that a model writes, with options of theirs, and what stands in without one.
WRITTEN = [
    ("chunker", "digest", {"stretch_chars": 500}, HeadingChunker(800)),
    ("qualifying_text", "summary", {"document_chars": 5}, TitleHeadingsLead()),
    ("qualifying_text", "place", {"document_chars": 5}, TitleHeadingsLead()),
    ("matching_text", "questions", {"at_most": 3}, ContentWithHeadings()),
    ("matching_text", "description", {"with_content": True}, ContentWithHeadings()),
]


def chain_of(kind: str, choice: object, model=None):
    built = ingest_documents(load_settings({"chains": {"documents": {kind: choice}}}), model)
    return {"chunker": built.chunker, "qualifying_text": built.qualifying_text}.get(kind, built.matching_texts)


@pytest.mark.covers("K1", "K5")
@pytest.mark.parametrize(("kind", "name", "options", "instead"), WRITTEN)
def test_without_a_model_the_deterministic_chain_takes_the_place_and_the_signature_follows_the_options(
    kind, name, options, instead
):
    assert chain_of(kind, name) == instead
    choices = [name, {"name": name, **options}, "identity", {"chunker": "document"}.get(kind, "content")]
    if kind == "qualifying_text":
        choices[3:] = ["document", {"name": "document", "lead_chars": 5}]
    assert len({chain_of(kind, choice, MODEL).signature for choice in choices}) == len(choices)


@pytest.mark.covers("K5")
@pytest.mark.parametrize(("kind", "name"), [row[:2] for row in WRITTEN])
@pytest.mark.parametrize("reply", [Reply(status=400), Reply("")])
async def test_a_failing_model_is_an_error_of_the_document_and_no_silent_stand_in(kind, name, reply):
    document = Document("d", "# Advice\n\nBe brief.\n", MARKDOWN)
    chunks = HeadingChunker()(document)
    arguments = {"chunker": (document,), "qualifying_text": (document, chunks)}.get(kind, (chunks[0], ""))
    with pytest.raises(ModelError):
        await call_chain(chain_of(kind, name, ScriptedChatModel([reply])), *arguments)


@pytest.mark.covers("K5")
def test_what_a_configuration_without_a_model_does_instead_is_told():
    chains = {
        "documents": {"chunker": "digest", "matching_text": {"name": "questions"}, "qualifying_text": "summary"},
        "query": {"transformer": "question", "reranker": "judge"},
    }
    told = chains_without_model(load_settings({"chains": chains}))
    assert [line.split(": ")[0].removeprefix("chains.") for line in told] == [
        "documents.chunker",
        "documents.qualifying_text",
        "documents.matching_text",
        "query.transformer",
        "query.reranker",
    ]
    assert told[2].endswith("'questions' needs a model; without one, 'content' takes its place")
