"""Cues in the data files, and a third language that is a file (I3, I5)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groundgraph.text.cues import as_phrase, cue_phrases, says, spoken_stems

PACKAGE = Path(__file__).parents[2] / "src" / "groundgraph"


def said(message: str, *path: str) -> bool:
    return says(spoken_stems(message), cue_phrases(*path))


@pytest.mark.covers("I3")
@pytest.mark.parametrize(
    ("message", "scope"),
    [
        ("Give me an overview of token lifetimes", "broad"),
        ("Tell me everything about refresh tokens", "broad"),
        ("Сделай обзор по токенам", "broad"),
        ("Расскажи всё о токенах обновления", "broad"),
        ("What exactly does the section say?", "exact"),
        ("Quote the definition verbatim", "exact"),
        ("Приведи определение дословно", "exact"),
        ("Only the lifetime, please", "focused"),
        ("Кратко: сколько живёт токен?", "focused"),
    ],
)
def test_scope_has_cues_in_both_languages(message, scope):
    assert [name for name in ("focused", "broad", "exact") if said(message, "scope", name)] == [scope]


@pytest.mark.covers("I4")
@pytest.mark.parametrize(
    ("message", "style"),
    [
        ("Show me the sources", "structured"),
        ("list the most relevant sections", "structured"),
        ("Покажи мне источники", "structured"),
        ("Перечисли подходящие разделы", "structured"),
        ("Explain grant types along with the sources", "hybrid"),
        ("Объясни простыми словами", "conversational"),
    ],
)
def test_a_listing_or_raw_sources_are_asked_for_in_both_languages(message, style):
    assert said(message, "style", style)


@pytest.mark.covers("I4")
@pytest.mark.parametrize(
    "message", ["What is a linked list?", "Which sources of light are there?", "Что такое список?"]
)
def test_the_words_alone_ask_for_nothing(message):
    assert not any(said(message, "style", style) for style in ("structured", "hybrid", "conversational"))


def test_a_gap_stands_for_up_to_three_words():
    phrase = [as_phrase("list * sources")]
    assert says(spoken_stems("list sources"), phrase)
    assert says(spoken_stems("list all of the sources"), phrase)
    assert not says(spoken_stems("list all of the many sources"), phrase)


def test_a_phrase_stands_in_the_order_of_its_words():
    assert not said("about everything", "scope", "broad")


@pytest.mark.covers("I5")
def test_a_third_language_is_a_file(tmp_path):
    """A copy of the package with one more data file, in a process of its own, knows the language."""
    copy = tmp_path / "groundgraph"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    german = (copy / "text" / "languages" / "en.yaml").read_text("utf-8").split("\nscope:")[0]
    (copy / "text" / "languages" / "de.yaml").write_text(
        german.replace("name: English", "name: Deutsch").replace(
            "empty: [", "empty: [zeig, mir, bitte, dazu, gleich, ein, beispiel, "
        )
        + "\nscope:\n  broad: [überblick, alles über]\n"
        + "dates: {days: {gestern: -1}, units: {day: [tage]}, last: [letzten], this: [diese], ago: []}\n",
        "utf-8",
    )
    code = (
        "from datetime import date\n"
        "from groundgraph.text.dates import periods\n"
        "from groundgraph.text.follow_up import is_follow_up\n"
        "from groundgraph.text.cues import cue_phrases, says, spoken_stems\n"
        "assert is_follow_up('Zeig mir bitte dazu gleich ein Beispiel')\n"
        "assert says(spoken_stems('Gib mir einen Überblick'), cue_phrases('scope', 'broad'))\n"
        "assert str(periods('was war gestern', date(2026, 3, 5))[0].first) == '2026-03-04'\n"
        "assert not is_follow_up('Welche Abläufe kennt OAuth heute')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
