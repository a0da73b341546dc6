"""A third language is one file: copied into the package beside the others, it is known everywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import groundgraph

DUTCH = """
name: Dutch
stemmer: dutch
script: LATIN
stop_words: de het een en van in op te is dat niet wat hoe voor met zijn aan er
small_talk:
  greeting: [goedendag, hallo]
  thanks: [dank je wel]
  fillers: [allemaal]
follow_up:
  pronouns: [deze]
  connectives: [en]
  empty: [meer]
asks_for: {number: [hoeveel], name: [wie]}
asks: [wat, hoe]
places: {page: "bladzijde {}"}
scope: {broad: [overzicht]}
complexity: {comparison: [verschil], patterns: [en hoe]}
dates: {days: {gisteren: -1}, units: {day: [dagen]}, last: [laatste], this: [deze], ago: []}
number_words:
  numbers: {drie: 3}
  months: {maart: 3}
  units: {time: {uur: 3600}}
abbreviations: [bijv]
texts:
  nothing_found: Hierover staat niets in de bronnen.
"""

ASKED = """
import json, sys
from datetime import date
from groundgraph import InMemorySource, load_settings, turn_graph
from groundgraph.nodes.resolve_intent import complexity_signs
from groundgraph.text.follow_up import cue_phrases, says, spoken_stems
from groundgraph.text.dates import periods
from groundgraph.text.follow_up import is_follow_up
from groundgraph.text.numbers import number_of, unit_of
from groundgraph.text.words import LANGUAGES, detect_language, sentences

settings = load_settings({})
records = ["De pomp wordt elke drie maanden onderhouden."]
graph = turn_graph(settings, sources=[InMemorySource(records)])
turn = lambda text: graph.invoke({"messages": [{"role": "user", "content": text}]})
absent, greeted = turn("Wat is de hoofdstad van een ander land?"), turn("Goedendag allemaal")
english = turn("What is the capital of another country?")
json.dump(
    {
        "languages": LANGUAGES,
        "detected": [detect_language(text) for text in ("Wat is het doel?", "What is the aim?", "Что это?")],
        "absent": [absent["outcome"], absent["messages"][-1].content],
        "greeted": [greeted["outcome"], greeted["messages"][-1].content],
        "english": english["messages"][-1].content,
        "follow_up": is_follow_up("En deze?"),
        "number": [number_of("drie"), unit_of("uur")],
        "sentences": len(sentences("Een pomp, bijv. De grote, staat hier.")),
        "fast_path": settings.fast_path.languages,
        "broad": says(spoken_stems("Geef een overzicht"), cue_phrases("scope", "broad")),
        "signs": [complexity_signs(text, 9) for text in ("Wat is het verschil?", "Wat kost het en hoe lang?")],
        "yesterday": str(periods("wat was gisteren", date(2026, 3, 5))[0].first),
    },
    sys.stdout,
)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    package = Path(groundgraph.__file__).parent
    shutil.copytree(package, folder / "groundgraph", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "groundgraph/text/languages/nl.yaml").write_text(DUTCH, "utf-8")
    # The copy stands before the installed package, which would be found by the path of the tests.
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{ASKED}"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.covers("S5", "I5", "C5")
def test_a_language_that_is_only_a_file_is_known_everywhere(said):
    assert said["languages"] == ["de", "en", "es", "fr", "nl", "ru"]
    assert said["fast_path"] == said["languages"]
    assert said["detected"] == ["nl", "en", "ru"]
    assert said["absent"] == ["insufficient", "Hierover staat niets in de bronnen."]
    assert said["follow_up"] is True
    assert said["number"] == [3.0, ["time", 3600.0]]
    assert said["sentences"] == 1
    assert (said["broad"], said["signs"], said["yesterday"]) == (True, [["comparison"], ["pattern"]], "2026-03-04")


def test_english_takes_the_place_of_a_text_that_a_language_lacks(said):
    assert said["greeted"][0] == "chat"
    assert said["greeted"][1].startswith("Hello!")
    assert "Hierover" not in said["english"]
