"""Questions over the rows of a table in a document, without a model: right, or a doubt that says why (S8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import turns
from cited_slices import graph_over

from groundgraph.evals.run_conversations import has_doubt
from groundgraph.prompts import Prompts

pytestmark = pytest.mark.covers("A7", "S8")

TABLES = {
    "en": "course,trainer,rating,mandatory\nWelding,Petrov,C,no\nFirst aid,Holzer,A,yes\nForklift,Klein,B,no\n"
    "Soldering,Petit,A,no\nFire safety,Berg,B,yes\n",
    "de": "Kurs,Trainer,Bewertung,verpflichtend\nSchweißen,Petrov,C,nein\nErste Hilfe,Holzer,A,ja\n"
    "Stapler,Klein,B,nein\nLöten,Petit,A,nein\nBrandschutz,Berg,B,ja\n",
    "fr": "cours,formateur,note,obligatoire\nSoudage,Petrov,C,non\nSecourisme,Holzer,A,oui\nChariot,Klein,B,non\n"
    "Brasage,Petit,A,non\nIncendie,Berg,B,oui\n",
    "es": "curso,instructor,nota,obligatorio\nSoldadura,Petrov,C,no\nAuxilios,Holzer,A,sí\nCarretilla,Klein,B,no\n"
    "Estañado,Petit,A,no\nIncendios,Berg,B,sí\n",
    "ru": "курс,тренер,оценка,обязательный\nСварка,Петров,C,нет\nПомощь,Хольцер,A,да\nПогрузчик,Кляйн,B,нет\n"
    "Пайка,Пети,A,нет\nПожар,Берг,B,да\n",
}
# In every row of the table stands the name of the column, and in most of them the opposite; "A" is a small word.
BY_COLUMN = {
    "en": [
        "Which courses are mandatory?",
        "Which mandatory courses are there?",
        "Which courses have a rating?",
        "Which courses have a rating of A?",
    ],
    "de": ["Welcher Kurs ist verpflichtend?", "Welcher Kurs hat eine Bewertung?"],
    "fr": ["Quel cours est obligatoire ?", "Quel cours a une note ?", "Quel cours a la note A ?"],
    "es": ["¿Qué curso es obligatorio?", "¿Qué curso tiene una nota?"],
    "ru": ["Какой курс обязательный?", "У какого курса есть оценка?"],
}
BY_NEGATION = {
    "en": ["Which courses are not mandatory?", "Which courses do not have rating A?"],
    "de": ["Welcher Kurs ist nicht verpflichtend?", "Welcher Kurs hat nicht die Bewertung A?"],
    "fr": ["Quel cours n'est pas obligatoire ?", "Quel cours est sans note A ?"],
    "es": ["¿Qué curso no es obligatorio?", "¿Qué curso no tiene nota A?"],
    "ru": ["Какой курс не обязательный?", "У какого курса не оценка A?"],
}
# A value, a name, and what is asked for itself.
RIGHT = {
    "en": [("Which courses have rating B?", "rating: B", 2), ("What is the rating of Forklift?", "Forklift", 1),
           ("Is Welding mandatory?", "Welding", 1), ("What rating do the courses have?", "rating: ", 5),
           ("Who is the trainer of each course?", "trainer: ", 5)],
    "de": [("Welcher Kurs hat die Bewertung B?", "Bewertung: B", 2), ("Welche Bewertung hat Stapler?", "Stapler", 1)],
    "fr": [("Quelle est la note de Chariot ?", "Chariot", 1)],
    "es": [("¿Qué nota tiene Carretilla?", "Carretilla", 1)],
    "ru": [("У какого курса оценка B?", "оценка: B", 2), ("Какая оценка у курса Погрузчик?", "Погрузчик", 1)],
}  # fmt: skip


async def _asked(folder: Path, language: str, question: str) -> dict[str, Any]:
    (folder / "courses.csv").write_text(TABLES[language], "utf-8")
    async with graph_over(folder / "base.sqlite", folder, ["courses.csv"]) as graph:
        return await turns.ask(graph, question)


def _told(output: dict[str, Any], why: str, language: str, missing: str = "") -> bool:
    """Whether the note of a doubt is that of `why`."""
    note = Prompts().note("may_not_answer", language, missing=missing, why=why)
    return note in output["notes"]


def _told_alike(output: dict[str, Any], language: str) -> bool:
    begins = Prompts().note("rows_alike", language, count="\0", shown="").partition("\0")[0]
    return any(note.startswith(begins) for note in output["notes"])


def _each(cases: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(language, case) for language, own in cases.items() for case in own]


@pytest.mark.parametrize(("language", "question"), _each(BY_COLUMN))
async def test_a_column_that_is_named_without_a_value_tells_no_row(
    tmp_path: Path, language: str, question: str
) -> None:
    output = await _asked(tmp_path, language, question)
    assert has_doubt(output, Prompts())
    column = TABLES[language].partition("\n")[0].split(",")[3 if question == BY_COLUMN[language][0] else 2]
    named = "mandatory" if question.startswith("Which mandatory") else column
    assert _told(output, "by_column", language, named)
    assert not _told_alike(output, language)


@pytest.mark.parametrize(("language", "question"), _each(BY_NEGATION))
async def test_rows_are_not_said_to_be_what_something_does_not_hold_for(
    tmp_path: Path, language: str, question: str
) -> None:
    output = await _asked(tmp_path, language, question)
    assert output["outcome"] == "insufficient" or _told(output, "by_negation", language)
    assert not _told_alike(output, language)


@pytest.mark.parametrize(("language", "case"), _each(RIGHT))
async def test_a_value_that_is_named_tells_its_rows(tmp_path: Path, language: str, case: tuple[str, str, int]) -> None:
    question, holds, count = case
    output = await _asked(tmp_path, language, question)
    assert output["outcome"] == "answered"
    assert not has_doubt(output, Prompts())
    quotes = [citation["quote"] for citation in output["citations"]]
    assert len(quotes) >= count
    assert all(holds in quote for quote in quotes[:count])
    assert count == 1 or len(quotes) == count


@pytest.mark.parametrize(
    ("language", "question"),
    [
        *(("en", "How many courses have rating A?"), ("en", "How many courses are there?")),
        *(("de", "Wie viele Kurse haben die Bewertung B?"), ("fr", "Combien de cours ont la note A ?")),
        *(("es", "¿Cuántos cursos tienen la nota A?"), ("ru", "Сколько курсов с оценкой B?")),
    ],
)
async def test_rows_that_were_found_are_no_count(tmp_path: Path, language: str, question: str) -> None:
    (tmp_path / "faq.md").write_text("# How many vacation days do I get?\n\nEverybody gets 27 days.\n", "utf-8")
    (tmp_path / "courses.csv").write_text(TABLES[language], "utf-8")
    async with graph_over(tmp_path / "base.sqlite", tmp_path, ["courses.csv", "faq.md"]) as graph:
        output = await turns.ask(graph, question)
    assert output["outcome"] == "insufficient" or has_doubt(output, Prompts())
    assert language != "en" or _told(output, "by_computing", language)


async def test_a_number_that_stands_in_a_row_is_no_count(tmp_path: Path) -> None:
    (tmp_path / "courses.csv").write_text("course,places\nWelding,8\nForklift,12\n", "utf-8")
    async with graph_over(tmp_path / "base.sqlite", tmp_path, ["courses.csv"]) as graph:
        output = await turns.ask(graph, "How many places has Forklift?")
    assert (output["outcome"], has_doubt(output, Prompts())) == ("answered", False)
    assert "places: 12" in output["citations"][0]["quote"]


VISITS = "day,guest,room\n2026-07-04,Holzer,Elm\n2026-04-07,Petrov,Oak\n2026-07-05,Klein,Ash\n2025-07-04,Petit,Fir\n"


@pytest.mark.parametrize(
    "question",
    [
        "Which guest had a room on July 4, 2026?",
        "Which guest had a room on 2026-07-04?",
        "Which guest came on 4 July 2026, and which room was it?",
        "Who was the guest in which room on July 4th, 2026?",
    ],
)
async def test_a_day_is_found_however_it_is_written(tmp_path: Path, question: str) -> None:
    (tmp_path / "visits.csv").write_text(VISITS, "utf-8")
    async with graph_over(tmp_path / "base.sqlite", tmp_path, ["visits.csv"]) as graph:
        output = await turns.ask(graph, question)
    assert output["outcome"] == "answered"
    assert [citation["quote"].splitlines()[:2] for citation in output["citations"]] == [
        ["day: 2026-07-04", "guest: Holzer"]
    ]
