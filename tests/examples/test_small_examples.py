"""The small examples: a folder, a source of one's own, a chain of one's own, a table (U1)."""

from __future__ import annotations

import subprocess

import pytest
from example_copy import EXAMPLES, copy_example, module_at
from plant_database import rows_of

from groundgraph import KnowledgeBase, load_settings, register_chain, turn_graph
from groundgraph.sources.conformance import check_source
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("U1")

# A folder


@pytest.fixture
def folder(example):
    return example("ask")


async def test_a_question_about_a_folder_is_answered_in_its_own_words_with_their_place(folder):
    turn = await folder.run.answer("When is pump 17 serviced?", folder.settings())
    assert turn["outcome"] == "answered"
    citation = turn["citations"][0]
    assert citation["quote"].startswith("Pump 17 is serviced every 90 days.")
    original = (folder.folder / "docs" / "pumps.md").read_text("utf-8")
    assert original[citation["start"] : citation["end"]] == citation["quote"]


async def test_what_the_folder_does_not_cover_is_not_answered(folder):
    turn = await folder.run.answer("Who founded the company?", folder.settings())
    assert (turn["outcome"], turn["citations"]) == ("insufficient", [])


async def test_the_next_question_goes_on_with_the_conversation(folder):
    await folder.run.answer("When is pump 17 serviced?", folder.settings())
    turn = await folder.run.answer("And how long does it take?", folder.settings())
    assert len(turn["messages"]) == 4
    assert "The service of a pump takes two hours." in turn["answer"]


async def test_with_a_model_the_same_script_gives_the_models_answer(folder):
    model = ScriptedChatModel("Every 90 days [1].")
    turn = await folder.run.answer("When is pump 17 serviced?", folder.settings(), chat_model=model)
    assert (turn["answer"], turn["citations"][0]["quote"]) == (
        "Every 90 days [1].",
        "Pump 17 is serviced every 90 days.",
    )


# A source


@pytest.fixture
def rota(example):
    return example("custom_source")


async def ask_rota(rota, week, question="Who is on call for the pumps?"):
    graph = turn_graph(rota.settings(), sources=[rota.run.Rota()])
    return await graph.ainvoke({"question": question, "metadata": {"week": week}})


@pytest.mark.parametrize(("week", "name"), [(12, "Ada Moreno"), (13, "Bela Novak")])
async def test_the_filter_of_the_template_reaches_a_source_of_ones_own(rota, week, name):
    turn = await ask_rota(rota, week)
    assert {row["metadata"]["week"] for row in turn["provenance"]["results"]} == {week}
    assert turn["provenance"]["results"][0]["metadata"]["on_call"] == name


async def test_a_week_that_is_no_number_never_reaches_the_source(rota):
    turn = await ask_rota(rota, "'; DROP TABLE")
    assert turn["outcome"] == "unavailable"
    assert turn["provenance"]["sources"]["rota"]["error_type"] == "FilterInvalid"


async def test_the_source_keeps_the_contract(rota):
    report = await check_source(rota.run.Rota(), query="Who is on call for the pumps?")
    report.raise_for_failures()


# A chain


@pytest.fixture(scope="module")
def faq(tmp_path_factory):
    """Once: a name of a chain can be registered once in a process."""
    import shutil
    from pathlib import Path

    source = Path(__file__).parent.parent.parent / "examples" / "custom_chain"
    folder = tmp_path_factory.mktemp("chain") / "custom_chain"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".groundgraph", "__pycache__"))
    module = module_at(folder / "run.py", "example_custom_chain")
    register_chain("chunker", "question_and_answer", module.question_and_answer)
    register_chain("matching_text", "question", module.question)
    return folder, module, load_settings(folder / "groundgraph.yaml")


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("Where are the seals?", "Q: Where do I find seals?"),
        ("Who may open the bypass?", "Q: May I open the bypass myself?"),
        ("report a pump", "Q: How do I report a broken pump?"),
    ],
)
async def test_a_pair_is_found_by_its_question(faq, asked, first):
    _, run, settings = faq
    found = await run.find(asked, settings)
    assert found[0]["text"].startswith(f"{first}\nA: ")


async def test_the_words_of_an_answer_do_not_lead_to_its_pair(faq):
    _, run, settings = faq
    assert not any("cabinet C" in row["text"] for row in await run.find("second drawer", settings))


async def test_every_pair_is_one_chunk_at_its_place(faq):
    folder, run, settings = faq
    await run.find("seals", settings)
    async with KnowledgeBase.open(settings) as base:
        [row] = await base.adocuments()
        chunks = await base.achunks(row.name)
    text = (folder / "faq" / "plant.txt").read_text("utf-8")
    assert [one.chunk.text for one in chunks] == text.strip().split("\n\n")
    assert all(text[one.chunk.start : one.chunk.end] == one.chunk.text for one in chunks)
    assert [list(one.matching_texts) for one in chunks][1] == ["Where do I find seals?"]


# A table


@pytest.fixture
def table(example):
    return example("sql")


def expected(table, statement):
    return rows_of(table.folder / "incidents.sqlite", statement)[0][0]


async def test_a_question_about_a_row_is_answered_from_it(table):
    turn = await table.run.answer("Why was hall 4 under water?")
    assert turn["citations"][0]["quote"] == "The seal of pump 17 burst and hall 4 was under water."


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        (
            "How many critical incidents in March 2026?",
            "SELECT count(*) FROM incidents WHERE severity = 'critical' AND opened LIKE '2026-03%'",
        ),
        (
            "How many incidents of press 2 were there?",
            "SELECT count(*) FROM incidents WHERE machine = 'press 2'",
        ),
    ],
)
async def test_a_question_for_a_number_of_rows_is_counted(table, question, statement):
    turn = await table.run.answer(question)
    assert f": {expected(table, statement)} " in turn["answer"]


async def test_any_other_computation_is_said_to_be_needed(table):
    turn = await table.run.answer("What is the average cost of incidents of press 2?")
    assert turn["outcome"] == "insufficient"
    assert "computed over rows of incidents: an average" in " ".join(turn["notes"])


async def test_the_table_is_only_read(table):
    await table.run.answer("Why was hall 4 under water?")
    file = table.folder / "incidents.sqlite"
    before = file.read_bytes()
    await table.run.answer("'; DROP TABLE incidents; --")
    await table.run.answer("How many critical incidents in March 2026?")
    assert file.read_bytes() == before


# What running an example leaves behind


@pytest.mark.covers("F20", "fault 68")
def test_a_copy_of_an_example_has_nothing_of_a_run_of_it(tmp_path):
    ran = copy_example("serve", tmp_path / "examples" / "serve")
    (ran / ".langgraph_api").mkdir()
    (ran / ".langgraph_api" / "threads.pckl").write_bytes(b"of somebody else")
    (ran / ".groundgraph").mkdir()
    (ran / "kb.sqlite").touch()
    copy = copy_example("serve", tmp_path / "copy", examples=tmp_path / "examples")
    assert {file.name for file in copy.iterdir()} == {file.name for file in (EXAMPLES / "serve").iterdir()} - {
        "__pycache__",
        ".langgraph_api",
        ".groundgraph",
    }


@pytest.mark.covers("F20")
def test_the_database_of_the_table_example_is_nothing_to_commit(tmp_path):
    git = ["git", "-C", str(EXAMPLES.parent)]
    if not (EXAMPLES.parent / ".git").exists():
        pytest.skip("this tree is no repository")
    left = ["examples/sql/incidents.sqlite", "examples/sql/.groundgraph/index/incidents.sqlite"]
    told = subprocess.run([*git, "check-ignore", *left], capture_output=True, text=True, check=False).stdout
    assert told.split() == left
    fixture = "tests/data/written_by/0.1.0/threads.sqlite"
    assert (
        subprocess.run([*git, "check-ignore", "--no-index", fixture], capture_output=True, check=False).returncode == 1
    )
