"""What holds for the LangGraph Server alone."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class ServerSettings(BaseModel):
    """What clients of a server may do beside what a turn allows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metadata_keys: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]] = Field(
        [], description="names beside LangGraph's own by which threads and their history may be looked for"
    )
