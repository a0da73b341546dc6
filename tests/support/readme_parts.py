"""The parts of the README that are generated: `python tests/support/readme_parts.py` writes them."""

from __future__ import annotations

from pathlib import Path

from groundgraph import InMemorySource, load_settings, turn_graph

README = Path(__file__).parent.parent.parent / "README.md"
START, END = "<!-- turn graph -->", "<!-- end -->"


def turn_picture() -> str:
    """The turn graph as a Mermaid block."""
    graph = turn_graph(load_settings({}), sources=[InMemorySource([])])
    return f"```mermaid\n{graph.get_graph().draw_mermaid().strip()}\n```"


def with_parts(text: str) -> str:
    """The README with its generated parts made anew."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{turn_picture()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_parts(README.read_text("utf-8")), "utf-8")
