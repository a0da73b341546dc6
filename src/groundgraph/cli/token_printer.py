"""Printing an answer while it is written."""

from __future__ import annotations

import sys

from groundgraph.cli.output import printable


class TokenPrinter:
    """Prints the pieces of an answer as they come; does nothing unless `wanted`."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._text = ""

    def add(self, piece: str) -> None:
        """Print `piece`."""
        if self._wanted and piece:
            self._text += piece
            sys.stdout.write(printable(piece))
            sys.stdout.flush()

    def finish(self, answer: str) -> bool:
        """Whether exactly `answer` was printed; a model that failed on the way leaves another text behind."""
        if self._text:
            sys.stdout.write("\n")
        return bool(self._text) and self._text.strip() == answer.strip()
