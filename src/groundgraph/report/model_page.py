"""What a check of a chat model found, as one HTML page that needs nothing else and reaches nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from groundgraph.report.turn_page import digest, environment, page_style, static_text


def model_page(found: Mapping[str, Any]) -> str:
    """The page of a check: each mark with its interval, what a turn takes, the advised settings, and what went wrong.

    Args:
        found: what `groundgraph check-model --json` prints.
    """
    style = page_style() + static_text("model_page.css.jinja2")
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    parts = {"style": style, "policy": policy, "version": version("groundgraph")}
    return environment().get_template("model_page.html.jinja2").render(found=found, **parts)
