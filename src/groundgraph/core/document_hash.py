"""What tells whether a document changed, or the way in which it is processed."""

from __future__ import annotations

import hashlib
import json

from groundgraph.core.document import Document
from groundgraph.core.evidence import jsonable


def content_hash(document: Document) -> str:
    """The hash of the document itself: its text, its metadata, its parts and headings."""
    digest = hashlib.blake2b(document.text.encode("utf-8", "surrogatepass"), digest_size=16)
    parts = [[part.start, part.end, jsonable(part.metadata)] for part in document.parts]
    headings = [[heading.start, heading.end, heading.level, heading.title] for heading in document.headings]
    about = [document.media_type, document.kind, document.body_start, jsonable(document.metadata), parts, headings]
    digest.update(json.dumps(about, sort_keys=True).encode())
    return digest.hexdigest()


def document_hash(content: str, signature: str, embedding_model: str = "") -> str:
    """The hash of everything that the stored chunks of a document depend on.

    Args:
        content: see `content_hash`.
        signature: of the ingest chains of its kind.
        embedding_model: the name of the embedding model, empty without one.
    """
    return hashlib.blake2b(json.dumps([content, signature, embedding_model]).encode(), digest_size=16).hexdigest()
