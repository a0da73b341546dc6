"""A turn as a notebook shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from groundgraph.report.turn_page import environment, recorded
from groundgraph.report.words import plain

_TEMPLATE = "turn_display.html.jinja2"


class TurnDisplay:
    """A turn as the last line of a notebook's cell shows it: question, answer, citations and notes.

    ::

        TurnDisplay(graph.invoke({"question": "How often is pump 17 serviced?"}))

    All of it is shown as text, whatever markup the evidence holds. `turn_page` is the page with everything.

    Args:
        output: of a turn, or its record.

    Raises:
        InputInvalid: `output` is neither.
    """

    def __init__(self, output: Mapping[str, Any]) -> None:
        self.record = recorded(output)

    def __str__(self) -> str:
        return str(self.record["answer"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.record['outcome']}: {self.record['answer']!r})"

    def _repr_html_(self) -> str:
        return plain(environment().get_template(_TEMPLATE).render(record=self.record))

    def _repr_markdown_(self) -> str:
        record = self.record
        answer = _text(record["answer"]).replace("\n", "  \n")
        parts = [f"**{_line(record['question'])}** ({record['outcome']})", answer]
        for one in record["citations"]:
            place = f"{_line(one['source_name'])}: {_line(one['location']['shown'])}"
            parts.append(f"- \\[{one['label']}\\] {_line(one['quote'])} ({place})")
        parts += [f"*{_line(note)}*" for note in record["notes"]]
        return plain("\n\n".join(parts))


def _line(text: str) -> str:
    return _text(" ".join(text.split()))


def _text(text: str) -> str:
    """`text` with everything escaped that Markdown or HTML would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>&#|~$!])", r"\\\1", text)
