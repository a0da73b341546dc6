"""Packages that only some kinds of documents need."""

from __future__ import annotations

import importlib
from types import ModuleType

from groundgraph.core.document import HTML, PDF
from groundgraph.core.errors import IngestError
from groundgraph.core.media_types import DOCX, XLSX

# By media type what a reader calls such a document, and the modules that reading one needs.
NEEDED = {
    PDF: ("a PDF", ("pypdfium2",)),
    DOCX: ("a Word document", ("mammoth", "lxml.html")),
    XLSX: ("an Excel workbook", ("openpyxl",)),
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
