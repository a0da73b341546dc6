"""What a check of a chat model found, and what two configurations make of the same questions: each as one HTML page
that needs nothing else and reaches nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from groundgraph.report.turn_page import digest, environment, page_style, static_text
from groundgraph.report.words import visible


def model_page(found: Mapping[str, Any]) -> str:
    """The page of a check: each mark with its interval, what a turn takes, the advised settings, and what went wrong.

    Args:
        found: what `groundgraph check-model --json` prints.
    """
    return _page("model_page.html.jinja2", found, "model_page.css.jinja2")


def compared_page(found: Mapping[str, Any]) -> str:
    """The page: how often people marked answers good, and both answers to each question side by side.

    Args:
        found: what `groundgraph evaluate --recorded --again FILE --json` prints.
    """
    return _page("compared_page.html.jinja2", found, "model_page.css.jinja2", "compared_page.css.jinja2")


def _page(template: str, found: Mapping[str, Any], *styles: str) -> str:
    # A plain text would be escaped as it enters the page, and its sign would be another one.
    style = Markup("").join([page_style(), *map(static_text, styles)])
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    parts = {"style": style, "policy": policy, "version": version("groundgraph"), "visible": visible}
    return environment().get_template(template).render(found=found, **parts)
