"""`knowledge_base.web`: how web pages are fetched."""

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from groundgraph.core.section import Section


class WebSettings(Section):
    """How web pages are fetched."""

    max_bytes: PositiveInt = 5_000_000
    timeout: PositiveFloat = Field(20, description="seconds for one page with all its redirects")
    max_redirects: NonNegativeInt = 5
    user_agent: str = "groundgraph"
    obey_robots: bool = True
    allow_private: bool = Field(
        False,
        description="fetch from this machine and from private networks too; "
        "link-local and metadata addresses stay refused",
    )
