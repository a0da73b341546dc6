"""A table of records as one document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundgraph.core.clean_text import clean_text
from groundgraph.core.document import RECORDS, Document, Part
from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.read_file import MAX_CHARS

MAX_RECORDS = 200_000
_SPACE = "\n\n"
_NAMED = 10


class Records:
    """Collects the records of one file."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._parts: list[Part] = []
        self._end = 0

    def add(self, fields: Iterable[tuple[str, str, Any]], place: Mapping[str, Any]) -> None:
        """Add a record; one without any text is passed over.

        Args:
            fields: name, text and JSON value of each field; one without text is left out.
            place: where it stands in the file, as `Original` reads it.

        Raises:
            IngestError: these are too many records, or too much text.
        """
        present = [field for field in fields if field[1]]
        if not present:
            return
        text = clean_text("\n".join([f"{name}: {shown}" for name, shown, _ in present]))
        start = self._end + (len(_SPACE) if self._parts else 0)
        self._end = start + len(text)
        self._texts.append(text)
        own = {clean_text(name): value for name, _, value in present}
        self._parts.append(Part(start, self._end, {**own, **place}))
        if len(self._parts) > MAX_RECORDS:
            raise IngestError(f"it holds more than {MAX_RECORDS:_} records; split it, or make it a SQL source")
        if self._end > MAX_CHARS:
            raise IngestError(f"its records have more than {MAX_CHARS:_} characters; split it, or make it a SQL source")

    def document(self, name: str, warnings: Sequence[str]) -> Document:
        """The document called `name` with the records so far.

        Raises:
            IngestError: there are none.
        """
        if not self._parts:
            raise IngestError("; ".join(["it holds no records", *warnings]))
        title = {"title": Path(name).stem}
        text = _SPACE.join(self._texts)
        return Document(name, text, RECORDS, title, 0, tuple(warnings), parts=tuple(self._parts))


def shown(value: Any) -> str:
    """A JSON value as the text of a record shows it; empty for null."""
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def field_names(header: Iterable[Any]) -> list[str]:
    """The names in the first row of a table, made unique; a column without one is named by its number, from 1."""
    names: dict[str, None] = {}
    following: dict[str, int] = {}
    for number, cell in enumerate(header, 1):
        name = wanted = " ".join(str(cell if cell is not None else "").split()) or f"column {number}"
        again = following.get(wanted, 2)
        while name in names:
            name, again = f"{wanted} {again}", again + 1
        following[wanted] = again
        names[name] = None
    return list(names)


def left_out(places: Sequence[str], what: str, reason: str) -> list[str]:
    """The warning that the rows at `places` were not taken in; none when there are no such rows."""
    if not places:
        return []
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return [f"{len(places)} {what} left out, {reason}: {', '.join(places[:_NAMED])}{more}"]
