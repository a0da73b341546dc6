"""What a turn costs, and how long the event loop stands still, when a model or a source wrote something degenerate."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest
from turns import ask, build

from groundgraph import InMemorySource, turn_graph
from groundgraph.answers import sentence_index
from groundgraph.answers.quote_candidates import Asked
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.text import follow_up, small_talk
from groundgraph.text.follow_up import asked_parts, questions_in
from groundgraph.text.small_talk import parting_words

pytestmark = pytest.mark.covers("F3", "fault 82")

SIZE = 16_000
ROW = "| Pump 17 | 90 days | [1] |\n"
REPLIES = {
    "characters": "a",
    "full stops": ".",
    "dashes": "-",
    "words": "pump ",
    "labels": "[1]",
    "spaced labels": "[1] ",
    "quotes": '"',
    "quotations": '"every ninety days now" ',
    "table rows": ROW,
    "bars": "|",
    "brackets": "[",
    "numbers": "17 ",
    "digits": "7",
    "newlines": "\n",
    "names": "Pump ",
    "backticks": "`",
    "asterisks": "*",
    "items": "- Pump\n",
    "sentences": "Pump 17 is serviced every 90 days [1]. ",
}

EVIDENCE = {
    "full stops": "Contents " + "." * 20_000 + "5",
    "full stops apart": "Contents " + ". " * 10_000 + "5",
    "lines of full stops": ".\n" * 10_000,
    "ellipses": "…" * 20_000,
    "contents page": "\n".join(f"Pumps {page}{'.' * 60}{page}" for page in range(300)),
    "rule": "-" * 20_000,
    "labels": "[1]" * 6_600,
    "words": "pump " * 4_000,
    "table rows": "| Pump 17 | 90 days |\n" * 1_000,
}
QUESTION = "How often is pump 17 serviced?"


def built(reply: str, text: str = "Pump 17 is serviced every 90 days.", **settings: object):
    source = InMemorySource([{"id": "a", "content": text}], name="docs")
    return build(reply, sources=[source], **settings)


async def loop_time_of(work):
    """The result of `work`, and the longest time of the processor that the event loop's thread took in one step.

    By the clock, the loop would also be late because the machine is busy with something else.
    """
    longest = 0.0

    async def steps() -> None:
        nonlocal longest
        while True:
            started = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - started)

    measuring = asyncio.create_task(steps())
    try:
        return await work, longest
    finally:
        measuring.cancel()


async def cost_of(graph):
    """The result of a turn, its seconds of the processor, and the longest step on the loop.

    What the tests before this one left behind is not counted: looking through it for garbage takes longer than a turn.
    It stays frozen, with all that the session froze: thawed, every later look for garbage would walk through it.
    """
    gc.collect()
    gc.freeze()
    started = time.process_time()
    result, on_the_loop = await loop_time_of(ask(graph, QUESTION))
    return result, time.process_time() - started, on_the_loop


@pytest.fixture(scope="module", autouse=True)
def warmed_up() -> None:
    """Loads what the first answer of a process loads."""
    asyncio.run(ask(built("Every 90 days [1]."), QUESTION))


@pytest.mark.parametrize("kind", REPLIES)
async def test_a_reply_that_repeats_itself_costs_little_and_is_marked(kind):
    piece = REPLIES[kind]
    result, seconds, on_the_loop = await cost_of(built("Every 90 days [1]. " + piece * (SIZE // len(piece))))
    assert seconds < 1
    assert on_the_loop < 0.1
    marked = [flag for flag in result["support"]["flags"] if flag["kind"] == "repetitive"]
    assert len(marked) == 1
    assert "Every 90 days" in marked[0]["detail"]


async def test_the_mark_names_the_place_where_the_repetition_begins():
    prose = " ".join(f"Pump {number} hums in hall {number * 7} beside valve {number * 31} [1]." for number in range(60))
    result = await ask(built(f"{prose} {'round and ' * 300}"), QUESTION)
    assert [flag["detail"] for flag in result["support"]["flags"] if flag["kind"] == "repetitive"] == [
        "the model repeats itself from “and round and round and round and round and round and round” on"
    ]


@pytest.mark.covers("fault 83")
async def test_of_lines_without_a_word_of_the_question_nothing_is_counted(monkeypatch):
    counted = 0
    share = Asked.share

    def counting(asked, stems):
        nonlocal counted
        counted += 1
        return share(asked, stems)

    monkeypatch.setattr(Asked, "share", counting)
    told = [{"id": str(n), "content": f"Pump {n} is serviced every 90 days. " + ".\n" * 2_000} for n in range(17, 20)]
    result = await ask(turn_graph(sources=[InMemorySource(told, name="docs")]), QUESTION)
    assert "Pump 17 is serviced every 90 days." in result["answer"]
    assert counted < 200


def counted_calls(monkeypatch, module, name):
    """The arguments of each call of a function from now on, for code that finds it in `module`."""
    calls, function = [], getattr(module, name)

    def counting(*given):
        calls.append(given)
        return function(*given)

    monkeypatch.setattr(module, name, counting)
    return calls


@pytest.mark.covers("fault 83")
async def test_a_sentence_that_evidence_holds_thousands_of_times_is_read_once(monkeypatch):
    read = counted_calls(monkeypatch, sentence_index, "content_stems")
    found = sentences_of("Pump 17 is serviced daily. " + "你。\n" * 3_000 + "```\nPump 17 is serviced daily.\n```\n")
    assert len(found) > 3_000
    assert len(read) < 10
    assert [one.quotable for one in found if "pump" in one.stems] == [True, False]


@pytest.mark.covers("fault 82")
@pytest.mark.parametrize("sign", ["。\n", "! ", ", "])
async def test_a_message_of_thousands_of_signs_has_no_clauses_to_read(monkeypatch, sign):
    read = counted_calls(monkeypatch, small_talk, "words")
    assert parting_words("Thanks" + sign * 5_000, ["en"]) == "thanks"
    assert len(read) < 50


@pytest.mark.covers("fault 82")
async def test_of_a_message_of_thousands_of_sentences_the_first_and_the_last_are_read(
    monkeypatch,
):
    begun = counted_calls(monkeypatch, follow_up, "begins_asking")
    pasted = " ".join(f"Valve {number} hums." for number in range(3_000))
    for message in (f"Which pump has no valve? {pasted}", f"{pasted} Which pump has no valve?"):
        assert questions_in(message) == ("Which pump has no valve?",)
        assert asked_parts(message) == ("Which pump has no valve?",)
    asked_parts(pasted)
    assert len(begun) < 2_000


@pytest.mark.covers("fault 83")
@pytest.mark.parametrize("text", EVIDENCE)
async def test_degenerate_evidence_neither_holds_up_the_loop_nor_the_deadline(text):
    graph = built("Every 90 days [1].", "Pump 17 is serviced every 90 days. " + EVIDENCE[text], deadlines={"turn": 2})
    result, seconds, on_the_loop = await cost_of(graph)
    assert seconds < 1
    assert on_the_loop < 0.1
    assert result["answer"] == "Every 90 days [1]."
