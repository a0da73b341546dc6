"""A package that is not installed."""

from __future__ import annotations

import sys

import pytest
from langchain.chat_models import base as chat_models
from langchain.embeddings import base as embeddings


def lacking(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the end of a test `module` cannot be imported; LangChain forgets that it ever could."""
    monkeypatch.setitem(sys.modules, module, None)
    chat_models._get_chat_model_creator.cache_clear()
    embeddings._get_embeddings_class_creator.cache_clear()
