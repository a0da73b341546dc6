"""The pictures in the documentation, which are generated: `python tests/support/pictures.py` writes them."""

from __future__ import annotations

from pathlib import Path

from groundgraph import InMemorySource, ingest_graph, load_settings, retrieval_graph, turn_graph
from groundgraph.testing import NgramEmbeddings

PAGE = Path(__file__).parent.parent.parent / "docs" / "graphs.md"
END = "<!-- end -->"
# With an embedding model, so that the step that calls it is in the picture.
INGEST = {"embeddings": NgramEmbeddings()}
SEARCH = {"sources": [InMemorySource([])]}
GRAPHS = {"turn": (turn_graph, SEARCH), "retrieval": (retrieval_graph, SEARCH), "ingest": (ingest_graph, INGEST)}


def picture(name: str) -> str:
    """A graph as a Mermaid block."""
    build, given = GRAPHS[name]
    graph = build(load_settings({}), **given)
    return f"```mermaid\n{graph.get_graph().draw_mermaid().strip()}\n```"


def with_pictures(text: str) -> str:
    """`text` of the page with its pictures made anew."""
    for name in GRAPHS:
        start = f"<!-- {name} graph -->"
        before, rest = text.split(start)
        _, after = rest.split(END, 1)
        text = f"{before}{start}\n{picture(name)}\n{END}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(with_pictures(PAGE.read_text("utf-8")), "utf-8")
