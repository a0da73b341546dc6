"""Which columns of a table say where a row stands in a document, for a topic index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.sources.sql.postgres.options import PostgresOptions

NAMES = ("document", "order", "headings")
_BETWEEN = " > "


@dataclass(frozen=True)
class TopicColumns:
    """The option `topic_columns`.

    Attributes:
        document: the column with the name of the document that a row is from.
        order: the column by which the rows of one document are ordered.
        headings: the column with the titles above a row, the outermost first: a JSON list, or a text joined by " > ".
    """

    document: str
    order: str
    headings: str

    @classmethod
    def of(cls, given: Any, key: str) -> TopicColumns:
        """The columns that `given`, a mapping, names.

        Args:
            given: the value of the option.
            key: where it stands, for messages.

        Raises:
            ConfigurationError: it is no mapping of `NAMES` to columns.
        """
        problems = option_problems(given, key)
        if problems:
            raise ConfigurationError(problems)
        return cls(**given)

    @property
    def names(self) -> list[str]:
        """All three."""
        return [self.document, self.order, self.headings]


def option_problems(given: Any, key: str) -> list[Problem]:
    """What is wrong with `given`, the value of the option at `key`."""
    if not isinstance(given, Mapping):
        return [Problem(key, f"maps {', '.join(NAMES)} to columns of the table")]
    unknown = [
        Problem(f"{key}.{name}", f"is not known.{nearest(str(name), list(NAMES))} Known: {', '.join(NAMES)}.")
        for name in given
        if name not in NAMES
    ]
    missing = [
        Problem(f"{key}.{name}", "must be the name of a column")
        for name in NAMES
        if not (isinstance(given.get(name), str) and given[name])
    ]
    return [*unknown, *missing]


def table_problems(tables: Sequence[str], server: PostgresOptions | None, key: str) -> list[Problem]:
    """Why a source cannot have `topic_columns`.

    Args:
        tables: those that the configuration names.
        server: the options of a source on a server.
        key: where the option stands, for messages.
    """
    problems = []
    if len(tables) != 1:
        problems.append(Problem(key, "are the columns of one `table`; name it"))
    # Only an index here looks at every change of a row, which headings that are kept in memory need as well.
    if server and server.text_index == "database":
        told = "work with `text_index: own`, and not with the full-text index of the database"
        problems.append(Problem(key, told))
    if server and server.vector_field:
        told = "cannot be had together with `vector_field`: a topic index reads no vectors of a SQL source"
        problems.append(Problem(key, told))
    return problems


def heading_path(value: Any) -> tuple[str, ...]:
    """The titles in a value of the headings column, the outermost first; empty ones are left out."""
    titles = _listed(value)
    if titles is None:
        titles = str(value).split(_BETWEEN) if value is not None else []
    return tuple(title for one in titles if one is not None and (title := str(one).strip()))


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None  # a title may begin with a bracket
    return value if isinstance(value, list) else None
