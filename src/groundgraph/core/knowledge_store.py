"""Where an ingest writes to: the embedded file, or a server. The ledger is part of the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from groundgraph.core.document import Chunk, Document

# Why a document is not there any more that `KnowledgeStore.open` took out.
LOST = "parts of it were lost in the base, so it was taken out; ingesting its file again writes it anew"
LOST_AND_READ = "parts of it were lost in the base, so it is taken in anew"


@dataclass(frozen=True)
class PreparedChunk:
    """A chunk that went through the ingest chains.

    Attributes:
        chunk: the chunk.
        matching_texts: the texts by which it is found, at least one.
        qualifying_text: what the document is about, or the chunk's place in it.
        vectors: one unit vector per matching text, as rows of a float32 array of shape (texts, dimension); None
            without an embedding model.
    """

    chunk: Chunk
    matching_texts: tuple[str, ...]
    qualifying_text: str = ""
    vectors: Any = None


@dataclass(frozen=True)
class PreparedDocument:
    """A document ready to be written.

    Attributes:
        document: the document.
        chunks: its chunks.
        hash: of everything that they depend on; see `document_hash`.
        from_file: an ingest of its folder may remove it again.
        content_hash: of the document alone.
    """

    document: Document
    chunks: Sequence[PreparedChunk]
    hash: str
    from_file: bool = False
    content_hash: str = ""


@dataclass(frozen=True)
class StoredDocument:
    """A row of the ledger.

    Attributes:
        name: of the document.
        hash: of everything its chunks depend on.
        chunks: how many it has.
        kind: the kind of data.
        title: its title.
        written_at: when it was written, ISO 8601 in UTC.
        metadata: JSON values.
        from_file: it was read from a file.
    """

    name: str
    hash: str
    chunks: int
    kind: str = "documents"
    title: str = ""
    written_at: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    from_file: bool = False

    @property
    def id(self) -> str:
        """What `KnowledgeBase.remove` takes: the name."""
        return self.name


@dataclass(frozen=True)
class BaseIdentity:
    """What a base was made with; a base never mixes embedding models.

    Attributes:
        embedding_model: its name, empty without embeddings.
        dimension: of its vectors, 0 without embeddings.
        chains: for each kind of data the names of its chains, for a reader.
    """

    embedding_model: str = ""
    dimension: int = 0
    chains: dict[str, str] = field(default_factory=dict)


@dataclass
class Verified:
    """What a look at the whole base found.

    Attributes:
        documents: how many the ledger names.
        chunks: how many chunks were looked at.
        repaired: how many were not found by a search, and are again.
        removed: how many chunks belonged to no document, or to an older version of one.
        incomplete: the documents of which chunks are missing or could not be repaired.
        altered: the documents whose stored texts are not those that were written. Both are taken out of the base, so
            that the next ingest of their files writes them anew.
    """

    documents: int = 0
    chunks: int = 0
    repaired: int = 0
    removed: int = 0
    incomplete: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)

    @property
    def taken_out(self) -> list[str]:
        """The documents that are not in the base any more."""
        return sorted({*self.incomplete, *self.altered})


class KnowledgeStore(Protocol):
    """The writing side of a knowledge base. All methods are coroutines; none blocks the event loop."""

    async def open(self, identity: BaseIdentity, *, rebuild: bool = False) -> Sequence[str]:
        """Make the store ready for writing.

        With `rebuild`, all vectors are dropped and every document counts as changed, so that another embedding model
        can be used; until a document is written anew it is found by its words.

        Returns:
            the names of documents of which the store had lost parts, so that they had to be taken out.

        Raises:
            EmbeddingModelChanged: the base holds vectors of another model or dimension.
            SchemaVersionUnsupported: a newer groundgraph wrote it.
            StorageLocked: another process holds it.
        """

    async def stored(self, names: Iterable[str]) -> dict[str, StoredDocument]:
        """The ledger rows of those of `names` that are there."""

    async def names_from_files(self) -> list[str]:
        """The names of all documents that were read from files, sorted."""

    async def write(self, batch: Sequence[PreparedDocument]) -> dict[str, str]:
        """Write each document in place of the one of its name, without a moment in which neither is found.

        Returns:
            by name, why a document could not be written; the others are in.
        """

    async def remove(self, names: Iterable[str]) -> int:
        """Remove documents with their chunks, and count those that were there."""

    async def documents(self) -> list[StoredDocument]:
        """The whole ledger, by name."""

    async def document(self, name: str) -> Document | None:
        """The document called `name` as the loader stored it; None when it is not there."""

    async def chunks(self, name: str) -> list[PreparedChunk]:
        """The chunks of the document called `name` in order, with their matching texts and without vectors."""

    async def tidy(self) -> None:
        """Put the store in order after an ingest."""

    async def close(self) -> None:
        """Release the store."""
