"""`CascadeRetriever` (C2): document 004's four methods, plain and asynchronous, alone, configured, and in a turn."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from turns import ask, build

from groundgraph import CascadeRetriever, load_settings, turn_graph
from groundgraph.cli import doctor_checks
from groundgraph.cli.check_config import check_config
from groundgraph.cli.doctor_checks import Finding, examine, probe_sources
from groundgraph.core.errors import ConfigurationError, FilterInvalid, ScopeMissing, SourceUnavailable
from groundgraph.core.failure import collect_degradations
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.resources import Resources
from groundgraph.sources.cascade import CascadeSource
from groundgraph.sources.conformance import check_source
from groundgraph.testing import NgramEmbeddings

PRICING = """\
title: Pricing
sections:
  monthly_rate:
    title: Monthly rates
    keywords: [rate]
    facts: [The monthly rate is 990 roubles., "Paid for a year, it is 790."]
    urls: [{title: Prices, url: "https://example.org/p"}, "https://example.org/q"]
  discount:
    facts: [A discount on the monthly rate is ten percent.]
    urls: ["https://example.org/q", {title: Offers, url: "https://example.org/o"}]
  margin: {facts: [Our margin on the rate is sixty percent.], sensitive: true}
"""
RATE = "What is the monthly rate?"
FAQ = "sections:\n  support: {facts: [Support tells every rate within an hour.]}\n"


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge"
    folder.mkdir()
    (folder / "pricing.yaml").write_text(PRICING)
    (folder / "faq.yaml").write_text(FAQ)
    return folder


@pytest.fixture
def retriever(knowledge: Path) -> CascadeRetriever:
    return CascadeRetriever(knowledge)


def settings(knowledge: Path, **sections: Any) -> Any:
    entry = {"type": "cascade", "name": "sales", "path": str(knowledge), "vectors": str(knowledge / "v.sqlite")}
    return load_settings({"sources": [entry], **sections})


def keys(results: Any) -> list[str]:
    return [result.key for result in results]


@pytest.mark.covers("C2")
def test_search_gives_the_best_sections_as_many_as_the_default_says(retriever, knowledge):
    results = retriever.search(RATE)
    assert keys(results) == ["monthly_rate", "discount"]
    assert [result.rank for result in results] == [1, 2]
    assert (results[0].stage, results[0].score) == ("exact", 1.0)
    assert len(retriever.search("rate", top_k=3)) == 3
    assert len(CascadeRetriever(knowledge, default_top_k=1).search("rate")) == 1
    assert retriever.search("rate", top_k=0) == []


@pytest.mark.covers("C2")
def test_retrieve_gives_the_facts_as_one_text(retriever):
    assert retriever.retrieve(RATE) == (
        "## Pricing > Monthly rates\n- The monthly rate is 990 roubles.\n- Paid for a year, it is 790.\n\n"
        "## Pricing\n- A discount on the monthly rate is ten percent."
    )
    assert retriever.retrieve("zeppelin") == ""


@pytest.mark.covers("C2")
def test_retrieve_with_urls_gives_each_address_once_in_the_order_of_the_sections(retriever):
    text, urls = retriever.retrieve_with_urls(RATE)
    assert text == retriever.retrieve(RATE)
    assert urls == [
        {"title": "Prices", "url": "https://example.org/p"},
        {"title": "", "url": "https://example.org/q"},
        {"title": "Offers", "url": "https://example.org/o"},
    ]


@pytest.mark.covers("C2")
def test_an_address_that_comes_again_keeps_its_first_place_and_title(tmp_path):
    urls = {"a": "[{title: First, url: 'https://a'}]", "b": "['https://b']", "c": "['https://a', 'https://c']"}
    sections = [
        f"  {key}: {{facts: [rate], priority: {9 - n}, urls: {given}}}" for n, (key, given) in enumerate(urls.items())
    ]
    (tmp_path / "k.yaml").write_text("\n".join(["sections:", *sections]))
    _, found = CascadeRetriever(tmp_path).retrieve_with_urls("rate", top_k=3)
    told = [(link["url"], link["title"]) for link in found]
    assert told == [("https://a", "First"), ("https://b", ""), ("https://c", "")]


@pytest.mark.covers("C2")
def test_search_with_stats_tells_time_candidates_and_hits_under_the_same_filter(retriever):
    results, stats = retriever.search_with_stats("rate", categories=["faq", "nonsense"], top_k=10)
    assert keys(results) == ["support"]
    assert (stats["query"], stats["categories"], stats["unknown_categories"]) == ("rate", ["faq"], ["nonsense"])
    assert (stats["sections"], stats["results"]) == (1, 1)
    assert stats["elapsed_ms"] > 0
    shown = {name: (stage["ran"], stage["candidates"], stage["hits"]) for name, stage in stats["stages"].items()}
    assert shown == {"exact": (True, 0, 0), "lemma": (True, 1, 1), "semantic": (False, 0, 0)}
    assert stats["stages"]["semantic"]["reason"] == "embeddings are off"
    assert all(stage["elapsed_ms"] >= 0 for stage in stats["stages"].values())
    _, everywhere = retriever.search_with_stats("rate")
    assert everywhere["stages"]["lemma"]["candidates"] == 3


@pytest.mark.covers("C2")
def test_filters_narrow_and_wrong_ones_are_refused(retriever):
    assert keys(retriever.search("rate", filters={"key": "discount"})) == ["discount"]
    with pytest.raises(FilterInvalid):
        retriever.search("rate", filters={"titel": "x"})
    with pytest.raises(SourceUnavailable):
        CascadeRetriever("nowhere").search("rate")


@pytest.mark.covers("C2")
def test_embeddings_switch_the_semantic_stage_on(knowledge):
    retriever = CascadeRetriever(knowledge, embeddings=NgramEmbeddings(), vectors=knowledge / "v.sqlite")
    _, stats = retriever.search_with_stats("monthly rates")
    assert stats["stages"]["semantic"]["ran"]
    off = CascadeRetriever(knowledge, embeddings=NgramEmbeddings(), use_embeddings=False)
    assert not off.search_with_stats("monthly rates")[1]["stages"]["semantic"]["ran"]


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tresholds": {}}, "Did you mean 'thresholds'?"),
        ({"use_embeddings": True}, "pass `embeddings`"),
        ({"embedder_model": "openai:x"}, "pass the model itself as `embeddings`"),
        ({"thresholds": {"lemma": 2}}, "thresholds.lemma"),
    ],
)
def test_an_option_that_cannot_work_is_refused(knowledge, options, told):
    with pytest.raises(ConfigurationError, match=told.replace("?", r"\?")):
        CascadeRetriever(knowledge, **options)


@pytest.mark.covers("C2")
def test_a_source_that_is_built_already_takes_no_options(knowledge):
    assert keys(CascadeRetriever(CascadeSource(knowledge)).search("rate"))
    for given in ({"stages": ["exact"]}, {"name": "sales"}, {"description": "x"}, {"vectors": "v.sqlite"}):
        with pytest.raises(ConfigurationError, match="takes no name, no options"):
            CascadeRetriever(CascadeSource(knowledge), **given)


@pytest.mark.covers("C2")
async def test_the_retriever_keeps_the_contract_of_a_source(retriever):
    (await check_source(retriever, query="the monthly rate")).raise_for_failures()


@pytest.mark.covers("C2")
async def test_the_retriever_is_a_source_of_a_turn(retriever):
    output = await ask(build(base={}, sources=[retriever]), RATE)
    assert output["outcome"] == "answered"
    [citation, *_] = output["citations"]
    assert citation["source_id"] == "pricing/monthly_rate"
    assert citation["url"] == "https://example.org/p"
    assert citation["section"] == "Pricing > Monthly rates"


@pytest.mark.covers("C2")
@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What is the warranty on the pro plan?", "warranty"),
        ("Hello, could you please remind me what the price is?", ""),
        ("Is there any money back?", ""),
    ],
)
async def test_what_a_keyword_covers_is_no_answer_to_the_rest_of_the_question(tmp_path, question, missing):
    pro = "pro: {title: Pro plan, keywords: [pro, price], facts: [It costs 49 euros a month.]}"
    refund = "refund: {keywords: [money back], facts: [We return every payment within two weeks.]}"
    (tmp_path / "plans.yaml").write_text(f"sections:\n  {pro}\n  {refund}\n")
    output = await ask(turn_graph(sources=[CascadeRetriever(tmp_path)]), question)
    assert output["outcome"] == "answered"
    assert [note for note in output["notes"] if "may not be answered" in note and missing in note] == (
        [f"The question may not be answered here: no passage that was found mentions {missing}."] if missing else []
    )


@pytest.mark.covers("C1")
async def test_a_configured_cascade_answers_a_turn(knowledge):
    output = await ask(turn_graph(settings(knowledge)), RATE)
    assert output["citations"][0]["source_name"] == "sales"
    assert "sixty percent" not in str(output)


class Down(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("no route")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route")


@pytest.mark.covers("R7")
async def test_an_outage_of_the_embedding_model_is_told_and_never_looks_like_ignorance(knowledge):
    graph = turn_graph(settings(knowledge, retriever={"use_embeddings": True}), embeddings=Down())
    output = await ask(graph, RATE)
    assert output["outcome"] == "answered"
    assert any('"sales" was searched without its vectors' in note for note in output["notes"])
    lost = await ask(graph, "Where do giraffes live?")
    assert lost["outcome"] == "unavailable"


TEMPLATE = "text_queries: ['{{ message }}']\ncategories: [nonsense]"


@pytest.mark.covers("C1")
@pytest.mark.parametrize(
    ("question", "outcome", "told"),
    [
        (RATE, "answered", "there is no category 'nonsense', so all were searched"),
        ("Where do giraffes live?", "insufficient", "there is no category 'nonsense', so all were searched"),
        ("Какая скидка?", "insufficient", "без выбранных категорий"),
    ],
)
async def test_a_category_that_does_not_exist_is_told_and_is_no_outage(knowledge, question, outcome, told):
    graph = turn_graph(settings(knowledge, intent={"mode": "template", "template": TEMPLATE}))
    output = await ask(graph, question)
    assert output["outcome"] == outcome
    assert any(told in note for note in output["notes"])


# What the section `retriever` does


def retrieved(knowledge: Path, **sections: Any) -> tuple[list[Any], dict[str, Any]]:
    retriever = CascadeRetriever.open(settings(knowledge, **sections), embeddings=NgramEmbeddings())
    return retriever.search_with_stats(RATE)


@pytest.mark.covers("U6")
def test_every_key_of_the_section_retriever_does_something(knowledge):
    plain, stats = retrieved(knowledge)
    assert len(plain) == 2
    assert not stats["stages"]["semantic"]["ran"]
    assert len(retrieved(knowledge, retriever={"default_top_k": 1})[0]) == 1
    assert retrieved(knowledge, retriever={"use_embeddings": True})[1]["stages"]["semantic"]["ran"]
    _, strict = retrieved(knowledge, retriever={"thresholds": {"exact": 2, "lemma": 0.99}})
    thresholds = {name: stage["threshold"] for name, stage in strict["stages"].items()}
    assert thresholds == {"exact": 2.0, "lemma": 0.99, "semantic": 0.5}
    assert strict["stages"]["exact"]["hits"] == 0
    _, exact = retrieved(knowledge, retriever={"stages": ["exact"]})
    assert list(exact["stages"]) == ["exact"]
    _, stopped = retrieved(knowledge, retriever={"stop_at_first_hit": True})
    assert not stopped["stages"]["lemma"]["ran"]


@pytest.mark.covers("U6")
def test_null_and_an_empty_section_are_the_defaults(knowledge):
    for section in (None, {}, {"thresholds": None, "default_top_k": None}, {"thresholds": {"lemma": None}}):
        assert settings(knowledge, retriever=section).retriever == settings(knowledge).retriever


@pytest.mark.covers("U6")
def test_the_environment_sets_the_section_retriever(knowledge, monkeypatch, tmp_path):
    file = tmp_path / "groundgraph.yaml"
    file.write_text("sources: [{type: cascade, name: sales, path: knowledge}]")
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVER__DEFAULT_TOP_K", "1")
    assert len(CascadeRetriever.open(load_settings(file)).search("rate")) == 1


@pytest.mark.covers("C1")
def test_an_entry_overrides_the_section_key_by_key(knowledge):
    entry = {"type": "cascade", "name": "own", "path": str(knowledge), "thresholds": {"lemma": 0.4}}
    given = load_settings({"sources": [entry], "retriever": {"thresholds": {"exact": 2}, "default_top_k": 3}})
    _, stats = CascadeRetriever.open(given).search_with_stats("rate")
    assert [stage["threshold"] for stage in stats["stages"].values()] == [2.0, 0.4, 0.5]
    assert stats["results"] == 3


@pytest.mark.covers("C1")
def test_the_embedding_model_is_that_of_the_key_or_of_the_section_embeddings(knowledge, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    names: list[str | None] = []
    for retriever in (
        {"use_embeddings": True},
        {"use_embeddings": True, "embedder_model": "openai:own"},
        {"use_embeddings": True, "embedder_model": {"provider": "openai", "model": "mapped"}},
        {"use_embeddings": False},
    ):
        given = settings(knowledge, retriever=retriever, embeddings={"provider": "openai", "model": "shared"})
        for passed in (None, NgramEmbeddings()):
            [source] = Resources.build(given, embeddings=passed).sources.values()
            assert isinstance(source, CascadeSource)
            names.append(source.embedder.name if source.embedder else None)
    ngrams = "NgramEmbeddings"
    assert names == ["openai:shared", ngrams, "openai:own", ngrams, "openai:mapped", ngrams, None, None]


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"use_embeddings": True, "embedder_model": "nobody:model"}, "retriever.embedder_model"),
        ({"use_embeddings": True, "embedder_model": {"model": "m", "batch_size": 0}}, "retriever.embedder_model"),
        ({"use_embeddings": True}, "sources[0].use_embeddings"),
    ],
)
def test_a_model_that_cannot_be_built_is_refused_when_the_graph_is_built(knowledge, section, key):
    with pytest.raises(ConfigurationError) as caught:
        Resources.build(settings(knowledge, retriever=section))
    assert caught.value.problems[0].key.startswith(key)


@pytest.mark.covers("U6")
@pytest.mark.parametrize(
    ("retriever", "problem", "notice"),
    [
        ("{use_embeddings: false, embedder_model: 'nobody:model'}", "has no effect without a source of type", ""),
        ("{use_embeddings: true, embedder_model: 'nobody:model'}", "there is no provider of embeddings 'nobody'", ""),
        ("{use_embeddings: true}", "", "sources[0].use_embeddings: cannot be used"),
    ],
)
def test_the_check_of_a_configuration_looks_at_the_embedding_model_too(tmp_path, retriever, problem, notice):
    file = tmp_path / "groundgraph.yaml"
    (tmp_path / "k.yaml").write_text("sections: {a: {facts: x}}")
    file.write_text(f"sources:\n  - {{type: cascade, name: sales, path: k.yaml}}\nretriever:\n  {retriever}\n")
    checked = check_config(file)
    assert [(one.line, problem in one.message) for one in checked.problems] == [(4, True)] * bool(problem)
    assert [one.startswith(notice) for one in checked.notices] == [True] * bool(notice)


@pytest.mark.covers("C1")
async def test_doctor_and_sources_tell_what_is_wrong_with_a_file_and_where(knowledge, monkeypatch):
    monkeypatch.setattr(doctor_checks, "server_packages", lambda: Finding("server", "ok", "not looked at"))
    [probed] = await probe_sources(settings(knowledge, retriever={"use_embeddings": True}))
    assert (probed.answers, probed.documents, probed.chunks) == (True, 2, 3)
    assert probed.fields == {"category": "string", "key": "string", "priority": "integer"}
    (knowledge / "faq.yaml").write_text("sections:\n  a: {fact: [x]}\n")
    told = [one.message for one in await examine(settings(knowledge)) if one.state == "fail"]
    assert [f"{knowledge / 'faq.yaml'}:2:7: sections.a.fact: is not a known key." in one for one in told] == [True]


@pytest.mark.covers("fault 60")
async def test_the_filters_of_a_configuration_hold_for_its_categories_too(knowledge):
    scoped = settings(knowledge, intent={"default_filters": {"sales": {"category": "faq"}}})
    assert list(await CascadeRetriever.open(scoped).categories()) == ["faq"]
    assert list(await CascadeRetriever.open(scoped).categories({"category": "pricing"})) == []


@pytest.mark.covers("C1")
async def test_a_turn_tells_nothing_of_a_sensitive_section_that_is_wrong(knowledge):
    graph = turn_graph(settings(knowledge))
    await ask(graph, RATE)
    secret = "sections:\n  boss_pay: {facts: x, sensitive: true, urls: ['intranet/?pw=4711']}\n"
    for entry in (knowledge / "faq.yaml", knowledge / "pricing.yaml"):
        entry.write_text(secret)
        turn = await ask(graph, RATE)
        assert "faq.yaml, line 2, is wrong" in str(turn["provenance"]["sources"])
        assert not any(word in str(turn) for word in ("boss_pay", "4711"))
    turn = await ask(turn_graph(sources=[CascadeSource(knowledge)]), RATE)
    assert turn["outcome"] == "unavailable"
    assert "faq.yaml, line 2, is wrong, and 1 more" in str(turn["provenance"]["sources"])
    assert not any(word in str(turn) for word in ("boss_pay", "4711", str(knowledge)))


@pytest.mark.covers("C1", "S8")
def test_no_graph_is_built_over_a_file_that_was_never_right(knowledge):
    (knowledge / "faq.yaml").write_text("sections:\n  a: {fact: [x]}\n")
    with pytest.raises(ConfigurationError, match=r"faq\.yaml:2:7: sections\.a\.fact: is not a known key\."):
        turn_graph(settings(knowledge))


@pytest.mark.covers("U6")
def test_settings_without_models_have_a_cascade_without_embeddings(knowledge):
    entry = {"type": "cascade", "name": "sales", "path": str(knowledge), "use_embeddings": True}
    for given in (
        load_settings({"sources": [{**entry, "stages": ["semantic"]}]}),
        load_settings({"sources": [entry], "retriever": {"use_embeddings": True, "stages": ["semantic"]}}),
    ):
        with pytest.raises(ConfigurationError):
            Resources.build(given)
        [source] = Resources.build(given.without_models()).sources.values()
        assert isinstance(source, CascadeSource)
        assert source.embedder is None


# What comes from the rest of a configuration


@pytest.mark.covers("I8")
def test_default_filters_of_the_configuration_hold_in_every_call(knowledge):
    given = settings(knowledge, intent={"default_filters": {"sales": {"category": "faq"}}})
    retriever = CascadeRetriever.open(given)
    assert keys(retriever.search("rate")) == ["support"]
    assert retriever.search("rate", filters={"category": "pricing"}) == []
    assert retriever.search("rate", categories=["pricing"]) == []
    assert asyncio.run(retriever.query(RetrievalIntent(["rate"], {"sales": {"category": "pricing"}}))) == []


@pytest.mark.covers("I8")
async def test_a_narrower_filter_of_a_call_holds_beside_that_of_the_configuration(knowledge):
    both = {"default_filters": {"sales": {"category": ["faq", "pricing"]}}}
    retriever = CascadeRetriever.open(settings(knowledge, intent=both))
    faq = {"category": "faq"}
    assert keys(await retriever.asearch("rate", filters=faq)) == ["support"]
    found = await retriever.query(RetrievalIntent(["rate"], {"sales": faq}))
    assert [result.source_id for result in found] == ["faq/support"]
    listed = await retriever.query(RetrievalIntent([], {"sales": {"key": "support"}}, categories=["faq", "pricing"]))
    assert [result.source_id for result in listed] == ["faq/support"]
    assert list(await retriever.categories({"category": {"not": "faq"}})) == ["pricing"]
    with pytest.raises(FilterInvalid):
        await retriever.asearch("rate", filters={"category": {"like": "faq"}})


@pytest.mark.covers("R13")
def test_scope_filters_of_the_configuration_need_their_value(knowledge):
    given = settings(knowledge, retrieval={"scope_filters": {"sales": {"category": "context.desk"}}})
    with pytest.raises(ScopeMissing, match=r"context\.desk"):
        CascadeRetriever.open(given)
    assert keys(CascadeRetriever.open(given, scope={"desk": "faq"}).search("rate")) == ["support"]


@pytest.mark.covers("I8", "R13")
@pytest.mark.parametrize(
    ("scoped", "told"),
    [({"category": "context.desk"}, "has a default filter too"), ({"desk": "context.desk"}, "no field")],
)
def test_scope_filters_that_a_graph_refuses_are_refused_alone_too(knowledge, scoped, told):
    intent = {"default_filters": {"sales": {"category": "faq"}}}
    given = settings(knowledge, intent=intent, retrieval={"scope_filters": {"sales": scoped}})
    for opening in (turn_graph, partial(CascadeRetriever.open, scope={"desk": "pricing"})):
        with pytest.raises(ConfigurationError, match=told):
            opening(given)


@pytest.mark.covers("R13")
async def test_scope_filters_hold_in_a_turn(knowledge):
    graph = turn_graph(settings(knowledge, retrieval={"scope_filters": {"sales": {"category": "context.desk"}}}))
    output = await ask(graph, RATE, context={"scope": {"desk": "faq"}})
    assert {citation["source_id"] for citation in output["citations"]} == {"faq/support"}


@pytest.mark.covers("C2")
def test_one_of_several_cascades_is_named(knowledge):
    entries = [{"type": "cascade", "name": name, "path": str(knowledge)} for name in ("one", "two")]
    given = load_settings({"sources": entries})
    assert CascadeRetriever.open(given, source="two").name == "two"
    for source, told in ((None, "name one of"), ("three", "no cascade source 'three'; known: one, two")):
        with pytest.raises(ConfigurationError, match=told):
            CascadeRetriever.open(given, source=source)


@pytest.mark.covers("C1")
def test_results_are_reranked_and_cut_by_the_threshold_of_the_reranker(knowledge):
    def judge(query: str, results: Any) -> list[float]:
        said = {"hour": 0.9, "ten percent": 0.5}
        return [next((n for words, n in said.items() if words in one.content), 0.2) for one in results]

    retriever = CascadeRetriever.open(settings(knowledge), reranker=judge)
    results, stats = retriever.search_with_stats(RATE, top_k=10)
    assert keys(results) == ["support", "discount"], "0.5 is not below the threshold of 0.5"
    assert [result.rank for result in results] == [1, 2]
    assert [result.relevance for result in results] == [0.9, 0.5]
    assert (stats["rerank"]["judged"], stats["rerank"]["kept"], stats["results"]) == (3, 2, 2)
    few = CascadeRetriever.open(settings(knowledge, reranker={"candidates_count": 1, "threshold": 0}), reranker=judge)
    assert keys(few.search(RATE)) == ["monthly_rate"]


@pytest.mark.covers("fault 39")
async def test_a_reranker_that_fails_leaves_the_order_and_is_told(knowledge):
    asked: list[str] = []

    def failing(query: str, results: Any) -> list[float]:
        asked.append(query)
        raise RuntimeError("out of order")

    retriever = CascadeRetriever.open(settings(knowledge), reranker=failing)
    with collect_degradations() as told:
        results, stats = await retriever.asearch_with_stats(RATE)
    assert keys(results) == ["monthly_rate", "discount"]
    assert "out of order" in stats["rerank"]["reason"]
    assert [one["part"] for one in told] == ["reranker"]
    asked.clear()
    assert await retriever.asearch("zeppelin") == []
    assert asked == []


@pytest.mark.covers("C2")
def test_a_prompt_of_the_users_own_shapes_the_text(knowledge, tmp_path):
    (tmp_path / "prompts").mkdir()
    template = "{% for section in sections %}{{ section.key }} {% endfor %}"
    (tmp_path / "prompts" / "cascade_facts.jinja2").write_text(template)
    given = settings(knowledge, prompts={"path": str(tmp_path / "prompts")})
    assert CascadeRetriever.open(given).retrieve(RATE) == "monthly_rate discount"
