"""The set-up that several limits share: in-memory sources over made-up manuals, ten hits each."""

from __future__ import annotations

from typing import Any

from benchmarks.corpus import records
from groundgraph import InMemorySource, Settings, load_settings

SOURCES = ("handbook", "tickets", "bulletins")
TOPICS = range(20)


def memory_source(name: str, topics: range = TOPICS, **sizes: int) -> InMemorySource:
    """A source with ten records about each of `topics`."""
    return InMemorySource(records(name, topics, **sizes), name=name)


def turn_settings(**sections: Any) -> Settings:
    """Static intent, ten hits from each source, the structured style unless `sections` say otherwise."""
    return load_settings(
        {
            "intent": {"mode": "static"},
            "retrieval": {"top_k": 10, "score_threshold": 0.1},
            "synthesis": {"style": "structured"},
            **sections,
        }
    )


def asked(question: str) -> dict[str, Any]:
    """The input of a turn."""
    return {"messages": [("user", question)]}


def thread(name: object) -> Any:
    """The run configuration of a thread."""
    return {"configurable": {"thread_id": str(name)}}
