"""What holds for the LangGraph Server alone."""

from typing import Annotated

from pydantic import Field, StringConstraints

from groundgraph.core.section import Section


class ServerSettings(Section):
    """What clients of a server may do beside what a turn allows."""

    metadata_keys: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]] = Field(
        [], description="names beside LangGraph's own by which threads and their history may be looked for"
    )
