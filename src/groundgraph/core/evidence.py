"""What a source returned: in Python a `SourceResult`, in the state a reference to its stored record."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from enum import Enum
from functools import lru_cache
from types import UnionType
from typing import Any, NamedTuple, NotRequired, cast

from typing_extensions import TypedDict

from groundgraph.core.characters import clean_text
from groundgraph.core.exact_number import ExactNumber

PREVIEW_CHARS = 160


@lru_cache(maxsize=4096)
def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The beginning of `text` on one line, at most `limit` characters, cut between words."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut) + "…"


@dataclass(frozen=True)
class SourceResult:
    """One piece of evidence, the same shape for every source.

    Attributes:
        content: the text.
        source_id: unique within the source, for example a chunk id or a primary key; one id with two texts is two
            pieces of evidence.
        source_name: the source that returned it.
        source_type: the kind of source, for example `knowledge_base`.
        relevance: 0 to 1, comparable within the source.
        metadata: JSON values. Known names: `title`, `section` (headings joined by " > "), `url`, `document`,
            and `start`, the offset of `content` in the original, in Unicode characters.
        score: the number by which the source ordered its results, when that is not `relevance`; any scale.
        scores: the numbers that it came from, by name, for whoever looks into the source; not part of the record.
        nearness: of a question the cosines with each sentence of the content, in thousandths, where an embedding model
            was asked; not part of the record.
    """

    content: str
    source_id: str
    source_name: str
    source_type: str
    relevance: float = 1.0
    metadata: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    scores: dict[str, float] = field(default_factory=dict)
    nearness: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def passage(self) -> tuple[str, str]:
        """What it is within its source: results are one where id and text are, since an id may be given twice."""
        return self.source_id, self.content

    def to_dict(self, label: int | None = None) -> dict[str, Any]:
        """The result as templates and formatters see it; `label` is its number within a turn."""
        return as_row(to_record(self), self.relevance, label)

    def plain_row(self, label: int) -> dict[str, Any]:
        """As `to_dict`, for a result that a record was read into: its values are plain already."""
        return as_row(cast("EvidenceRecord", vars(self)), self.relevance, label)


_PLAIN = frozenset({bool, type(None)})
# What checkpoints and stores hold of whole numbers; others are kept as text.
_LEAST_INTEGER, _MOST_INTEGER = -(2**63), 2**63 - 1
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class EvidenceRecord(TypedDict):
    """The part of a result that does not depend on the question; it is stored once in each scope, under its hash.

    `scope` is that of the runs that may read it (`groundgraph.nodes.node.scope_token`), absent where sources have no
    scope filters.
    """

    content: str
    source_id: str
    source_name: str
    source_type: str
    metadata: dict[str, Any]
    scope: NotRequired[str]


def jsonable(value: Any) -> Any:
    """`value` with everything that JSON does not know turned into strings, dates as ISO 8601."""
    if type(value) is str:
        return clean_text(value)
    if type(value) in _PLAIN:
        return value
    return next(form for kind, form in _FORMS if isinstance(value, kind))(value)


def _finite(value: float) -> float | str:
    return float(value) if math.isfinite(value) and not isinstance(value, ExactNumber) else str(value)


def _stored_integer(value: int) -> int | str:
    return value if _LEAST_INTEGER <= value <= _MOST_INTEGER else str(value)


# What a value becomes by the first of these that it is: a member of an `IntEnum` is an integer too.
_FORMS: tuple[tuple[type | UnionType, Callable[[Any], Any]], ...] = (
    (Enum, lambda member: jsonable(member.value)),
    (float, _finite),
    (int, _stored_integer),
    (str, lambda text: text),
    (dict, lambda items: {clean_text(str(key)): jsonable(item) for key, item in items.items()}),
    (list | tuple, lambda items: [*map(jsonable, items)]),
    (set | frozenset, lambda items: sorted(map(jsonable, items), key=str)),
    (date | time, lambda moment: moment.isoformat()),
    (object, str),
)


def to_record(result: SourceResult, scope: str = "") -> EvidenceRecord:
    """The record of `result`, found in `scope`, ready for a store."""
    record: EvidenceRecord = {
        "content": clean_text(result.content),
        "source_id": clean_text(result.source_id),
        "source_name": result.source_name,
        "source_type": result.source_type,
        "metadata": jsonable(result.metadata),
    }
    if scope:
        record["scope"] = scope
    return record


def from_record(record: EvidenceRecord, relevance: float, score: float | None = None) -> SourceResult:
    """The result that `to_record` was given, with the numbers that the state kept beside the reference."""
    result = object.__new__(SourceResult)
    # A frozen dataclass sets one attribute after the other, in more than twice the time, and a turn reads sixty.
    result.__dict__.update(
        {
            "content": record["content"],
            "source_id": record["source_id"],
            "source_name": record["source_name"],
            "source_type": record["source_type"],
            "relevance": relevance,
            "metadata": record["metadata"],
            "score": score,
            "scores": {},
            "nearness": {},
        }
    )
    return result


def changed(result: SourceResult, **values: Any) -> SourceResult:
    """`result` with other values; made as in `from_record`, since a turn makes one of every piece."""
    made = object.__new__(SourceResult)
    made.__dict__.update(result.__dict__)
    made.__dict__.update(values)
    return made


def as_row(record: EvidenceRecord, relevance: float, label: int | None = None) -> dict[str, Any]:
    """A record as templates and readers see it; `label` is its number within a turn."""
    row: dict[str, Any] = {
        "source_id": record["source_id"],
        "source_name": record["source_name"],
        "source_type": record["source_type"],
        "relevance": relevance,
        "text": record["content"],
        "text_preview": preview(record["content"]),
        "metadata": record["metadata"],
    }
    return row if label is None else {**row, "label": label}


def from_row(row: Mapping[str, Any]) -> SourceResult:
    """The result that a row of `as_row` was made of."""
    return from_record(cast("EvidenceRecord", {**row, "content": row["text"]}), row["relevance"])


def evidence_key(record: EvidenceRecord) -> str:
    """The name of a record: 96 bits of a BLAKE2b hash, as 16 URL-safe characters.

    What is hashed is one line of canonical JSON with everything but the content, and then the content. The same text
    has a name of its own in each scope, so that what one scope forgets is not another's.
    """
    named = [record["source_name"], record["source_type"], record["source_id"], record["metadata"]]
    named += [record["scope"]] if "scope" in record else []
    text = f"{_CANONICAL.encode(named)}\n{record['content']}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    return base64.urlsafe_b64encode(digest).decode()


# By what the metadata of what a source gives in place of a number tell that this would have to be computed.
NEEDS = "needs_computation"


def is_stated(metadata: Mapping[str, Any]) -> bool:
    """Whether evidence with this metadata is what its source was asked for, by what the words stand for: a number that
    was computed, or rows that meet the conditions."""
    return bool(metadata.get("computed") or metadata.get("asked_for"))


class Hit(NamedTuple):
    """One result of one query to one source, by reference.

    Attributes:
        key: the evidence key.
        source_name: the source that returned it.
        source_id: its id within the source.
        relevance: 0 to 1.
        score: the number by which the source ordered its results.
        text: of the evidence; one id with two texts is two pieces of it.
        stated: see `is_stated`.
    """

    key: str
    source_name: str
    source_id: str
    relevance: float
    score: float
    text: str = ""
    stated: bool = False

    @property
    def passage(self) -> tuple[str, str]:
        """See `SourceResult.passage`."""
        return self.source_id, self.text
