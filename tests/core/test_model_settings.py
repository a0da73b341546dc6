"""What the settings of a model show of themselves."""

import pytest

from groundgraph.settings.load_settings import load_settings


@pytest.mark.covers("fault 14")
def test_a_key_of_a_provider_is_not_in_what_settings_show(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_LLM__API_KEY", "key-of-mine")
    settings = load_settings({"llm": {"provider": "openai", "model": "a-model", "temperature": 0.5}})
    assert settings.llm is not None
    assert settings.llm.given["api_key"] == "key-of-mine"
    assert "key-of-mine" not in str(settings.model_dump())
    assert "key-of-mine" not in repr(settings)
    assert "key-of-mine" not in str(settings.llm)
    assert "temperature=0.5" in repr(settings.llm)
