"""Real turns whose records the tests of reports show: one in English, one in Russian, one with hostile evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from groundgraph import InMemorySource, SourceSchema, load_provenance, load_settings, turn_graph
from groundgraph.testing import FaultySource, ScriptedChatModel

QUESTION = "How long must we keep customer identification records, and who may approve their early deletion?"
QUOTE = "Records of customer identification are kept for five years after the business relationship has ended."
_INTRODUCTION = (
    "4.1 Purpose\n\nThis chapter says which records are kept, for how long, and who answers for them. It applies to "
    "all branches and to outsourced back offices. "
)
RETENTION = (
    f"{_INTRODUCTION}{QUOTE} The period begins on the last day of the calendar year in which the relationship ended. "
    "Copies of identity documents, the results of screening and the risk rating belong to the record.\n\n"
    "4.2 Early deletion\n\nEarly deletion of identification records needs the written approval of the Data Protection "
    "Officer and of the Head of Compliance. The approval names the legal basis, and is itself kept for ten years."
)
ANSWER = (
    "Customer identification records are kept for **five years after the business relationship has ended** [1]. "
    "The period begins on the last day of the calendar year in which it ended [1].\n\n"
    "Early deletion is possible only in writing:\n\n"
    "- The Data Protection Officer and the Head of Compliance both approve the early deletion [1].\n"
    "- The approval names the legal basis and is kept for 12 years [1].\n"
    "- In the register, early deletion of identification records is entered with its reason and its approval number "
    "[2].\n"
)


def policies() -> InMemorySource:
    """Chapters of a manual, which say where in the document they stand."""
    manual = {"title": "Anti-money-laundering manual", "document": "aml-manual-2026.pdf", "language": "en"}
    return InMemorySource(
        [
            {**manual, "id": "aml#4", "content": RETENTION, "start": 18_240, "page": 31,
             "section": "Anti-money-laundering manual > 4 Record keeping"},
            {**manual, "id": "aml#7", "start": 40_112, "page": 58,
             "section": "Anti-money-laundering manual > 7 Training",
             "content": "7.3 Records of training\n\nRecords of training are kept for three years. Staff repeat the "
             " course every year."},
        ],
        name="policies",
        schema=SourceSchema("policies", {"language": {"enum": ["en", "de"]}}),
    )  # fmt: skip


def register() -> InMemorySource:
    """Rows of a table, one of which hardly fits the question."""
    return InMemorySource(
        [
            {"id": "register-118", "title": "Deletion register, entry 118", "url": "https://intranet.example/register/118",
             "content": "Early deletion of identification records, customer 40-1187. Reason: unlawful processing. "
             "Approval DPO-2026-014. Entered with its reason and its approval number."},
            {"id": "register-9", "title": "Deletion register, entry 9",
             "content": "Deletion of marketing records: the customer objected and the early approval was not needed. "
             "They were deleted within a week."},
        ],
        name="deletion_register",
    )  # fmt: skip


async def turn_record(sources: list[Any], question: str, answer: str | None = None, **settings: Any) -> dict[str, Any]:
    """The full record of a turn, as the store of its graph gives it."""
    graph = turn_graph(
        load_settings(settings),
        sources=sources,
        chat_model=ScriptedChatModel(answer) if answer else None,
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )
    await graph.ainvoke({"messages": [("user", question)]}, {"configurable": {"thread_id": "audit-2026-031"}})
    return await load_provenance(graph, "audit-2026-031")


def once(turn: Callable[[], Awaitable[dict[str, Any]]]) -> Callable[[], Awaitable[dict[str, Any]]]:
    """`turn`, which is run once: whoever asks for its record is given one of their own."""
    kept: list[dict[str, Any]] = []

    async def record() -> dict[str, Any]:
        if not kept:
            kept.append(await turn())
        return deepcopy(kept[0])

    return record


@once
async def english_turn() -> dict[str, Any]:
    """Three sources, one of which failed; a sentence with a finding; a result that was left out."""
    tickets = FaultySource(InMemorySource(["Ticket 7: retention."], name="tickets"), error=ConnectionError("no route"))
    return await turn_record(
        [policies(), tickets, register()],
        QUESTION,
        ANSWER,
        intent={
            "mode": "static",
            "parts": False,
            "text_queries": [QUESTION, "retention period identification records"],
            "filters": {"policies": {"language": "en"}},
        },
        retrieval={"score_threshold": 0.3},
        synthesis={"style": "conversational"},
        result_processing={"relative_threshold": 0.7, "min_results": 1},
        limits={"attempts": 1},
    )


@once
async def russian_turn() -> dict[str, Any]:
    """A structured answer in Russian, without a model; one source timed out."""
    rules = InMemorySource(
        [
            {"id": "rules#2", "title": "Правила внутреннего контроля", "document": "Правила ВК.docx", "start": 5120,
             "section": "Правила внутреннего контроля > 2 Хранение",
             "content": "Сведения о клиентах хранятся пять лет со дня прекращения отношений с клиентом. Срок хранения "
             "исчисляется с первого января следующего года. Досрочное уничтожение сведений согласует руководитель "
             "службы внутреннего контроля."},
            {"id": "rules#3", "title": "Правила внутреннего контроля", "document": "Правила ВК.docx", "start": 7300,
             "section": "Правила внутреннего контроля > 3 Обучение",
             "content": "Сотрудники проходят обучение ежегодно, сведения об обучении хранятся три года."},
        ],
        name="правила",
    )  # fmt: skip
    slow = FaultySource(InMemorySource(["Письмо"], name="переписка"), delay=5.0)
    question = "Сколько лет хранятся сведения о клиентах?"
    return await turn_record([rules, slow], question, intent={"mode": "static"}, deadlines={"source": 1.0})


def run_beside(work: Coroutine[Any, Any, Any]) -> Any:
    """What `work` gives, awaited on a thread of its own: a running browser holds the loop of this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
