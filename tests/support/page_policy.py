"""What the policy of a page allows, held against what the page holds."""

from __future__ import annotations

import re

from groundgraph.report.turn_page import digest


def allows_its_style(page: str) -> bool:
    """Whether the one style of `page` is the one that its policy names; a browser leaves any other out."""
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    return f"style-src '{digest(style)}'" in page
