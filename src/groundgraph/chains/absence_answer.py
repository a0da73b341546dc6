"""What a template of the user's says when there are no results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.chains.label_gate import LabelGate
from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.core.settings import SynthesisSettings
from groundgraph.core.templates import has_branch_without


def says_absence(synthesis: SynthesisSettings) -> bool:
    """Whether the template of the structured style has words of its own for a turn that found nothing."""
    source = synthesis.template or synthesis.provenance_template
    return source is not None and any(has_branch_without(source, name) for name in ("results", "results_by_source"))


def absence_answer(templates: AnswerTemplates, variables: Mapping[str, Any], language: str) -> str:
    """These words, without anything that reads as a citation; perhaps none.

    Raises:
        TemplateInvalid: the template fails on these variables.
    """
    gate = LabelGate(allowed=())
    return (gate.feed(templates.structured(variables, language)) + gate.flush()).strip()
