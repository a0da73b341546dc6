"""The sources that the tests of the graphs search."""

from __future__ import annotations

from groundgraph import InMemorySource, SourceSchema

QUESTION = "Which grant types does OAuth have?"


def docs(**options: object) -> InMemorySource:
    """A source with two records about OAuth and one about pumps, filterable by category."""
    schema = SourceSchema("docs", {"category": {"enum": ["security", "operations"]}})
    return InMemorySource(
        [
            {
                "id": "oauth",
                "content": "OAuth has four grant types. The authorization code grant is used by web apps.",
                "title": "OAuth",
                "section": "OAuth > Grants",
                "category": "security",
            },
            {"id": "pump", "content": "Pump 17 is serviced every 90 days.", "category": "operations"},
        ],
        name="docs",
        schema=schema,
        **options,  # type: ignore[arg-type]
    )


def notes() -> InMemorySource:
    """A second source, without a schema."""
    return InMemorySource(["Grant types of OAuth 2.0 include client credentials."], name="notes")


def ask(question: str = QUESTION) -> dict[str, object]:
    """The input of a turn."""
    return {"messages": [("user", question)]}


def thread(name: str = "t") -> dict[str, object]:
    """The configuration of a run on a thread."""
    return {"configurable": {"thread_id": name}}
