"""Objects of a collection as pieces of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.search.rank import RankedPassage
from groundgraph.sources.weaviate.search import as_text
from groundgraph.sources.weaviate.shape import Wanted

SOURCE_TYPE = "weaviate"
HEADING_SEPARATOR = " > "


def result_of(ranked: RankedPassage, wanted: Wanted, tenant: str | None) -> SourceResult:
    """One result; the payload is the client's object."""
    values, mapping = ranked.payload.properties, wanted.mapping
    own = values.get(mapping.id) if mapping.id else None
    return SourceResult(
        content=as_text(values.get(mapping.text)),
        source_id=str(ranked.payload.uuid) if own in (None, "") else str(own),
        source_name=wanted.name,
        source_type=SOURCE_TYPE,
        relevance=ranked.relevance,
        metadata=_metadata(values, wanted, tenant),
        score=ranked.score,
        scores={**ranked.scores, "match": ranked.match_score},
    )


def heading_path(value: Any) -> tuple[str, ...]:
    """The titles in a property, the outermost first: a list of them, or one text with ` > ` between."""
    parts = value if isinstance(value, list) else str(value or "").split(HEADING_SEPARATOR)
    return tuple(title for title in (str(part).strip() for part in parts) if title)


def metadata_names(wanted: Wanted) -> set[str]:
    """The names that results carry (R12)."""
    mapped = {name for name in ("title", "document", "url") if getattr(wanted.mapping, name)}
    mapped |= {"section", "headings"} if wanted.mapping.headings else set()
    mapped |= {"position"} if wanted.mapping.order else set()
    return mapped | set(wanted.properties) | set(wanted.metadata) | ({wanted.tenant_from} - {""})


def _metadata(values: Mapping[str, Any], wanted: Wanted, tenant: str | None) -> dict[str, Any]:
    mapping = wanted.mapping
    found: dict[str, Any] = {name: _plain(values.get(name)) for name in wanted.metadata}
    found |= {
        field: _of_kind(str(wanted.fields[field].get("type", "string")), values.get(name))
        for field, name in wanted.properties.items()
    }
    mapped = {"title": mapping.title, "document": mapping.document, "url": mapping.url, "position": mapping.order}
    found |= {ours: _plain(values.get(theirs)) for ours, theirs in mapped.items() if theirs and ours not in found}
    if mapping.headings and values.get(mapping.headings):
        path = list(heading_path(values[mapping.headings]))
        found = {"headings": path, "section": HEADING_SEPARATOR.join(path), **found}
    if tenant is not None:
        found[wanted.tenant_from] = tenant
    return {name: value for name, value in found.items() if value is not None}


def _of_kind(kind: str, value: Any) -> Any:
    if isinstance(value, datetime):
        # As conditions write them: a day alone, or a time in UTC.
        moment = value.astimezone(UTC).replace(tzinfo=None)
        return moment.date().isoformat() if kind == "date" else moment.isoformat()
    return int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else _plain(value)


def _plain(value: Any) -> Any:
    return jsonable(value)
