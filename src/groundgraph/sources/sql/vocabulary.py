"""What the values of a table and its columns are called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.sources.sql.shape import Column
from groundgraph.text.words import fold, stems

# By the stems of values, the columns that hold them and the values as they are stored there.
Vocabulary = Mapping[tuple[str, ...], Mapping[str, Sequence[Any]]]


def stands_behind(column: str, value: Any, said: str) -> bool:
    """Whether the folded text `said` says `value` right behind the name of `column`."""
    name, own = re.escape(fold(spaced(column))), re.escape(fold(str(value)).strip())
    return bool(own) and re.search(rf"(?<!\w){name}[\s:=]+{own}(?![\w+#])", said) is not None


def name_stems(column: Column) -> set[str]:
    """The stems of the name of `column`."""
    return set(stems(spaced(column.name)))


def spaced(name: str) -> str:
    """`name` as it is said."""
    return name.replace("_", " ")
