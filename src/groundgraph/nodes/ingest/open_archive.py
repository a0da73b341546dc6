"""The zip archive that a Word or Excel file is, checked before anything is unpacked."""

from __future__ import annotations

import io
import zipfile
import zlib

from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.read_file import MEGABYTE

MAX_RATIO = 100
MAX_UNPACKED = 200 * MEGABYTE
MAX_ENTRIES = 10_000
# Below this size a ratio says nothing: a few empty rows reach any.
_RATIO_FROM = MEGABYTE
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_BLOCK = 1 << 20
_DOCTYPE = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))


def open_archive(data: bytes, kind: str, *, max_xml: int = MAX_UNPACKED) -> zipfile.ZipFile:
    """The archive in `data`, which is small enough to unpack. The caller closes it.

    Sizes are those that the archive declares; `zipfile` unpacks no more of an entry than was declared.

    Args:
        data: the file.
        kind: what the file is said to be, for messages.
        max_xml: the most bytes that one XML entry may have.

    Raises:
        IngestError: it is no such archive, is damaged or encrypted, or would unpack to far more than it is.
    """
    if not data:
        raise IngestError("the file is empty")
    if data.startswith(_OLD_OFFICE):
        raise IngestError(f"it is no {kind} file but one in the older format, or encrypted; save it anew without both")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise IngestError(f"it is no {kind} file, or a damaged one: it is no zip archive ({error})") from error
    try:
        _refuse_bombs(archive.infolist(), max_xml)
        for entry in archive.infolist():
            if entry.filename.endswith((".xml", ".rels")):
                _check_xml(archive, entry, kind)
    except BaseException:
        archive.close()
        raise
    return archive


def _refuse_bombs(entries: list[zipfile.ZipInfo], max_xml: int) -> None:
    if len(entries) > MAX_ENTRIES:
        raise IngestError(f"its archive has {len(entries)} entries, the most is {MAX_ENTRIES}")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise IngestError(f"it would unpack to more than {MAX_UNPACKED // MEGABYTE} MB; split it")
    for entry in entries:
        if entry.file_size > max(_RATIO_FROM, MAX_RATIO * entry.compress_size):
            raise IngestError(f"'{entry.filename}' in it would unpack to more than {MAX_RATIO} times its size")
        if entry.file_size > max_xml and entry.filename.endswith(".xml"):
            raise IngestError(f"'{entry.filename}' in it has more than {max_xml // MEGABYTE} MB; split it")


def _check_xml(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str) -> None:
    # The format allows no document type; with one, entities could grow without bound in the parser.
    before = b""
    try:
        with archive.open(entry) as file:
            while block := file.read(_BLOCK):
                if any(mark in before + block for mark in _DOCTYPE):
                    raise IngestError(f"'{entry.filename}' in it declares a document type, as no {kind} file may")
                before = block[-32:]
    except IngestError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise IngestError(f"'{entry.filename}' in it is damaged or encrypted: {error}") from error
