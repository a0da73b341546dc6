"""The pages of the reference that are made: file name, title, and what writes the text."""

from __future__ import annotations

from collections.abc import Callable

from names_page import names_page
from prompts_page import prompts_page
from settings_page import settings_page

REFERENCE: dict[str, tuple[str, Callable[[], str]]] = {
    "settings.md": ("Settings", settings_page),
    "prompts.md": ("Prompts", prompts_page),
    "names.md": ("Python", names_page),
}
