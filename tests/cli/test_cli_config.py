"""`groundgraph config`: everything that is wrong, each with its place (U5, U6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from lacking_package import lacking

pytestmark = pytest.mark.covers("U6")

CONFIGS = Path(__file__).parent.parent / "core" / "configs"


def test_a_right_file_is_said_to_be_right(call, tmp_path):
    (tmp_path / "a.yaml").write_text("retrieval:\n  top_k: 3\n")
    ran = call("config", "check", "a.yaml")
    assert (ran.code, ran.out, ran.err) == (0, "a.yaml: no problems.\n", "")
    assert call("config", "check", "a.yaml", "--json").json == {"ok": True, "errors": [], "notices": []}
    assert not (tmp_path / ".groundgraph").exists()


@pytest.mark.covers("fault 9")
def test_every_problem_is_a_line_with_file_line_and_column(call, tmp_path):
    (tmp_path / "a.yaml").write_text("retrieval:\n  top_kk: 3\n  top_k: 0\ncategory_router: {top_k: 0}\n")
    ran = call("config", "check", "a.yaml")
    assert ran.code == 2
    places = [line.split(": ")[:2] for line in ran.out.splitlines()]
    assert places == [
        ["a.yaml:2:3", "retrieval.top_kk"],
        ["a.yaml:3:3", "retrieval.top_k"],
        ["a.yaml:4:19", "category_router.top_k"],
    ]
    ran = call("config", "check", "a.yaml", "--json")
    assert ran.code == 2
    assert ran.json["ok"] is False
    assert ran.json["errors"][0] == {
        "file": "a.yaml",
        "line": 2,
        "column": 3,
        "key": "retrieval.top_kk",
        "message": "is not a known key. Did you mean 'top_k'?",
    }


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        (
            "intent:\n  default_filters:\n    knowledge_base:\n      nope: 3\n",
            "intent.default_filters.knowledge_base",
            3,
        ),
        ("sources:\n- name: a\n  type: vector_kb\n- name: b\n  type: vectr_kb\n", "sources[1].type", 5),
        ("synthesis:\n  template: '{{ open '\n", "synthesis.template", 2),
        ("intent:\n  mode: template\n  template: '{{ open '\n", "intent.template", 3),
        (
            "sources:\n- type: memory\n  name: a\n  schema:\n    fields:\n      year: {typ: integer}\n",
            "sources[0].schema.fields.year.typ",
            6,
        ),
        (
            "sources:\n- type: database\n  name: a\n  backend: memory\n  schema:\n    fields: [{name: b, typ: date}]\n",
            "sources[0].schema.fields.b.typ",
            6,
        ),
        (
            "knowledge_base:\n  schemas:\n    product:\n      fields:\n        year: {typ: integer}\n",
            "knowledge_base.schemas.product.fields.year.typ",
            5,
        ),
        ("sources:\n- type: memory\n  name: a\n  schema: words\n", "sources[0].schema", 4),
        ("sources:\n- type: memory\n  name: a\n  records: a.csv\n", "sources[0].records", 4),
        ("fast_path: {}\ngreeting_template: '{{ open '\n", "greeting_template", 2),
        ("fast_path: {}\ngreeting_template: '{{ nobody }}'\n", "greeting_template", 2),
        ("llm:\n  provider: opnai\n  model: m\n", "llm", 1),
        ("reasoning:\n  intent:\n    mode: template\n", "intent.template", 2),
        ("intent:\n  extraction_config:\n    provider: opnai\n    model: m\n", "intent.extraction_config", 2),
        ("intent:\n  output_style_hint: h\n", "intent.output_style_hint", 2),
    ],
)
def test_what_only_building_finds_is_found_and_placed(call, tmp_path, text, key, line):
    (tmp_path / "a.yaml").write_text(text)
    ran = call("config", "check", "a.yaml", "--json")
    assert ran.code == 2
    [found] = ran.json["errors"]
    assert (found["key"], found["file"], found["line"]) == (key, "a.yaml", line)
    assert not (tmp_path / ".groundgraph").exists()


@pytest.mark.covers("K7")
@pytest.mark.parametrize("section", ["chains", "bindings"])
def test_bad_chains_are_found_with_their_places_beside_bad_sources(call, tmp_path, section):
    (tmp_path / "a.yaml").write_text(
        f"{section}:\n  documents:\n    chunker: documnt\n    matching_text: {{name: questions, at_most: 0}}\n"
        "  query:\n    reranker:\n      name: judge\n      prompt: nope\nsources:\n- type: vectr_kb\n"
    )
    ran = call("config", "check", "a.yaml", "--json")
    assert ran.code == 2
    assert [(found["line"], found["column"], found["key"]) for found in ran.json["errors"]] == [
        (3, 5, "chains.documents.chunker"),
        (4, 38, "chains.documents.matching_text.at_most"),
        (8, 7, "chains.query.reranker.prompt"),
        (10, 3, "sources[0].type"),
    ]


@pytest.mark.covers("K5")
def test_chains_that_need_a_model_are_a_notice_where_none_is_configured(call, tmp_path):
    (tmp_path / "a.yaml").write_text("chains: {documents: {matching_text: questions}}\n")
    [notice] = call("config", "check", "a.yaml", "--json").json["notices"]
    assert notice.startswith("chains.documents.matching_text: 'questions' needs a model")
    (tmp_path / "a.yaml").write_text(
        "llm: {provider: groq, model: m}\nchains: {documents: {matching_text: questions}}\n"
    )
    [notice] = call("config", "check", "a.yaml", "--json").json["notices"]
    assert notice.startswith("llm: ")


def test_the_minimal_configuration_is_right_with_notices(call, monkeypatch):
    lacking("langchain_ollama", monkeypatch)
    ran = call("config", "check", str(CONFIGS / "minimal_config.yaml"))
    assert ran.code == 0
    assert "Notice: knowledge_base.embeddings: cannot be used on this machine as it is: " in ran.err
    assert "groundgraph[ollama]" in ran.err
    ran = call("config", "check", str(CONFIGS / "minimal_config.yaml"), "--json")
    assert ran.json["ok"] is True
    assert [notice.split(":")[0] for notice in ran.json["notices"]] == ["llm", "knowledge_base.embeddings"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("synthesis: {style: conversational}\n", "synthesis.style: 'conversational' is written by a model"),
        ("citation_check: {numbers: refuse}\n", "citation_check.numbers: judges what a model wrote"),
        (
            "sources: [{type: sql, name: shop, url: 'sqlite:///gone.db', table: orders}]\n",
            "sources.0: there is no database",
        ),
    ],
)
def test_what_has_no_effect_or_no_file_here_is_a_notice(call, tmp_path, text, told):
    (tmp_path / "a.yaml").write_text(text)
    ran = call("config", "check", "a.yaml", "--json")
    assert ran.code == 0
    [notice] = ran.json["notices"]
    assert notice.startswith(told)
    (tmp_path / "gone.db").touch()
    (tmp_path / "a.yaml").write_text(f"{text}llm: {{provider: groq, model: m}}\n")
    assert told not in " ".join(call("config", "check", "a.yaml", "--json").json["notices"])


@pytest.mark.covers("fault 14", "I2", "P4")
@pytest.mark.parametrize(
    ("text", "key", "variable"),
    [
        ("llm: {provider: openai, model: m}\n", "llm", "OPENAI_API_KEY"),
        ("intent: {extraction_config: {provider: openai, model: m}}\n", "intent.extraction_config", "OPENAI_API_KEY"),
        ("reranker: {enabled: true, type: cohere}\n", "reranker", "CO_API_KEY"),
    ],
)
def test_a_missing_key_is_a_matter_of_this_machine_and_names_the_variable(
    call, tmp_path, monkeypatch, text, key, variable
):
    monkeypatch.delenv(variable, raising=False)
    (tmp_path / "a.yaml").write_text(text)
    ran = call("config", "check", "a.yaml", "--json")
    [notice] = ran.json["notices"]
    assert ran.code == 0
    assert notice.startswith(key)
    assert variable in notice


def test_the_file_may_be_left_out_or_given_as_an_option(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("nope: 1\n")
    for arguments in (["--json"], ["--config", "groundgraph.yaml", "--json"]):
        ran = call("config", "check", *arguments)
        assert (ran.code, ran.json["errors"][0]["key"]) == (2, "nope")


def test_two_files_are_wrong_use(call, tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("{}\n")
    ran = call("config", "check", "a.yaml", "--config", "b.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "Invalid value for FILE: is named twice, as FILE and by --config; name one" in ran.err


def test_without_any_file_it_is_wrong_use_and_a_missing_file_is_a_problem(call):
    assert call("config", "check").code == 2
    ran = call("config", "check", "gone.yaml", "--json")
    assert ran.code == 2
    [problem] = ran.json["errors"]
    assert (problem["file"], problem["line"]) == ("gone.yaml", 0)
    assert problem["message"].startswith("there is no such file. It was looked for in ")


def test_a_bad_variable_of_the_environment_is_a_problem_too(call, tmp_path):
    (tmp_path / "a.yaml").write_text("{}\n")
    ran = call("config", "check", "a.yaml", GROUNDGRAPH_RETRIEVAL__TOP_K="0")
    assert ran.code == 2
    assert ran.out.startswith("a.yaml:1:1: retrieval.top_k: ")
    assert "GROUNDGRAPH_RETRIEVAL__TOP_K" in ran.out


def test_the_schema_is_json(call):
    schema = call("config", "schema").json
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"retrieval", "reasoning", "reranker"} <= set(schema["properties"])
    assert call("config", "schema", "--json").json == schema


@pytest.mark.covers("B11")
def test_mistakes_in_sources_are_told_together_with_the_others(call, tmp_path):
    sources = "- {type: memory, name: a, records: [b], recrods: 1}\n- {type: memry, name: b}\n"
    for text in (
        f"sources:\n{sources}retrieval: {{top_kk: 1}}\n",
        "reasoning:\n  sources:\n" + "".join(f"  {line}\n" for line in sources.splitlines()) + "top_kk: 1\n",
    ):
        (tmp_path / "a.yaml").write_text(text)
        ran = call("config", "check", "a.yaml", "--json")
        told = {error["key"]: error["line"] for error in ran.json["errors"]}
        assert [key.partition(".")[2] or key for key in told][:2] == ["recrods", "type"]
        assert len(told) == 3
        assert all(told.values())


@pytest.mark.covers("B11")
@pytest.mark.parametrize("section", ["llm", "query_llm", "embeddings"])
def test_an_address_that_is_empty_is_refused(call, tmp_path, section):
    (tmp_path / "a.yaml").write_text(f'{section}: {{provider: openai, model: m, base_url: ""}}\n')
    ran = call("config", "check", "a.yaml")
    assert ran.code == 2
    assert "`base_url` is empty" in ran.out


@pytest.mark.covers("fault 34")
def test_a_check_that_asks_no_source_says_who_does(call, tmp_path):
    (tmp_path / "a.yaml").write_text("sources:\n- {name: pumps, type: sql, url: 'postgresql://127.0.0.1:9/none'}\n")
    ran = call("config", "check", "a.yaml")
    assert (ran.code, ran.out) == (0, "a.yaml: no problems.\n")
    assert "No source was searched: `groundgraph doctor` asks each of them." in ran.err
    (tmp_path / "a.yaml").write_text("retrieval: {top_k: 3}\n")
    assert "doctor" not in call("config", "check", "a.yaml").err


@pytest.mark.covers("fault 13", "fault 32")
def test_of_a_database_that_cannot_be_asked_nobody_says_that_it_lacks_a_field(call, tmp_path):
    source = "sources:\n- {name: pumps, type: sql, table: pumps, url: 'postgresql://reader@127.0.0.1:9/none'}\n"
    default = "intent: {mode: static, default_filters: {pumps: {hall: B}}}\n"
    (tmp_path / "a.yaml").write_text(source)
    ran = call("config", "check", "a.yaml")
    assert ran.code == 0
    assert "Notice: The source 'pumps': PostgreSQL at 127.0.0.1:9/none cannot answer" in ran.err
    (tmp_path / "a.yaml").write_text(f"{source}{default}retrieval: {{scope_filters: {{pumps: {{owner: user.id}}}}}}\n")
    for command in (["config", "check", "a.yaml"], ["ask", "Which pump?", "--config", "a.yaml"]):
        ran = call(*command)
        assert ran.code == 2
        told = ran.out + ran.err
        for field in ("hall", "owner"):
            assert f"Whether the source 'pumps' has a field '{field}' is not known: The source 'pumps': Post" in told
        assert "has no field" not in told


@pytest.mark.covers("fault 32")
@pytest.mark.parametrize("language", ["en", "ru", "de"])
def test_a_damaged_file_is_told_as_one_and_nobody_is_told_to_ask_again_later(call, tmp_path, language):
    (tmp_path / ".groundgraph").mkdir()
    (tmp_path / ".groundgraph" / "knowledge_base.sqlite").write_bytes(b"no database" * 1_000)
    (tmp_path / "pumps.db").write_bytes(b"no database" * 1_000)
    sources = "sources:\n- {name: pumps, type: sql, url: 'sqlite:///pumps.db'}\nknowledge_base: {}\n"
    (tmp_path / "groundgraph.yaml").write_text(sources)
    told = call("config", "check")
    assert (told.code, "cannot be read: file is not a database" in told.err) == (0, True)
    question = {"en": "Which pump leaks?", "ru": "Какой насос течёт?", "de": "Welche Pumpe ist undicht?"}[language]
    ran = call("ask", question)
    assert ran.code == 3
    later = {"en": "ask again later", "ru": "позже", "de": "später"}[language]
    damaged = {"en": "its file is damaged", "ru": "файл повреждён", "de": "die Datei ist beschädigt"}[language]
    assert later not in ran.out
    assert ran.out.count(damaged) == 2
