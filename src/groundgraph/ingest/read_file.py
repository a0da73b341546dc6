"""Reads a file whole, up to a size that memory can bear."""

from __future__ import annotations

import importlib
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
