"""The mask: no form of a secret that is known stays in a text, and other text stays as it is."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from groundgraph.core.secret_mask import know_secrets, mask, secrets_in
from groundgraph.settings.load_settings import load_settings

KEY = 'sk-CANARY7Q/+9xZ_pL3vR8m"W2'

pytestmark = pytest.mark.covers("F5", "fault 91")


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        b64(KEY),
        b64(f"Bearer {KEY}"),
        b64(f"u:{KEY}"),
        b64(f"me:{KEY}"),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
        json.dumps(KEY)[1:-1],
        html.escape(KEY),
        KEY.encode().hex(),
        KEY[:8],
        KEY[:15],
        KEY[-9:],
        KEY[6:18],
        f"{KEY[:6]}***{KEY[-3:]}",
        f"{KEY[:3]}{'*' * 24}{KEY[-4:]}",
        f"{KEY[:8]}...{KEY[-4:]}",
        f"{KEY[:5]}…",
    ],
)
def test_no_form_of_a_known_secret_is_left(form):
    know_secrets({"api_key": KEY})
    told = mask(f"Incorrect key: {form}; see the console.")
    assert told.startswith("Incorrect key: ")
    assert told.endswith("; see the console.")
    assert "***" in told
    # What is left of base64 beside the secret: the name in front of it, and the last bits, which two bytes share.
    left = told.removeprefix("Incorrect key: ").removesuffix("; see the console.").replace("***", "")
    assert len(left) <= (14 if form.startswith(("QmVh", "dTp", "bWU6")) else 2)


def test_a_secret_is_known_by_its_name_its_type_its_place_in_an_address_and_in_a_header():
    given = {
        "llm": {"api_key": "key-of-the-model", "max_tokens": 4_000, "model": "gpt-4o-mini-2024-07-18"},
        "reranker": {"api_key": SecretStr("key-of-the-reranker")},
        "sources": [{"url": "postgresql://me:p%40ss-of-the-base@host/db", "filters": {"token": "not-a-secret"}}],
        "headers": {"Authorization": "Bearer key-of-the-header"},
        "knowledge_base": {"passwords": {"*.pdf": "password-of-a-file"}},
        "dsn": "host=h user=me password=pass-of-a-dsn",
        "same": "postgresql://groundgraph:groundgraph@host/db",
    }
    assert set(secrets_in(given)) == {
        "key-of-the-model", "key-of-the-reranker", "p%40ss-of-the-base", "p@ss-of-the-base", "key-of-the-header",
        "password-of-a-file", "pass-of-a-dsn",
    }  # fmt: skip


def test_the_secrets_of_settings_and_of_the_environment_are_known(monkeypatch):
    monkeypatch.setenv("MY_GATEWAY_API_KEY", "gateway-key-0815")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:database-pass@host/db")
    load_settings({"llm": {"model": "m", "base_url": "https://me:proxy-pass@host/v1"}})
    assert mask("gateway-key-0815, database-pass and proxy-pass") == "***, *** and ***"


def test_what_is_written_as_a_secret_is_masked_though_nobody_knows_it():
    assert mask("boom secret=abc123 at https://me:pw@host/") == "boom secret=*** at https://me:***@host/"
    assert mask("Authorization: Bearer abc.def, api_key: 'xyz'") == "Authorization: Bearer ***, api_key: '***'"
    assert mask("Incorrect API key provided: CANARY-1. Find yours.") == "Incorrect API key provided: *** Find yours."


@pytest.mark.parametrize(
    "text",
    ["", "connection refused by 127.0.0.1:8080", "unexpected token: x in **bold** ... text", "keys and passwords"],
)
def test_other_text_stays_as_it_is(text):
    know_secrets({"api_key": KEY})
    assert mask(text) == text


def test_a_short_secret_is_masked_as_a_whole_word_only():
    know_secrets({"password": "abcd"})
    assert mask("abcd abcde 'abcd'") == "*** abcde '***'"


def test_masked_twice_is_masked_once():
    know_secrets({"api_key": KEY})
    told = mask(f"{KEY} {KEY[:6]}***{KEY[-3:]} secret=abc https://u:p@h/ {b64(KEY)}")
    assert mask(told) == told


def test_settings_show_no_secret_however_they_are_printed():
    given = {
        "llm": {"provider": "openai", "model": "m", "api_key": "key-of-the-model",
                "base_url": "https://me:pass-in-base-url@host/v1",
                "default_headers": {"Authorization": "Bearer in-a-header"}},
        "checkpointer": {"type": "postgres", "url": "postgresql://me:pass-of-threads@host/db"},
        "sources": [{"type": "t", "name": "c", "password": "pass-of-a-source",
                     "options": {"api_key": "key-of-a-source"}}],
        "knowledge_base": {"passwords": {"*.pdf": "pass-of-a-file"}, "weaviate": {"api_key": "key-of-weaviate"}},
        "reranker": {"api_key": "key-of-the-reranker"},
    }  # fmt: skip
    settings = load_settings(given)
    shown = [str(settings.model_dump()), settings.model_dump_json(), repr(settings), str(settings)]
    shown += [str(settings.llm.model_dump()), repr(settings.checkpointer), str(settings.sources[0].model_dump())]
    for text in shown:
        for word in ("key-of", "pass-of", "pass-in", "in-a-header"):
            assert word not in text
    assert settings.llm.given["api_key"] == "key-of-the-model"
    assert settings.checkpointer.url == "postgresql://me:pass-of-threads@host/db"
    assert settings.sources[0].options["password"] == "pass-of-a-source"
