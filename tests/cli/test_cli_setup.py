"""`groundgraph doctor --setup`: from nothing to a configured model, in questions and answers (U5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.cli.doctor import CHOICES
from groundgraph.settings.load_settings import load_settings

pytestmark = pytest.mark.covers("U5")


@pytest.fixture
def answer(call):
    """Runs the command with answers, a line each."""

    def answer(*lines: str):
        return call("doctor", "--setup", said="".join(f"{line}\n" for line in lines))

    return answer


def test_ollama_on_this_machine_with_what_is_proposed(answer, tmp_path: Path) -> None:
    ran = answer("2", "", "", "")
    assert ran.code == 0
    llm = load_settings(tmp_path / "groundgraph.yaml").llm
    assert llm.given == {"provider": "ollama", "model": "qwen3:8b", "base_url": "http://127.0.0.1:11434"}
    assert "groundgraph.yaml is written" in ran.out
    assert "Everything that is needed is there" in ran.out


def test_every_choice_leads_to_a_configuration(answer, tmp_path: Path) -> None:
    for number, choice in enumerate(CHOICES, 1):
        given = [str(number), *(["m"] if choice.provider else []), *([""] if choice.address else []), ""]
        ran = answer(*given)
        llm = load_settings(tmp_path / "groundgraph.yaml").llm
        assert (llm.provider if llm else "") == choice.provider
        assert choice.key in ran.out
        (tmp_path / "groundgraph.yaml").unlink()


def test_a_folder_that_holds_no_model_is_written_and_told(answer, tmp_path: Path) -> None:
    ran = answer("1", "models/mini", "")
    assert ran.code == 1
    assert "there is no folder" in ran.out
    section = load_settings(tmp_path / "groundgraph.yaml").embeddings
    assert (section.full_name, str(section.folder)) == ("fastembed:mini", "models/mini")


def test_a_file_that_is_there_stays_and_what_belongs_into_it_is_shown(answer, tmp_path: Path) -> None:
    (tmp_path / "groundgraph.yaml").write_text("retrieval: {top_k: 3}\n")
    ran = answer("3", "local-model", "", "")
    assert (tmp_path / "groundgraph.yaml").read_text() == "retrieval: {top_k: 3}\n"
    assert "stays as it is" in ran.out
    assert "model: local-model" in ran.out
