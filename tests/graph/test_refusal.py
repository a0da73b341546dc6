"""Evidence that does not answer: `insufficient`, and where nothing comes near before any model is called (S5, S8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph import InMemorySource, KnowledgeBase, load_settings, register_chain, retrieval_graph, turn_graph
from groundgraph.core.chain import IngestChains
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ModelError
from groundgraph.graph.ingest import ingest_documents
from groundgraph.ingest.builtin_chains import REGISTRIES, ContentAsMatchingText, ContentAsQualifyingText
from groundgraph.ingest.chunkers import WholeTextChunker
from groundgraph.prompts import Prompts
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("S8")

TEXTS = {
    "tokens": "Access tokens expire after one hour. A refresh token lives for thirty days.",
    "sea": "Penguins swim in the cold sea near the coast.",
}
ANSWERED = "When do access tokens expire?"
# One word of many stands in the base.
HARDLY = "Which museum near Lisbon exhibits nineteenth century steam locomotives, tramways and carriages?"
CHAINS = IngestChains(WholeTextChunker(), ContentAsQualifyingText(), ContentAsMatchingText())


class Axes(Embeddings):
    """A text about tokens lies on one axis, any other on another, questions without either word on a third."""

    def embed_query(self, text: str) -> list[float]:
        place = 0 if "token" in text.lower() else 1 if "sea" in text.lower() else 2
        return [float(place == axis) for axis in range(3)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Asks:
    """The question that a passage answers, in words that it does not hold."""

    signature = "asks 1"
    generated = True

    async def __call__(self, chunk: Any, qualifying_text: str) -> list[str]:
        return ["How do I get my money back?"]


async def base(folder: Path, embedder: Embedder | None = None) -> Path:
    path = folder / "kb.sqlite"
    await ingest_documents(
        path, (Document(name, text) for name, text in TEXTS.items()), chains=CHAINS, embedder=embedder
    )
    return path


async def asked(
    question: str, path: Path, model: ScriptedChatModel | None, embedder: Any = None, **settings: Any
) -> Any:
    retrieval = {"score_threshold": 0.0, **settings.pop("retrieval", {})}
    # The question itself is the query: no model is called before the evidence is there.
    intent = {"mode": "static", "include_message_as_query": True}
    given = load_settings({"knowledge_base": {"file": str(path)}, "retrieval": retrieval, "intent": intent, **settings})
    graph = turn_graph(given, chat_model=model, embeddings=embedder)
    try:
        return await graph.ainvoke({"messages": [HumanMessage(question)]})
    finally:
        await graph.resources.close()


async def test_evidence_that_hardly_fits_is_insufficient_and_no_model_is_called(tmp_path):
    model = ScriptedChatModel("never said")
    output = await asked(HARDLY, await base(tmp_path), model)
    assert output["outcome"] == "insufficient"
    assert model.calls == []
    assert 0 < output["support"]["answerable"] < 0.18
    assert output["answer"].startswith("The evidence may not answer this question. What comes closest:")
    record = output["provenance"]
    assert [row["metadata"]["document"] for row in record["results"]] == ["sea"]
    assert record["answerable"] == output["support"]["answerable"]


# What its words say would not be quoted as an answer, and a model may find one in it.
WEAKLY = "Which penguins play football?"


async def test_a_model_reads_what_would_not_be_quoted_as_an_answer(tmp_path):
    model = ScriptedChatModel("None of them, they swim [1].")
    output = await asked(WEAKLY, await base(tmp_path), model)
    assert (output["outcome"], output["answer"]) == ("answered", "None of them, they swim [1].")
    assert 0.05 <= output["support"]["answerable"] < 0.18
    assert (len(model.calls), output["notes"]) == (1, [])


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({"retrieval": {"answerable_threshold": 0.18}}, 0),
        ({"synthesis": {"style": "structured"}}, 0),
        # What it wrote says that nothing is answered, or it failed.
        ({"replies": "NO_ANSWER: football"}, 1),
        ({"replies": ModelError("down")}, 1),
        ({"replies": ModelError("down"), "synthesis": {"template": "{{ results[0].text }} [1]"}}, 1),
    ],
)
async def test_what_no_model_finds_an_answer_in_is_only_what_comes_closest(tmp_path, settings, calls):
    model = ScriptedChatModel([settings.pop("replies", "never said")])
    output = await asked(WEAKLY, await base(tmp_path), model, **settings)
    assert (output["outcome"], len(model.calls)) == ("insufficient", calls)
    assert output["answer"].startswith("The evidence may not answer this question. What comes closest:")


async def test_evidence_that_fits_is_answered_from(tmp_path):
    model = ScriptedChatModel("After an hour [1].")
    output = await asked(ANSWERED, await base(tmp_path), model)
    assert output["outcome"] == "answered"
    assert output["support"]["answerable"] > 0.5
    assert len(model.calls) == 1


@pytest.mark.parametrize(("threshold", "outcome"), [(None, "answered"), (0.0, "answered"), (1.0, "insufficient")])
async def test_the_threshold_can_be_set_or_taken_away(tmp_path, threshold, outcome):
    model = ScriptedChatModel(["Something [1]."] * 2)
    path = await base(tmp_path)
    for question in (ANSWERED, HARDLY):
        output = await asked(question, path, model, retrieval={"answerable_threshold": threshold})
        assert output["outcome"] == outcome


async def test_a_cosine_speaks_for_or_against_the_evidence(tmp_path):
    embedder = Embedder(Axes(), "axes")
    path = await base(tmp_path, embedder)
    near = await asked("token", path, ScriptedChatModel("An hour [1]."), embedder)
    far = await asked("Which bread near Lisbon?", path, ScriptedChatModel("never said"), embedder)
    assert near["support"]["answerable"] > 0.7
    assert (far["outcome"], far["support"]["answerable"] < 0.18) == ("insufficient", True)


async def test_the_query_that_a_model_wrote_counts_beside_the_users_words(tmp_path):
    settings = {"intent": {"mode": "static", "text_queries": ["When do access tokens expire?"]}}
    model = ScriptedChatModel("Nach einer Stunde [1].")
    output = await asked("Wie lange gelten die Zugangsschlüssel?", await base(tmp_path), model, **settings)
    assert output["outcome"] == "answered"


@pytest.mark.covers("A9")
async def test_evidence_of_every_kind_of_source_is_judged():
    source = InMemorySource([TEXTS["sea"]], name="notes")
    intent = {"mode": "static", "include_message_as_query": True}
    settings = load_settings({"retrieval": {"score_threshold": 0.0}, "intent": intent})
    graph = turn_graph(settings, sources=[source], chat_model=ScriptedChatModel("never said"))
    output = await graph.ainvoke({"messages": [HumanMessage(HARDLY)]})
    assert output["outcome"] == "insufficient"
    assert output["support"]["answerable"] < 0.18


@pytest.mark.covers("T8")
async def test_the_retrieval_graph_refuses_the_same_evidence(tmp_path):
    settings = {"knowledge_base": {"file": str(await base(tmp_path))}, "retrieval": {"score_threshold": 0.0}}
    graph = retrieval_graph(load_settings(settings))
    found = await graph.ainvoke({"question": HARDLY})
    assert (found["outcome"], found["evidence"], found["context"]) == ("insufficient", [], "")
    assert found["provenance"]["answerable"] < 0.05
    # Whoever asks for a context reads it.
    found = await graph.ainvoke({"question": WEAKLY})
    assert (found["outcome"], len(found["evidence"])) == ("answered", 1)
    assert found["provenance"]["answerable"] < 0.18
    await graph.resources.close()


@pytest.mark.covers("S5")
async def test_general_knowledge_may_answer_what_the_evidence_does_not(tmp_path):
    model = ScriptedChatModel("The railway museum.")
    output = await asked(HARDLY, await base(tmp_path), model, synthesis={"allow_parametric": True})
    assert output["outcome"] == "insufficient"
    assert "The railway museum." in output["answer"]
    [call] = model.calls
    assert not any("Penguins" in message.text for message in call.prompt.messages)


# The base holds one word of it that says nothing about what is asked.
DOUBTFUL = "Which capital of Peru has a cold coast?"
DOUBT = {"retrieval": {"answerable_threshold": None}}


async def without_model(question: str, path: Path, **settings: Any) -> Any:
    return await asked(question, path, None, **settings)


@pytest.mark.parametrize("style", ["structured", "conversational", "hybrid"])
async def test_an_answer_that_no_model_writes_says_when_it_may_be_none(tmp_path, style):
    output = await without_model(DOUBTFUL, await base(tmp_path), synthesis={"style": style})
    assert output["outcome"] == "answered"
    assert 0.18 <= output["support"]["answerable"] < 0.5
    assert output["answer"].startswith("The evidence may not answer this question.")
    [told] = [note for note in output["notes"] if "may not be answered" in note]
    assert told.endswith("mentions capital, Peru.")
    assert output["provenance"]["notes"] == output["notes"]


@pytest.mark.parametrize(
    ("question", "doubted"),
    [
        ("How long does an authorization code live?", True),
        ("Wie lange gilt ein Zugangscode?", True),
        # "thirty": a number in words.
        ("How long does a refresh token live?", False),
        ("How much charge is left in the lamp?", False),
        # Answered in words as well.
        ("When is an authorization code used up?", False),
        ("How does an authorization code live?", False),
        # The number of a section.
        ("How long is the badge of a visitor worn?", True),
        ("How large is the pool of badges?", True),
        ("Who shares the large pool of badges?", False),
    ],
)
async def test_a_question_for_a_number_is_not_answered_without_a_doubt_by_a_quote_that_holds_none(question, doubted):
    texts = [
        "An authorization code lives for a short time only, and is used up after the first exchange.",
        "A refresh token lives for thirty days.",
        "Ein Zugangscode gilt nur sehr kurz.",
        "The badge of a visitor is worn as Section 5.2 says.",
        "The charge that is left in the lamp is 40%.",
        "The large pool of badges is shared by all visitors.",
    ]
    graph = turn_graph(load_settings({}), sources=[InMemorySource(texts)])
    output = await graph.ainvoke({"messages": question})
    assert output["outcome"] == "answered"
    why = Prompts().note("may_not_answer", output["provenance"]["language"], missing="", why="by_number")
    assert (why in output["notes"]) == doubted
    assert output["answer"].startswith(("The evidence may not answer", "Die Quellen beantworten")) == doubted
    never = turn_graph(load_settings({"retrieval": {"doubt_threshold": 0}}), sources=[InMemorySource(texts)])
    assert why not in (await never.ainvoke({"messages": question}))["notes"]


async def test_the_doubt_is_told_in_the_users_language(tmp_path):
    output = await without_model("Какая столица у Перу, и почему там penguins?", await base(tmp_path), **DOUBT)
    assert output["answer"].startswith("Возможно, в найденных материалах нет ответа")
    assert any("Перу" in note for note in output["notes"])


async def test_an_answer_from_evidence_that_fits_carries_no_doubt(tmp_path):
    output = await without_model(ANSWERED, await base(tmp_path))
    assert output["answer"].startswith("From the evidence:")
    assert not any("may not" in note for note in output["notes"])


async def test_a_name_that_no_passage_holds_makes_a_doubt_however_well_the_rest_fits(tmp_path):
    question = "When do access tokens and refresh tokens expire at {}?"
    path = await base(tmp_path)
    named = await without_model(question.format("Fastly"), path)
    assert named["support"]["answerable"] >= 0.5
    assert any(note.endswith("mentions Fastly.") for note in named["notes"])
    assert named["answer"].startswith("The evidence may not answer this question.")
    plain = await without_model(question.format("noon"), path)
    assert not any("may not" in note for note in plain["notes"])
    off = await without_model(question.format("Fastly"), path, retrieval={"doubt_threshold": 0})
    assert not any("may not" in note for note in off["notes"])


async def test_a_word_of_a_passage_about_another_time_is_not_told_to_be_missing():
    texts = ["The burst pipe was a high priority in August 2024.", "A lamp was replaced in the hall in March 2023."]
    graph = turn_graph(sources=[InMemorySource(texts, name="repairs")])
    question = "Which priority had the asbestos survey of the roof and of the basement in March 2023?"
    output = await graph.ainvoke({"question": question})
    [told] = [note for note in output["notes"] if "mentions" in note]
    assert "asbestos" in told
    assert "priority" not in told


@pytest.mark.parametrize(
    ("question", "doubted"),
    [
        ("Which hall had the most checks of pumps in 2015?", True),
        ("Which hall had the fewest checks of seals in 2015?", False),
        ("Which checks of pumps in 2015 are counted?", False),
    ],
)
async def test_rows_of_figures_answer_without_a_doubt_nothing_that_somebody_had_to_compare(question, doubted):
    rows = "\n".join(f"Hall {hall} {hall * 7} {hall * 31} 0 {hall * 38}" for hall in range(1, 8))
    texts = [
        f"Checks of pumps in 2015 by hall are counted here.\n\n{rows}",
        f"Checks of seals in 2015 by hall. Hall 4 had the fewest checks of seals in 2015.\n\n{rows}",
    ]
    pages = [{"content": text, "metadata": {"page": at}} for at, text in enumerate(texts, 1)]
    graph = turn_graph(load_settings({}), sources=[InMemorySource(pages)])
    output = await graph.ainvoke({"messages": question})
    why = Prompts().note("may_not_answer", output["provenance"]["language"], missing="", why="by_computing")
    assert (why in output["notes"]) == doubted


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What is the price of the kestrel pump?", "price"),
        ("Is the kestrel pump red?", "red"),
        ("Was kostet die Pumpe Kestrel?", "kostet"),
        ("How often is the kestrel pump serviced?", None),
        ("How often must one service the kestrel pump, and is it serviced in hall 4?", None),
    ],
)
async def test_a_third_of_the_question_that_stands_nowhere_makes_a_doubt(tmp_path, question, missing):
    path = tmp_path / "kb.sqlite"
    pumps = [Document(f"{number}", f"The merlin saw {number} stands in hall {number}.") for number in range(20)]
    kestrel = "The kestrel pump is serviced every 90 days. Die Pumpe Kestrel wird alle 90 Tage gewartet."
    await ingest_documents(path, [Document("kestrel", kestrel), *pumps], chains=CHAINS)
    output = await without_model(question, path)
    assert output["outcome"] == "answered"
    told = [note for note in output["notes"] if missing and missing in note]
    assert (
        bool(told) == bool(missing) == output["answer"].startswith(("The evidence may not", "Die Quellen beantworten"))
    )


@pytest.mark.parametrize("message", [f"{ANSWERED} {HARDLY}", f"{HARDLY} {ANSWERED}"])
async def test_of_two_questions_the_one_that_the_evidence_hardly_answers_is_told(tmp_path, message):
    output = await without_model(message, await base(tmp_path))
    assert output["outcome"] == "answered"
    assert output["answer"].startswith("The evidence may answer only a part of this question:")
    assert "one hour" in output["answer"]
    assert "sea" not in output["answer"]
    [told] = [note for note in output["notes"] if "may not be answered" in note]
    assert HARDLY.rstrip("?") in told
    both = await without_model(f"{ANSWERED} How long does a refresh token live?", tmp_path / "kb.sqlite")
    assert not any("may not" in note for note in both["notes"])


async def test_each_of_two_questions_is_answered_by_its_own_passage(tmp_path):
    path = tmp_path / "kb.sqlite"
    # What holds the code of the one keeps nothing from the other.
    texts = ["Pump P4 stands in hall 2.", "Standard delivery takes five days.", "Valve V7 was sold to a farmer."]
    await ingest_documents(path, [Document(text[:5], text) for text in texts], chains=CHAINS)
    output = await without_model("Where does pump P4 stand? And how long does standard delivery take?", path)
    assert "hall 2" in output["answer"]
    assert "five days" in output["answer"]
    assert not any("may not" in note for note in output["notes"])


@pytest.mark.parametrize("message", ["{} Any idea?", "{} Who knows?", "Do you have any idea? {}", "Tell me, {}"])
async def test_words_around_a_question_answer_nothing(tmp_path, message):
    path = tmp_path / "kb.sqlite"
    await ingest_documents(path, [Document("idea", "Who knows any idea tells it. The idea of the month wins.")])
    output = await without_model(message.format("Which locomotives did the museum near Lisbon buy?"), path)
    assert output["outcome"] == "insufficient"
    assert (await without_model("Which idea wins?", path))["outcome"] == "answered"


@pytest.mark.parametrize(
    "question",
    [
        "What is 2+2?",
        "What time is it?",
        "17",
        "A 17",
        "Wie viel ist 14 + 2?",
        "What happened?",
        "What does MUST mean?",
    ],
)
async def test_a_question_that_names_nothing_is_not_answered_by_chance(tmp_path, question):
    path = tmp_path / "kb.sqlite"
    texts = [
        "A discount of 2 % is granted within 14 days.",
        "The time of hall 17 is shown in UTC.",
        "Net shall mean: less tax.",
    ]
    await ingest_documents(path, [Document(text[:5], text) for text in texts], chains=CHAINS)
    assert (await without_model(question, path))["outcome"] == "insufficient"
    assert (await without_model("What is granted within 14 days?", path))["outcome"] == "answered"


async def test_a_doubt_threshold_of_zero_never_tells_a_doubt(tmp_path):
    output = await without_model(DOUBTFUL, await base(tmp_path), retrieval={"doubt_threshold": 0})
    assert output["answer"].startswith("From the evidence:")
    assert not any("may not" in note for note in output["notes"])


async def test_a_model_is_asked_without_the_doubt_and_one_that_fails_leaves_it(tmp_path):
    path = await base(tmp_path)
    written = await asked(DOUBTFUL, path, ScriptedChatModel("The documents do not say [1]."))
    assert not any("may not" in note for note in written["notes"])
    failed = await asked(DOUBTFUL, path, ScriptedChatModel([ValueError("no")]))
    assert failed["answer"].startswith("The evidence may not answer this question.")
    assert any("may not be answered" in note for note in failed["notes"])


async def test_a_template_of_the_users_gets_nothing_that_only_comes_closest(tmp_path):
    template = "{% if results %}Here: {{ results[0].text }}{% else %}Nothing here.{% endif %}"
    output = await asked(HARDLY, await base(tmp_path), None, synthesis={"style": "structured", "template": template})
    assert (output["outcome"], output["answer"], output["citations"]) == ("insufficient", "Nothing here.", [])


@pytest.mark.covers("A3")
async def test_a_passage_that_was_found_by_a_text_written_for_it_answers_in_other_words(tmp_path):
    path = tmp_path / "kb.sqlite"
    chains = IngestChains(WholeTextChunker(), ContentAsQualifyingText(), Asks())
    await ingest_documents(path, [Document("refunds", "Refunds are granted within 30 days.")], chains=chains)
    output = await asked("How do I get my money back?", path, None)
    assert output["outcome"] == "answered"
    assert not any("may not" in note for note in output["notes"])


@pytest.mark.covers("A3")
async def test_a_piece_found_by_a_text_that_was_written_for_it_or_by_a_transformed_query_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for registry in REGISTRIES.values():
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    register_chain("matching_text", "asked", lambda chunk, about: "How do I get my money back?", signature="1")
    register_chain("transformer", "formal", lambda query: query.replace("cash", "money back"))
    chains = {"documents": {"matching_text": "asked"}, "query": {"transformer": "formal"}}
    own = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}, "chains": chains})
    with KnowledgeBase.open(own) as base:
        base.add_documents([Document("refunds.md", "Refunds are granted within 30 days of purchase.")])
    graph = turn_graph(own)
    for question in ("How do I get my money back?", "How do I get my cash?"):
        output = await graph.ainvoke({"question": question})
        assert output["support"]["answerable"] > 0.3
        assert [row["text"] for row in output["provenance"]["results"]]
        assert output["outcome"] != "insufficient" or "comes closest" in output["answer"], output["answer"]
    other = await graph.ainvoke({"question": "Who painted the office?"})
    assert other["outcome"] == "insufficient"


@pytest.mark.covers("I11", "A1")
async def test_the_cosine_of_a_follow_up_tells_nothing_against_what_its_words_find(tmp_path):
    embedder = Embedder(Axes(), "axes")
    given = load_settings({"knowledge_base": {"file": str(await base(tmp_path, embedder))}})
    graph = turn_graph(given, embeddings=embedder, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    try:
        await graph.ainvoke({"question": ANSWERED}, config)
        # What "one" is stands in the question before it, so its own vector is far from every text.
        leaning = await graph.ainvoke({"question": "And how many days does a refresh one live?"}, config)
        alone = await graph.ainvoke({"question": "How many days does a refreshed penguin live?"}, config)
    finally:
        await graph.resources.close()
    assert leaning["outcome"] == "answered"
    assert "thirty days" in leaning["answer"]
    assert alone["outcome"] == "insufficient"
