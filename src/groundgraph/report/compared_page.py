"""What two configurations make of the same questions, as one HTML page that needs and reaches nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from groundgraph.report.turn_page import digest, environment, page_style, static_text
from groundgraph.report.words import visible


def compared_page(found: Mapping[str, Any]) -> str:
    """The page: how often people marked answers good, and both answers to each question side by side.

    Args:
        found: what `groundgraph evaluate --recorded --again FILE --json` prints.
    """
    style = page_style() + static_text("model_page.css.jinja2") + static_text("compared_page.css.jinja2")
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    parts = {"style": style, "policy": policy, "version": version("groundgraph"), "visible": visible}
    return environment().get_template("compared_page.html.jinja2").render(found=found, **parts)
