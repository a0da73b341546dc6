"""Everything that is wrong with a configuration, found without opening anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.cli.problem_places import placed
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.load_settings import load_settings
from groundgraph.core.settings import Settings
from groundgraph.graph.configured_model import model_problem
from groundgraph.graph.resources import Resources
from groundgraph.prompts import Prompts

MODELS = ("llm", "query_llm")


@dataclass
class Checked:
    """What a check found.

    Attributes:
        problems: what must be mended before the configuration can be used.
        notices: what is configured and does not have the effect that it seems to have, one sentence each.
    """

    problems: list[Problem] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def check_config(path: Path) -> Checked:
    """Read the file at `path` and put everything together that it names, as a turn would."""
    try:
        settings = load_settings(path)
    except ConfigurationError as error:
        return Checked(error.problems)
    checked = Checked(notices=list(settings.notices))
    for key in MODELS:
        _check_model(settings, key, checked)
    # Models aside: a missing key or package is a matter of this machine, not of the file.
    without_models = settings.model_copy(update=dict.fromkeys(MODELS))
    # The templates once more by themselves: a build ends at the sources when those are wrong already.
    for build in (Resources.build, _templates):
        try:
            build(without_models)
        except ConfigurationError as error:
            checked.problems += (problem for problem in error.problems if problem not in checked.problems)
    checked.problems = sorted(
        (placed(problem, settings.origin) for problem in checked.problems), key=lambda problem: problem.line
    )
    return checked


def _templates(settings: Settings) -> AnswerTemplates:
    folder = settings.prompts.path
    return AnswerTemplates.compile(settings.synthesis, Prompts(settings.at(folder) if folder else None))


def _check_model(settings: Settings, key: str, checked: Checked) -> None:
    problem = model_problem(getattr(settings, key), key)
    if problem is None:
        return
    if problem.of_this_machine:
        checked.notices.append(f"{key}: cannot be used on this machine as it is: {problem.message}")
    else:
        checked.problems.append(Problem(key, problem.message))
