"""The settings that a command runs with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundgraph.core.settings import Settings


def find_settings(config: Path | None) -> Settings:
    """The settings in `config`, else those in the nearest `groundgraph.yaml`, else the defaults of the command line.

    Raises:
        ConfigurationError: the file or the environment has a problem; all are listed.
    """
    from groundgraph.core.load_settings import find_settings_file, load_settings

    path = config or find_settings_file()
    return load_settings(path) if path else _without_file(load_settings())


def _without_file(settings: Settings) -> Settings:
    """Structured answers unless the environment names a model or a style.

    The general default, conversational, would put a notice that there is no model above every answer.
    """
    synthesis = settings.synthesis
    if settings.llm or synthesis.style or synthesis.mode:
        return settings
    return settings.model_copy(update={"synthesis": synthesis.model_copy(update={"style": "structured"})})
