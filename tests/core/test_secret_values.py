"""Secrets: where they may stand, and that no message shows one (fault 14, U6)."""

from __future__ import annotations

import pytest

from groundgraph import InMemorySource, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.secret_mask import is_secret_key, masked
from groundgraph.models.chat_model import model_problem
from groundgraph.settings.load_settings import load_settings

pytestmark = pytest.mark.covers("fault 14")

SECRET = "sk-live-0123456789abcdefghij"


def problems(source) -> list:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(source)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value.problems)
    assert caught.value.__cause__ is None
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "key", "variable", "place"),
    [
        ("llm:\n  model: m\n  api_key: {}\n", "llm.api_key", "GROUNDGRAPH_LLM__API_KEY", (3, 3)),
        ("reasoning:\n  query_llm: {{model: m, openai_api_key: '{}'}}\n", "query_llm.openai_api_key",
         "GROUNDGRAPH_QUERY_LLM__OPENAI_API_KEY", (2, 25)),
        ("sources:\n- type: t\n  name: case-db\n  password: {}\n", "sources.0.password",
         "GROUNDGRAPH_SOURCES__CASE_DB__PASSWORD", (4, 3)),
        ("sources:\n- type: t\n  name: a\n  url: postgresql://me:{}@host/db\n", "sources.0.url",
         "GROUNDGRAPH_SOURCES__A__URL", (4, 3)),
        ("sources:\n- type: t\n  headers: {{x: {{authorization: {}}}}}\n", "sources.0.headers.x.authorization",
         "GROUNDGRAPH_SOURCES__KNOWLEDGE_BASE__HEADERS__X__AUTHORIZATION", (3, 17)),
        ("knowledge_base:\n  passwords: {{'*.pdf': {}}}\n", "knowledge_base.passwords",
         "GROUNDGRAPH_KNOWLEDGE_BASE__PASSWORDS", (2, 3)),
    ],
)  # fmt: skip
def test_a_secret_in_the_file_is_refused_with_the_variable_to_use(file, text, key, variable, place):
    [found] = problems(file(text.format(SECRET)))
    assert (found.key, found.line, found.column) == (key, *place)
    assert variable in found.message
    assert "GROUNDGRAPH_SECRETS_DIR" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "llm: {model: m, api_key: null, max_tokens: 99}\n",
        "limits: {tokens: 5000}\n",
        "intent: {default_filters: {docs: {token: access}}}\n",
        "sources: [{type: t, url: 'postgresql://me@host/db', fields: {password: {type: string}}}]\n",
    ],
)
def test_what_only_sounds_like_a_secret_is_no_problem(file, text):
    assert load_settings(file(text))


@pytest.mark.parametrize(
    "text",
    [
        "retrieval:\n  top_k: {0}\n",
        "retrieval: {0}\n",
        "llm:\n  model: [{0}]\n",
        "llm: {{api_key: {0}, api_key: {0}}}\n",
        "llm: {{model: m, api_key: {0}\n",
        "checkpointer: {{type: 'postgresql://me:{0}@host'}}\n",
        "{0}: 1\nllm: {{model: m, api_key: {0}}}\nretrieval: {{top_k: 0}}\n".replace("{0}: 1\n", ""),
    ],
)
def test_no_message_shows_a_secret_whatever_is_wrong_with_the_file(file, text):
    assert problems(file(text.format(SECRET)))


def test_a_secret_in_the_environment_is_used_and_not_shown(file, monkeypatch):
    path = file("llm: {model: m}\nsources: [{type: t, name: case-db}]\n")
    monkeypatch.setenv("GROUNDGRAPH_LLM__API_KEY", SECRET)
    monkeypatch.setenv("GROUNDGRAPH_SOURCES__CASE_DB__PASSWORD", SECRET)
    monkeypatch.setenv("GROUNDGRAPH_SOURCES__CASE_DB__HEADERS__X_KEY", SECRET)
    settings = load_settings(path)
    assert settings.llm.model_extra == {"api_key": SECRET}
    assert settings.sources[0].options == {"password": SECRET, "headers": {"x_key": SECRET}}
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVAL__TOP_K", SECRET)
    [found] = problems(path)
    assert "(given: ***)" in found.message
    assert "GROUNDGRAPH_RETRIEVAL__TOP_K" in found.message


def test_secrets_may_be_files_and_a_variable_wins(file, tmp_path, monkeypatch):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "GROUNDGRAPH_LLM__API_KEY").write_text(f"{SECRET}\n")
    (secrets / "README").write_text("other files are left alone")
    monkeypatch.setenv("GROUNDGRAPH_SECRETS_DIR", str(secrets))
    path = file("llm: {model: m}\n")
    settings = load_settings(path)
    assert settings.llm.model_extra == {"api_key": SECRET}
    monkeypatch.setenv("GROUNDGRAPH_LLM__API_KEY", "other")
    settings = load_settings(path)
    assert settings.llm.model_extra == {"api_key": "other"}


def test_a_secret_that_is_a_link_to_nothing_is_not_passed_over(tmp_path, monkeypatch):
    (tmp_path / "GROUNDGRAPH_LLM__API_KEY").symlink_to(tmp_path / "gone")
    (tmp_path / "other").symlink_to(tmp_path / "gone")
    monkeypatch.setenv("GROUNDGRAPH_SECRETS_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load_settings({})


def test_a_secrets_folder_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_SECRETS_DIR", "/nowhere")
    [found] = problems(None)
    assert found.key == "GROUNDGRAPH_SECRETS_DIR"


def test_options_for_a_source_that_there_is_not_are_a_problem(file, monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_SOURCES__CASES__PASSWORD", SECRET)
    [found] = problems(file("sources: [{type: t, name: case}]\n"))
    assert found.key == "GROUNDGRAPH_SOURCES__CASES"


@pytest.mark.parametrize("section", ["llm", "embeddings", "intent.extraction_config"])
def test_a_missing_key_names_the_variables_to_set(section, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    given = {"provider": "openai", "model": "m"}
    for name in reversed(section.split(".")):
        given = {name: given}
    with pytest.raises(ConfigurationError) as caught:
        turn_graph(load_settings(given), sources=[InMemorySource(name="a")])
    [found] = caught.value.problems
    assert found.key == section
    assert "OPENAI_API_KEY" in found.message
    assert f"GROUNDGRAPH_{section.replace('.', '__').upper()}__API_KEY" in found.message


@pytest.mark.parametrize(
    ("llm", "of_this_machine", "part"),
    [
        ({"provider": "opnai", "model": "m"}, False, "Did you mean 'openai'?"),
        ({"model": "nothing-known"}, False, "names no provider; write provider and model"),
        ({"provider": "openai", "model": "m", "api_key": SECRET, "temperature": "hot"}, False, "temperature: "),
        ({"provider": "openai", "model": "m", "api_key": SECRET, "timeout": {"a": SECRET}}, False, ""),
        ({"provider": "groq", "model": "m"}, True, "pip install langchain-groq"),
    ],
)
def test_no_problem_with_a_model_shows_a_secret(llm, of_this_machine, part):
    problem = model_problem(load_settings({"llm": llm}).llm, "llm")
    if problem is None:
        return
    assert problem.of_this_machine is of_this_machine
    assert part in problem.message
    assert SECRET not in problem.message


@pytest.mark.parametrize("key", ["api_key", "openai_api_key", "apikey", "password", "DB_PASSWORD", "client_secret",
                                 "access_token", "token", "x-api-key"])  # fmt: skip
def test_names_of_secrets(key):
    assert is_secret_key(key)
    assert masked("short", key) == "***"


@pytest.mark.parametrize("key", ["tokens", "max_tokens", "keep_messages", "model", "tokenizer", "keys", "secretary"])
def test_names_of_other_things(key):
    assert not is_secret_key(key)
    assert masked("short", key) == "short"
