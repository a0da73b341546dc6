"""The arguments that graphs and bots have in common, said once (U1)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundgraph import (
    AsyncQueryBot,
    CascadeRetriever,
    InMemorySource,
    KnowledgeBase,
    QueryBot,
    ingest_graph,
    load_settings,
    open_graph,
    retrieval_graph,
    turn_graph,
)
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.parts import GraphParts, Models, Parts
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("U1")

MODELS = {"chat_model", "query_model", "embeddings"}
PARTS = MODELS | {"sources", "reranker", "extractor", "support_judge"}
GRAPH_PARTS = PARTS | {"checkpointer", "store"}
TAKEN: list[tuple[Callable[..., Any], set[str], set[str]]] = [
    (turn_graph, {"settings"}, GRAPH_PARTS),
    (retrieval_graph, {"settings"}, GRAPH_PARTS),
    (ingest_graph, {"settings"}, {"source", "knowledge_store", "within", "workers"} | GRAPH_PARTS),
    (open_graph, {"settings"}, PARTS),
    (KnowledgeBase.open, {"settings"}, {"source"} | MODELS),
    (CascadeRetriever.open, {"settings"}, {"source", "reranker", "scope"} | MODELS),
    (QueryBot, {"system_prompt", "docstore"}, {"memory", "model_name", "settings", "log"} | MODELS),
    (AsyncQueryBot, {"system_prompt", "docstore"}, {"memory", "model_name", "settings", "log"} | MODELS),
]
CASES = [pytest.param(*case, id=case[0].__qualname__) for case in TAKEN]


@pytest.mark.parametrize(("taker", "needed", "optional"), CASES)
def test_a_signature_names_every_argument(taker: Callable[..., Any], needed: set[str], optional: set[str]) -> None:
    taken = inspect.signature(taker).parameters
    assert set(taken) == needed | optional
    assert {name for name, one in taken.items() if one.default is one.empty} == needed - {"settings"}
    assert taken["settings"].default is None
    assert all(taken[name].default is None for name in optional)
    by_place = {name for name in optional if taken[name].kind is not inspect.Parameter.KEYWORD_ONLY}
    # As LlamaBot has it.
    assert by_place == ({"memory"} if "memory" in optional else set())


@pytest.mark.parametrize(("taker", "needed", "optional"), CASES)
def test_a_name_that_is_not_known_is_refused_with_the_one_that_was_meant(
    taker: Callable[..., Any], needed: set[str], optional: set[str]
) -> None:
    values: dict[str, Any] = {"settings": load_settings({}), "system_prompt": "Be brief.", "docstore": InMemorySource()}
    given = {name: values[name] for name in needed}
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'chat_modle'\. Did you mean 'chat_model'\?"):
        taker(**given, chat_modle=ScriptedChatModel([]))


def test_every_part_is_documented_once() -> None:
    texts = [declared.__doc__ or "" for declared in (Models, Parts, GraphParts)]
    documented = [name for text in texts for name in re.findall(r"^ {4}(?:    )?(\w+): ", text, re.MULTILINE)]
    assert documented == list(GraphParts.__annotations__)


@pytest.mark.covers("K1")
def test_an_ingest_refuses_everything_that_searches_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        ingest_graph(
            load_settings({}), sources=[InMemorySource()], reranker=lambda *_: [], extractor=ScriptedChatModel([])
        )
    assert [problem.key for problem in refused.value.problems] == ["sources", "reranker", "extractor"]
