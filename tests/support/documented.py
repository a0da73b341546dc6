"""The blocks of code in the documentation, and what runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import jsonschema_rs
from forked_command import forked_command

from groundgraph import load_settings, turn_graph
from groundgraph.cli.config import settings_schema
from groundgraph.settings.yaml_file import read_yaml

ROOT = Path(__file__).parent.parent.parent
_VALIDATOR = jsonschema_rs.validator_for(settings_schema())
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def all_blocks(document: Path) -> list[tuple[str, str]]:
    """Kind and text of each block of `document`, in order."""
    return _BLOCK.findall(document.read_text("utf-8"))


def blocks(document: Path, kind: str) -> list[str]:
    """The blocks of one kind."""
    return [text for found, text in all_blocks(document) if found == kind]


def run_commands(
    lines: list[str], folder: Path, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """`lines` as one script in `folder`, with the commands of this environment on the path; `groundgraph` is forked."""
    with forked_command() as commands:
        path = os.pathsep.join([commands, str(Path(sys.executable).parent), os.environ["PATH"]])
        command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
        given = {**environment, "PATH": path}
        return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


def build_configuration(text: str, folder: Path) -> None:
    """Loads and builds a configuration; fails where it is refused, has other sources than it names, or an editor that
    goes by the schema would mark something."""
    path = folder / "groundgraph.yaml"
    path.write_text(text)
    # What the pages keep their knowledge in: files that are not there are refused.
    (folder / "knowledge").mkdir()
    (folder / "knowledge" / "hours.yaml").write_text("sections: {hours: {facts: From 8 to 22.}}")
    settings = load_settings(path)
    assert list(_VALIDATOR.iter_errors(json.loads(json.dumps(read_yaml(path))))) == []
    named = {entry.name for entry in settings.sources} or {"knowledge_base"}
    assert set(turn_graph(settings).resources.sources) == named
