"""Turns with stages of autonomous retrieval: settings, knowledge, and a model that plays its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from category_source import CategorySource
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from groundgraph import load_settings, retrieval_graph, turn_graph
from groundgraph.testing import ScriptedChatModel
from groundgraph.testing.models import Rule

KNOWLEDGE = [
    ("pricing", "rate", "The monthly rate is 990 roubles per cash desk."),
    ("pricing", "year", "Paid for a year, the rate is 790 roubles a month."),
    ("features", "offline", "The cash desk works offline for thirty days."),
    ("support", "hours", "Support answers at night too."),
    ("faq", "start", "A cash desk is registered in a day."),
]
EARLIER = [("user", "Tell me about the cash desk"), ("assistant", "It is a small till for shops.")]
FOLLOW_UP = "What is the monthly rate of it?"
REWRITTEN = "What is the monthly rate of the cash desk?"
COMPLEX = "What is the monthly rate, and does the cash desk work offline?"
PARTS = ["What is the monthly rate?", "Does the cash desk work offline?"]
BOTH = "\n".join(PARTS)


def scripted(
    *, rewrite: Any = REWRITTEN, route: Any = "pricing", parts: Any = BOTH, answer: Any = "It is 990 [1]."
) -> ScriptedChatModel:
    """A model with one reply, or one failure, for each of its parts."""
    return ScriptedChatModel(
        rules=[
            Rule("Reword the user", rewrite, role="system"),
            Rule("Choose the categories", route, role="system"),
            Rule("Divide the user", parts, role="system"),
        ],
        default=answer,
    )


def settings(stages: Sequence[str] | None = None, **more: Any):
    """Settings with those stages of autonomous retrieval, all of them for None, and nothing else that chooses."""
    enhanced = {**({} if stages is None else {"stages": list(stages)}), **more.pop("enhanced_retrieval", {})}
    base = {
        "intent": {"mode": "static"},
        "retrieval": {"score_threshold": 0.0},
        "synthesis": {"style": "structured"},
        "enhanced_autonomous_retrieval": True,
        "enhanced_retrieval": enhanced,
    }
    return load_settings({**base, **more})


def build(
    stages: Sequence[str] | None = None,
    *,
    source: Any = None,
    model: Any = None,
    graph: Any = turn_graph,
    checkpointer: Any = None,
    store: Any = None,
    memory: bool = False,
    **more: Any,
):
    """The turn graph of `settings`, over `KNOWLEDGE` and with a scripted model where none is given; False for none.

    `memory`: with a checkpointer and a store in memory.
    """
    sources = [CategorySource(KNOWLEDGE)] if source is None else source if isinstance(source, list) else [source]
    return graph(
        settings(stages, **more),
        sources=sources,
        chat_model=scripted() if model is None else model or None,
        checkpointer=InMemorySaver() if memory else checkpointer,
        store=InMemoryStore() if memory else store,
    )


def retrieval(*args: Any, **more: Any):
    """`build` for the retrieval graph."""
    return build(*args, graph=retrieval_graph, **more)


def asking(question: str, *, earlier: bool = False, **metadata: Any) -> dict[str, Any]:
    """The input of a turn."""
    return {"messages": [*(EARLIER if earlier else []), ("user", question)], "metadata": metadata}


async def ask(graph: Any, question: str, *, context: Any = None, **more: Any) -> dict[str, Any]:
    """What a turn gives; `more` as for `asking`."""
    output: dict[str, Any] = await graph.ainvoke(asking(question, **more), context=context)
    return output


def state(*, categories: Sequence[str] = (), facts: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    """A state of a dialogue, as session metadata holds it."""
    return {"name": "presentation", "categories": list(categories), "facts": list(facts), **more}
