"""The file of a recorded run: what went into a turn, what models and sources said, what came out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from groundgraph.core.errors import InputInvalid, SchemaVersionUnsupported
from groundgraph.core.secret_mask import masked_values

VERSION = 1


@dataclass
class RecordedRun:
    """A run; every value is plain JSON.

    Attributes:
        messages: of the input, each with `role`, `text` and `id`, and those of tools with what makes them that; the
            prompts of a turn depend on the ids.
        metadata: of the input.
        context: the choices of the run.
        models: the names of the models by their parts: `chat`, `query`, `extractor`.
        calls: the calls of models outside of sources and rerankers, in the order in which they ended: `prompt`, and
            `reply` or `error`.
        sources: by name, in order: what a source says of itself, and its `answers`.
        rerankers: by name what a reranker made of which candidates.
        output: the answer, the outcome, the notes, the citations and the provenance.
    """

    messages: list[dict[str, Any]]
    metadata: dict[str, Any]
    context: dict[str, Any]
    models: dict[str, str] = field(default_factory=dict)
    calls: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    rerankers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the file, without any secret that is known (`core/secret_mask.py`)."""
        text = json.dumps({"format": VERSION, **masked_values(asdict(self))}, ensure_ascii=False, indent=1)
        # A character that cannot be encoded becomes its escape in JSON.
        path.write_bytes((text + "\n").encode("utf-8", "backslashreplace"))

    @classmethod
    def load(cls, path: Path) -> RecordedRun:
        """The run in the file.

        Raises:
            InputInvalid: it is no recording.
            SchemaVersionUnsupported: another version of groundgraph wrote it in another form.
        """
        try:
            found = dict(json.loads(path.read_text("utf-8")))
        except (TypeError, ValueError) as error:
            raise InputInvalid(f"{path} is no recording: {error}") from error
        version = found.pop("format", None)
        if version != VERSION:
            raise SchemaVersionUnsupported(
                f"{path} has format {version}, this groundgraph reads {VERSION}: record anew."
            )
        wanted = get_type_hints(cls)
        fits = set(found) == set(wanted) and all(
            isinstance(value, get_origin(wanted[name])) for name, value in found.items()
        )
        if not fits:
            raise InputInvalid(f"{path} is no whole recording: record anew. It has to hold {', '.join(wanted)}.")
        return cls(**found)
