"""The base of every section of the settings.

The files of sections have no `from __future__ import annotations`: each annotation would be compiled from its text once
more whenever a process starts.
"""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of every section: unknown keys are errors, values cannot be changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)
