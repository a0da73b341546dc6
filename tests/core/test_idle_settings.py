"""A key of a step that is left off is refused, with its place; with its default value it is a notice."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from pydantic import BaseModel

from groundgraph import InMemorySource
from groundgraph.cli.check_config import check_config
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.resources import Resources
from groundgraph.settings.idle_settings import OWNED, idle_settings
from groundgraph.settings.load_settings import Location, _models, load_settings
from groundgraph.settings.settings import INTERNAL, Settings
from groundgraph.settings.topics import TopicIndexOptions
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("F20")

RETRIEVER = {
    "use_embeddings": "true",
    "embedder_model": "'a:b'",
    "default_top_k": 9,
    "stages": "[exact]",
    "stop_at_first_hit": "true",
    "ordering": "stage",
    "lemmatizer": "dictionary",
    "languages": "[de]",
    "vector_weight": 0.9,
}
IDLE = [
    ("intent: {mode: static, num_queries: 7}", "intent.num_queries", "mode: extract"),
    ("result_processing: {rotation_turns: 7}", "result_processing.rotation_turns", "rotation"),
    ("result_processing: {cluster_threshold: 0.9}", "result_processing.cluster_threshold", "cluster_strategy"),
    ("result_processing: {cluster_min_size: 9}", "result_processing.cluster_min_size", "cluster_strategy"),
    ("enhanced_retrieval: {rrf_k: 9}", "enhanced_retrieval.rrf_k", "'fusion'"),
    ("enhanced_retrieval: {max_kb_chars: 9}", "enhanced_retrieval.max_kb_chars", "'budget'"),
    ("enhanced_retrieval: {max_kb_tokens: 9}", "enhanced_retrieval.max_kb_tokens", "'budget'"),
    ("enhanced_retrieval: {max_sub_queries: 9}", "enhanced_retrieval.max_sub_queries", "'decomposition'"),
    ("enhanced_retrieval: {top_k_per_sub_query: 9}", "enhanced_retrieval.top_k_per_sub_query", "'decomposition'"),
    ("enhanced_retrieval: {rewrite_min_words: 9}", "enhanced_retrieval.rewrite_min_words", "'rewrite'"),
    ("enhanced_retrieval: {min_complexity_length: 9}", "enhanced_retrieval.min_complexity_length", "'complexity'"),
    ("category_router: {top_k: 9}", "category_router.top_k", "category_router.enabled"),
    ("tracing: {content: true}", "tracing.content", "tracing.enabled"),
    ("knowledge_base: {weaviate: {prefix: X}}", "knowledge_base.weaviate.prefix", "backend: weaviate"),
    ("checkpointer: {pool_size: 7}", "checkpointer.pool_size", "type: postgres"),
    ("store: {pool_size: 7}", "store.pool_size", "type: postgres"),
    ("checkpointer: {type: memory, path: x}", "checkpointer.path", "type: sqlite"),
    ("store: {type: memory, path: x}", "store.path", "type: sqlite"),
    ("{query_llm: {model: m, provider: p}, intent: {mode: static}}", "query_llm", "a query model"),
    ("intent: {mode: static, use_conversation_context: false}", "intent.use_conversation_context", "mode: extract"),
    ("intent: {include_message_as_query: false}", "intent.include_message_as_query", "mode: static"),
    ("intent: {mode: static, follow_ups: false}", "intent.follow_ups", "mode: extract"),
    (
        "intent: {mode: static, text_queries: [a], include_message_as_query: false, parts: false}",
        "intent.parts",
        "include_message_as_query: true",
    ),
    ("enhanced_retrieval: {stages: [fusion]}", "enhanced_retrieval.stages", "enhanced_autonomous_retrieval"),
    ("category_router: {fallback_categories: [a]}", "category_router.fallback_categories", "category_router.intents"),
    ("fast_path: {enabled: false, languages: [ru]}", "fast_path.languages", "fast_path.enabled"),
    ("result_processing: {min_results: 9}", "result_processing.min_results", "relative_threshold"),
    ("{retrieval: {deduplicate: false}, result_processing: {rrf_k: 9}}", "result_processing.rrf_k", "deduplicate"),
    ("reranker: {type: cohere}", "reranker.type", "reranker.enabled"),
    ("reranker: {provider: cohere}", "reranker.provider", "reranker.enabled"),
    ("reranker: {enabled: true, type: identity, model: m}", "reranker.model", "cohere or fastembed or langchain"),
    ("reranker: {enabled: true, type: identity, folder: a}", "reranker.folder", "fastembed"),
    ("reranker: {enabled: true, type: identity, base_url: 'http://a'}", "reranker.base_url", "cohere"),
    ("reranker: {enabled: true, type: cohere, compressor: 'a:B'}", "reranker.compressor", "langchain"),
    ("reranker: {options: {a: 1}}", "reranker.options", "reranker.enabled"),
    (
        "chains: {query: {filter: identity, candidates_count: 9}}",
        "chains.query.candidates_count",
        "chains.query.reranker",
    ),
    ("chains: {query: {filter: identity, match_cutoff: 0.9}}", "chains.query.match_cutoff", "filter: basic"),
    ("chains: {query: {rerank_cutoff: 0.9}}", "chains.query.rerank_cutoff", "chains.query.reranker"),
    *((f"retriever: {{{name}: {value}}}", f"retriever.{name}", "type cascade") for name, value in RETRIEVER.items()),
    *(
        (f"retriever: {{thresholds: {{{name}: 0.9}}}}", f"retriever.thresholds.{name}", "type cascade")
        for name in ("exact", "lemma", "semantic")
    ),
]
# Whether they have an effect is known when the graph is built: a model or a reranker may be passed in.
IDLE_WHEN_BUILT = [
    ({"intent": {"num_queries": 7}}, {}, "intent.num_queries"),
    ({"intent": {"use_conversation_context": False}}, {}, "intent.use_conversation_context"),
    ({"intent": {"follow_ups": False}}, {"query_model": ScriptedChatModel("a")}, "intent.follow_ups"),
    ({"intent": {"follow_ups": False}}, {"extractor": ScriptedChatModel("{}")}, "intent.follow_ups"),
    ({"reranker": {"threshold": 0.9}}, {}, "reranker.threshold"),
    ({"reranker": {"candidates_count": 9}}, {}, "reranker.candidates_count"),
]


@pytest.mark.parametrize(("text", "key", "switch"), IDLE, ids=[key for _, key, _ in IDLE])
def test_a_key_of_a_step_that_is_off_is_refused_with_its_place(tmp_path, text, key, switch):
    file = tmp_path / "groundgraph.yaml"
    file.write_text(f"# first line\n{text}\n")
    with pytest.raises(ConfigurationError) as error:
        load_settings(file)
    [problem] = error.value.problems
    assert (problem.key, problem.file, problem.line) == (key, str(file), 2)
    assert problem.column > 1
    assert "has no effect without" in problem.message
    assert switch in problem.message
    assert [one.key for one in check_config(file).problems] == [key]


def test_every_condition_has_its_case():
    named = [*(key for _, key, _ in IDLE), *(key for *_, key in IDLE_WHEN_BUILT)]
    keys = [tuple(key.split(".")) for key in named]
    assert {key[:length] for key in keys for length in range(1, len(key) + 1)} & set(OWNED) == set(OWNED)


CASCADE = {"type": "cascade", "name": "a", "path": "a.yaml"}
ENHANCED = {
    "rewrite_min_words": 9,
    "min_complexity_length": 9,
    "max_sub_queries": 9,
    "top_k_per_sub_query": 9,
    "rrf_k": 9,
    "max_kb_chars": 9,
    "max_kb_tokens": 9,
}
COHERE = {"type": "cohere", "model": "m", "base_url": "http://a"}
ON = [
    {"intent": {"num_queries": 7, "use_conversation_context": False}},
    {"intent": {"mode": "static", "text_queries": ["a"], "include_message_as_query": False}},
    {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": ENHANCED},
    {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": ["fusion"]}},
    {"fast_path": {"enabled": True, "languages": ["ru"]}},
    {"result_processing": {"relative_threshold": 0.5, "min_results": 9, "rrf_k": 9}},
    {"reranker": {"enabled": True, "threshold": 0.9, "candidates_count": 9, **COHERE}},
    {"reranker": {"enabled": True, "provider": "cohere"}},
    {"reranker": {"enabled": True, "type": "fastembed", "folder": "a"}},
    {"reranker": {"enabled": True, "type": "langchain", "compressor": "a:B", "options": {"a": 1}}},
    {"chains": {"query": {"filter": "basic", "match_cutoff": 0.9}}},
    {
        "retriever": {
            **{name: yaml.safe_load(str(value)) for name, value in RETRIEVER.items()},
            "thresholds": {"exact": 0.9, "lemma": 0.9, "semantic": 0.9},
        },
        "sources": [CASCADE],
    },
    {"checkpointer": {"path": "x"}, "store": {"path": "x"}},
    {"store": {"type": "postgres", "url": "postgresql://u@h/d", "pool_size": 7}},
    {"result_processing": {"rotation": "demote", "rotation_turns": 7}},
    {"result_processing": {"cluster_strategy": "tfidf", "cluster_threshold": 0.9, "cluster_min_size": 9}},
    {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"rrf_k": 9, "max_kb_chars": 9}},
    {"category_router": {"enabled": True, "top_k": 9}},
    {"tracing": {"enabled": True, "content": True}},
    {"knowledge_base": {"backend": "weaviate", "weaviate": {"prefix": "X"}}},
    {"category_router": {"intents": {"a": ["b"]}, "fallback_categories": ["c"]}},
    {"query_llm": {"model": "m"}},
    {"query_llm": {"model": "m"}, "intent": {"mode": "static"}, "reranker": {"enabled": True}},
    {"query_llm": {"model": "m"}, "intent": {"mode": "static"}, "chains": {"query": {"reranker": "judge"}}},
    {"reranker": {"enabled": True, "type": ["cohere", "identity"], "model": "m", "threshold": 0.9}},
    {"chains": {"query": {"reranker": "judge", "rerank_cutoff": 0.9, "candidates_count": 9}}},
    {"intent": {"follow_ups": False, "num_queries": 7, "parts": False}},
    {"retriever": {"languages": ["de"]}, "sources": [{**CASCADE, "lemmatizer": "dictionary"}]},
    {"retriever": {"thresholds": {"semantic": 0.9}}, "sources": [{**CASCADE, "use_embeddings": True}]},
    {"checkpointer": {"type": "postgres", "url": "postgresql://u@h/d", "pool_size": 7}},
]


@pytest.mark.parametrize("given", ON)
def test_with_its_step_on_it_is_taken(given):
    assert list(idle_settings(load_settings(given))) == []


def test_every_condition_has_a_case_in_which_it_is_met():
    def is_set(given: object, location: Location) -> bool:
        for part in location:
            if not isinstance(given, dict) or part not in given:
                return False
            given = given[part]
        return True

    assert [key for key in OWNED if not any(is_set(given, key) for given in ON)] == []


def test_a_stage_that_is_not_chosen_owns_no_key():
    given = {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": ["reorder"], "rrf_k": 9}}
    with pytest.raises(ConfigurationError, match="its stage 'fusion'"):
        load_settings(given)


def test_the_key_of_a_service_may_stand_in_the_environment_while_the_service_is_not_in_use(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_KNOWLEDGE_BASE__WEAVIATE__API_KEY", "key")
    settings = load_settings({})
    assert settings.knowledge_base.weaviate.api_key is not None
    assert list(idle_settings(settings)) == []


def test_a_default_that_is_written_out_is_a_notice_with_its_place(tmp_path):
    file = tmp_path / "groundgraph.yaml"
    file.write_text("tracing:\n  content: false\n")
    checked = check_config(file)
    assert checked.problems == []
    assert f"{file}:2:3: tracing.content: has no effect without tracing.enabled: true" in checked.notices


@pytest.mark.parametrize(("given", "passed", "key"), IDLE_WHEN_BUILT)
def test_what_a_model_or_a_reranker_decides_is_refused_when_the_graph_is_built(tmp_path, given, passed, key):
    with pytest.raises(ConfigurationError) as error:
        Resources.build(load_settings(given), sources=[InMemorySource(["a"])], **passed)
    assert [problem.key for problem in error.value.problems] == [key]
    assert "has no effect without" in error.value.problems[0].message


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ({"intent": {"num_queries": 7, "use_conversation_context": False}}, {"chat_model": ScriptedChatModel("a")}),
        ({"intent": {"follow_ups": False}}, {}),
        (
            {"reranker": {"threshold": 0.9, "candidates_count": 9}},
            {"reranker": lambda query, found: [1.0 for _ in found]},
        ),
    ],
)
def test_with_the_model_or_the_reranker_it_needs_it_is_taken(given, passed):
    settings = load_settings(given)
    assert Resources.build(settings, sources=[InMemorySource(["a"])], **passed).settings == settings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("synthesis: {instruction: be brief}", "synthesis.instruction: is for a model that writes"),
        ("synthesis: {allow_parametric: bridge}", "synthesis.allow_parametric: is for a model that writes"),
        ("synthesis: {require_citations: false}", "synthesis.require_citations: is for a model that writes"),
        ("knowledge_base: {vector_weight: 0.9}", "knowledge_base.vector_weight: there are no vectors"),
        ("synthesis: {ask_back: true}", "synthesis.ask_back: it is off"),
        ("retrieval: {second_look: true}", "retrieval.second_look: "),
    ],
)
def test_what_may_wait_for_a_model_is_taken_and_a_notice_of_the_check(tmp_path, text, told):
    file = tmp_path / "groundgraph.yaml"
    file.write_text(text)
    assert any(notice.startswith(told) for notice in check_config(file).notices)
    Resources.build(load_settings(file), sources=[InMemorySource(["a"])])
    file.write_text(f"{text}\nllm: {{model: m}}\nembeddings: {{model: m}}")
    assert not any(notice.startswith(told) for notice in check_config(file).notices)


def test_what_a_reranker_from_python_decides_is_a_notice_of_the_check(tmp_path):
    file = tmp_path / "groundgraph.yaml"
    file.write_text("reranker: {threshold: 0.9}\n")
    checked = check_config(file)
    assert checked.problems == []
    assert any("reranker.threshold: has no effect without" in notice for notice in checked.notices)


# Keys that have an effect whatever else is set. A new one is declared here or gets its condition in `OWNED`.
ALWAYS = {
    "": "enhanced_autonomous_retrieval greeting_template store_provenance",
    "llm": "provider model",
    "intent": "mode domain_context max_context_turns scope default_filters",
    "retrieval": "top_k score_threshold merge merge_adjacent deduplicate answerable_threshold doubt_threshold "
    "scope_filters second_look",
    "result_processing": "relative_threshold query_rerank_weight rotation max_kb_chars max_kb_tokens reorder",
    "result_processing.normalize_strategy": "method",
    "result_processing.cluster_strategy": "method threshold min_size",
    # The key of a service is a matter of the environment, which may hold those of services that are not in use.
    "reranker": "enabled api_key",
    # What a style does not use, the style of a run may. `mode` is the older name of a style, which stands in for it.
    "synthesis": "mode style listing require_citations allow_parametric citation_format template provenance_template "
    "instruction evidence_per_source ask_back",
    "synthesis.ask_back": "field model",
    # Vectors come from whatever model a base, a run or a stored file has.
    "embeddings": "provider model languages batch_size folder",
    # `groundgraph move` reads `file` when the base is in Weaviate, `groundgraph ingest` all others.
    "knowledge_base": "path follow_links backend file embeddings vector_weight fields concurrency passwords encodings",
    "knowledge_base.chunker": "strategy max_chunk_size",
    "knowledge_base.metadata": "sidecar",
    "knowledge_base.metadata.rules": "path set",
    "knowledge_base.schemas": "fields content id description",
    "knowledge_base.web": "max_bytes timeout max_redirects user_agent obey_robots allow_private",
    "knowledge_base.reader": "memory seconds",
    # An intent may turn on whatever the type of the index knows (X5).
    "knowledge_base.topic_index": "type scope_profiles",
    "knowledge_base.topic_index.heading_match": "min_word_length min_heading_depth stopwords",
    "chains": "web_pages",
    "chains.documents": "chunker matching_text qualifying_text",
    "chains.query": "transformer reranker filter keep",
    "sources": "type name weight timeout topic_index",
    "checkpointer": "type",
    "store": "type",
    # Bounds hold for whatever a turn does.
    "deadlines": "turn source model",
    "limits": "message_chars long_message model_calls tokens attempts breaker_failures breaker_pause",
    "citation_check": "labels quotes numbers names uncited support links entailment",
    "human_review": "support_below",
    "prompts": "path",
    "fast_path": "enabled",
    "history": "keep_messages",
    "category_router": "enabled intents",
    "server": "metadata_keys page_rate page_uploads",
    "tracing": "enabled",
}
# Keys that their own section refuses where they would have none.
REFUSED = {
    "intent.extraction_config": {"intent": {"mode": "static", "extraction_config": {"model": "m", "provider": "p"}}},
    "intent.output_style_hint": {"intent": {"output_style_hint": "a"}},
    "intent.x_extraction": {"intent": {"x_extraction": {"scope": {"grounding": "skip"}}}},
    "intent.expand_ambiguous_queries": {"intent": {"mode": "static", "expand_ambiguous_queries": True}},
    "intent.include_assistant_context": {"intent": {"include_assistant_context": True}},
    "intent.text_queries": {"intent": {"text_queries": ["a"]}},
    "intent.filters": {"intent": {"filters": {"memory": {}}}},
    "intent.template": {"intent": {"template": "text_queries: [a]"}},
    "checkpointer.url": {"checkpointer": {"url": "postgresql://u@h/d"}},
    "store.url": {"store": {"url": "postgresql://u@h/d"}},
    "result_processing.cluster_strategy.embedding": {
        "result_processing": {"cluster_strategy": {"method": "tfidf", "embedding": {"model": "m"}}}
    },
    **{
        f"knowledge_base.topic_index.{name}": {
            "knowledge_base": {"topic_index": {"type": kind, name: field.get_default(call_default_factory=True)}}
        }
        for name, field in TopicIndexOptions.model_fields.items()
        for kind in ["heading_tree" if re.search("cluster|total|centroid|label", name) else "cluster"]
    },
}


def leaves(model: type[BaseModel], at: Location = (), seen: frozenset[type] = frozenset()) -> Iterator[Location]:
    """Every key below `at`; a section that stands within itself is a key."""
    for name, field in model.model_fields.items():
        inner = [one for one in _models(field.annotation) if one not in seen]
        if not at and name in INTERNAL:
            continue
        for one in inner:
            yield from leaves(one, (*at, name), seen | {one})
        if not inner:
            yield (*at, name)


def test_every_key_of_the_settings_is_declared():
    always = {f"{section}.{name}".lstrip(".") for section, names in ALWAYS.items() for name in names.split()}
    owned = {".".join(map(str, location)) for location in OWNED}
    declared = always | owned | set(REFUSED)
    keys = [tuple(map(str, key)) for key in leaves(Settings)]
    prefixes = {key: {".".join(key[:length]) for length in range(1, len(key) + 1)} for key in keys}
    # A new key has to be declared: as one that always has an effect, or with its condition.
    assert [".".join(key) for key in keys if not prefixes[key] & declared] == []
    assert declared - set().union(*prefixes.values()) == set()
    assert not always & owned
    assert len(keys) > 200


@pytest.mark.parametrize("key", REFUSED)
def test_a_key_that_its_section_refuses_where_it_would_do_nothing(key):
    with pytest.raises(ConfigurationError) as error:
        Resources.build(load_settings(REFUSED[key]), sources=[InMemorySource(["a"], name="memory")])
    assert all(problem.key.startswith(key.rpartition(".")[0]) for problem in error.value.problems)
