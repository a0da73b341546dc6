"""Reads a file up to a size that memory can bear: whole, or as the archive that one of an office program is."""

from __future__ import annotations

import importlib
import io
import zipfile
import zlib
from pathlib import Path
from types import ModuleType

from groundgraph.core.document import DOCX, HTML, PDF, PPTX, XLSX
from groundgraph.core.errors import IngestError

# Packages that only some kinds of documents need.

# By media type what a reader calls such a document, and the modules that reading one needs.
NEEDED = {
    PDF: ("a PDF", ("pypdfium2", "pdfplumber")),
    DOCX: ("a Word document", ("mammoth", "lxml.html")),
    XLSX: ("an Excel workbook", ("openpyxl",)),
    PPTX: ("a PowerPoint presentation", ("pptx",)),
    HTML: ("HTML", ("trafilatura",)),
}


class PackageMissing(IngestError):
    """A package that a kind of documents needs is not installed, or does not load.

    Attributes:
        installed: it is there, and something else is wrong with it.
    """

    def __init__(self, message: str, *, installed: bool) -> None:
        super().__init__(message)
        self.installed = installed


def optional_package(module: str, kind: str) -> ModuleType:
    """The module called `module`, which reading a document of `kind` needs.

    Raises:
        PackageMissing: it is not installed or does not load; the message has the cause and the command that helps.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        package = module.partition(".")[0]
        installed = not (isinstance(error, ModuleNotFoundError) and error.name == package)
        cause = f"which is installed and does not load ({error})" if installed else "which is not installed"
        told = f'{kind} needs the package {package}, {cause}: pip install "groundgraph[documents]"'
        raise PackageMissing(told, installed=installed) from error


def package_problem(media_type: str) -> tuple[bool, str]:
    """Whether documents of `media_type` cannot be read although the package is installed, and why not.

    The reason is empty when they can be read.
    """
    kind, modules = NEEDED[media_type]
    try:
        for module in modules:
            optional_package(module, kind)
    except PackageMissing as error:
        return error.installed, str(error)
    return False, ""


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


# The zip archive that a Word or Excel file is, checked before anything is unpacked.

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
