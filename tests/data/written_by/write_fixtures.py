"""Writes the files that a version of groundgraph leaves behind, so that later versions can be tried on them.

Run it with the Python of that version, in any folder: `python write_fixtures.py FOLDER`. It uses public names only.
What the conversations are about, and how their graphs are built, stands here as well: the tests of the present code
import it, and go on where this left off.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from contextlib import asynccontextmanager, closing
from pathlib import Path

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from langchain_core.messages import HumanMessage

from groundgraph import Context, InMemorySource, KnowledgeBase, SourceSchema, load_settings, open_graph, turn_graph
from groundgraph.core.document import Document
from groundgraph.testing import Rule, ScriptedChatModel

QUESTION = "Which grant types does OAuth have?"
LATER = ["What are the four grant types of OAuth?", "Who uses the authorization code grant of OAuth?"]
GOOD = "OAuth has four grant types [1]."
WEAK = "The moon orbits a cheese [1]."
COMPLEX = "What grant types does OAuth have, and how often is pump 17 serviced?"
PARTS = "What grant types does OAuth have?\nHow often is pump 17 serviced?"
TENANTS = ["acme", "globex"]
STORED = {
    "checkpointer": {"type": "sqlite", "path": "threads.sqlite"},
    "store": {"type": "sqlite", "path": "evidence.sqlite"},
    "intent": {"mode": "static"},
}
DOCUMENTS = [
    Document(
        "pumps.md", "# Pumps\n\n## Pump 17\n\nPump 17 is serviced every 90 days.\n\n## Pump 18\n\nPump 18 is new."
    ),
    Document("oauth.md", "# OAuth\n\nOAuth has four grant types.\n\nTokens expire after one hour."),
]
SCHEMA = {"fields": {"guest": {"type": "string"}, "fact": {"type": "text"}}, "content": ["fact"]}
RECORDS = [{"guest": "Ada", "fact": "She is allergic to nuts."}, {"guest": "Bob", "fact": "He asks for a quiet room."}]
TABLE = {
    "type": "sql", "name": "plant", "url": "sqlite:///plant.sqlite", "table": "incidents", "content_field": "report",
}  # fmt: skip
ROWS = [
    ("The seal of pump 17 burst and hall 4 was under water.", "critical"),
    ("Pump 18 ran hot and switched itself off.", "high"),
]


def docs() -> InMemorySource:
    """What the plain conversations are about."""
    return InMemorySource(
        [
            {"id": "oauth", "content": "OAuth has four grant types. Web apps use the authorization code grant."},
            {"id": "pump", "content": "Pump 17 is serviced every 90 days."},
        ],
        name="docs",
    )


def notes() -> InMemorySource:
    """What belongs to one of two tenants each."""
    rows = [{"id": name, "content": f"The budget of {name} is secret.", "tenant": name} for name in TENANTS]
    return InMemorySource(rows, name="notes", schema=SourceSchema("notes", {"tenant": {"type": "string"}}))


def at(folder: Path, **sections: object):
    """Settings whose files lie in `folder`."""
    return load_settings({**STORED, **sections}).model_copy(update={"base_dir": folder})


@asynccontextmanager
async def plain_graph(folder: Path, answer: str = GOOD):
    """The graph of the threads `done`, `review` and `stopped at ...`."""
    settings = at(folder, human_review={"support_below": 0.6}, synthesis={"style": "conversational"})
    async with open_graph(settings, sources=[docs()], chat_model=ScriptedChatModel(answer)) as graph:
        yield graph


@asynccontextmanager
async def full_graph(folder: Path):
    """The graph with all of its steps, of the threads `full, stopped at ...`."""
    settings = at(
        folder,
        knowledge_base={"file": "kb.sqlite"},
        retrieval={"score_threshold": 0.0},
        enhanced_autonomous_retrieval=True,
        result_processing={"normalize_strategy": "min_max", "rotation": "demote", "max_kb_chars": 4000},
        citation_check={"quotes": "repair"},
        synthesis={"style": "conversational"},
    )
    replies = {"Reword the user": COMPLEX, "Divide the user": PARTS}
    model = ScriptedChatModel(rules=[Rule(*one, role="system") for one in replies.items()], default=GOOD)
    options = {"sources": [docs()], "chat_model": model, "reranker": same_for_all}
    async with open_graph(settings, **options) as graph:
        yield graph


def same_for_all(query: str, candidates: list) -> list[float]:
    """A reranker that has no opinion."""
    return [0.5] * len(candidates)


@asynccontextmanager
async def tenants_graph(folder: Path):
    """The graph of the threads `of acme` and `of globex`, whose evidence belongs to a tenant."""
    settings = at(folder, retrieval={"scope_filters": {"notes": {"tenant": "context.tenant"}}})
    async with open_graph(settings, sources=[notes()]) as graph:
        yield graph


def sql_graph(folder: Path):
    """The graph over the table, with its index where that version puts it."""
    return turn_graph(at(folder, sources=[TABLE]))


def base(folder: Path):
    """The settings of the embedded base."""
    return at(folder, knowledge_base={"file": "kb.sqlite", "schemas": {"guests": SCHEMA}})


def on(thread: str) -> dict:
    """The configuration of a run on a thread."""
    return {"configurable": {"thread_id": thread}}


def asked(question: str, number: int = 0) -> dict:
    """The input of a turn, under an id of its own."""
    return {"messages": [HumanMessage(question, id=f"question-{number}")]}


def steps(graph: object) -> list[str]:
    """The steps at which a turn can stop."""
    return [name for name in graph.nodes if name != "__start__"]


async def write_conversations(folder: Path) -> None:
    """Turns that ended, that wait for a person, and that stopped before each step."""
    async with plain_graph(folder) as graph:
        for number, question in enumerate([QUESTION, *LATER]):
            await graph.ainvoke(asked(question, number), on("done"))
        for step in steps(graph):
            await stop(graph, QUESTION, step, f"stopped at {step}")
    async with plain_graph(folder, WEAK) as graph:
        await graph.ainvoke(asked(QUESTION), on("review"))
    async with tenants_graph(folder) as graph:
        for tenant in TENANTS:
            context = Context(scope={"tenant": tenant})
            await graph.ainvoke(asked("What is the secret budget?"), on(f"of {tenant}"), context=context)
            await stop(graph, "What is the secret budget?", "record_turn", f"stopped, of {tenant}", context=context)
    async with full_graph(folder) as graph:
        for step in steps(graph):
            await stop(graph, COMPLEX, step, f"full, stopped at {step}")


async def stop(graph: object, question: str, step: str, thread: str, **options: object) -> None:
    """A turn that is cut off before a step; the thread is there only when the turn comes past it."""
    how = {"interrupt_before": [step], "durability": "exit", **options}
    await graph.ainvoke(asked(question), on(thread), **how)
    if not (await graph.aget_state(on(thread))).next:
        await graph.checkpointer.adelete_thread(thread)


async def write_base(folder: Path) -> None:
    """An embedded base of documents and records."""
    async with KnowledgeBase.open(base(folder)) as opened:
        await opened.aadd_documents(DOCUMENTS)
        await opened.aadd_records("guests", RECORDS)


async def write_index(folder: Path) -> None:
    """A database, and the index that is made of it when it is asked."""
    with closing(sqlite3.connect(folder / "plant.sqlite")) as database, database:
        database.execute("CREATE TABLE incidents (id INTEGER PRIMARY KEY, report TEXT, severity TEXT)")
        database.executemany("INSERT INTO incidents (report, severity) VALUES (?, ?)", ROWS)
    graph = sql_graph(folder)
    await graph.ainvoke({"question": "What happened to the seal of pump 17?"})
    await graph.resources.close()


async def main(folder: Path) -> None:
    """All files; the index gets a folder that no list of ignored files names."""
    folder.mkdir(parents=True)
    await write_base(folder)
    await write_conversations(folder)
    await write_index(folder)
    shutil.move(folder / ".groundgraph" / "index", folder / "index")
    shutil.rmtree(folder / ".groundgraph")
    for file in folder.rglob("*.sqlite"):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("VACUUM")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
