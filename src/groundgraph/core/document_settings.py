"""What is known of documents and records before they are read: chunks, metadata, fields."""

from typing import Any, Literal

from pydantic import ByteSize, Field, PositiveFloat

from groundgraph.core.section import Section


class ChunkerSettings(Section):
    """How documents are cut into chunks (K5)."""

    strategy: Literal["markdown"] = "markdown"
    max_chunk_size: int = Field(800, ge=100, le=20_000, description="characters")


class ReaderSettings(Section):
    """The limits of the processes that read documents, one for each core: a file that passes one is not taken in."""

    memory: ByteSize = Field(ByteSize(1_000_000_000), ge=100_000_000, description="of each process, such as 1GB")
    seconds: PositiveFloat = Field(60, le=86_400, description="for one file")


class PathRule(Section):
    """Metadata for the documents whose name matches a pattern (K11)."""

    path: str = Field(description="a glob over document names: * within a folder, ** across folders")
    set: dict[str, Any]


class MetadataSettings(Section):
    """Where the fields of documents come from beside their front matter, which wins over both (K11)."""

    rules: list[PathRule] = Field([])
    sidecar: str | None = Field(
        "metadata.yaml", description="a file in a folder of documents that maps names below it to fields"
    )


class CustomSchemaSettings(Section):
    """A kind of data of one's own: records that Python or a larger graph writes (K8)."""

    fields: dict[str, dict[str, Any]]
    content: list[str] = Field([], description="the fields that make the text, in order; all of them when empty")
    id: str | None = Field(None, description="the field that identifies a record; a hash of its content when absent")
    description: str = ""
