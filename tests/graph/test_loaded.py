"""What nobody configured is not loaded: a process that only builds graphs and answers stays small."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
from groundgraph import InMemorySource, KnowledgeBase, ingest_graph, load_settings, turn_graph
ingest_graph(load_settings({})); KnowledgeBase.open(load_settings({}))
graph = turn_graph(load_settings({"intent": {"mode": "static"}}), sources=[InMemorySource(["Pump 17 is red."])])
print(*sys.modules)
graph.invoke({"question": "Which pump is red?"})
print(*sys.modules)
"""
HEAVY = {"weaviate", "cohere", "langchain_community", "sqlalchemy", "numpy", "tantivy", "pypdfium2", "trafilatura"}
STAGES = {"nodes.decompose_question", "nodes.path_choice", "nodes.rewrite_question", "nodes.works.backfill_facts"}


@pytest.mark.covers("L10")
def test_what_nobody_configured_is_not_loaded() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=True)
    built, answered = (set(line.split()) for line in done.stdout.splitlines())
    assert not HEAVY & built
    assert not {f"groundgraph.{name}" for name in STAGES} & answered
    # LangSmith's client looks for OpenTelemetry by itself, so that alone would prove nothing.
    assert not [name for name in answered if name.startswith(("openinference", "groundgraph.tracing.spans"))]
