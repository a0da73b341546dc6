"""Reads a file whole, up to a size that memory can bear."""

from __future__ import annotations

from pathlib import Path

from groundgraph.core.errors import IngestError

MEGABYTE = 1_000_000
# One document is held in memory with its chunks, which takes several times its size.
MAX_BYTES = 32 * MEGABYTE
# The same for a text that is unpacked from a smaller file.
MAX_CHARS = 48 * MEGABYTE


def read_file(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of the file at `path`, at most `limit`.

    Raises:
        IngestError: the file is larger, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise IngestError(f"the file cannot be read: {error.strerror}") from error
    if len(data) > limit:
        raise IngestError(f"the file is larger than {limit // MEGABYTE} MB; split it")
    return data
