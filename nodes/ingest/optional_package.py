"""Packages that only some kinds of documents need."""

from __future__ import annotations

import importlib
from types import ModuleType

from groundgraph.core.errors import IngestError


def optional_package(module: str, kind: str) -> ModuleType:
    """The module called `module`, which reading a document of `kind` needs.

    Raises:
        IngestError: it is not installed; the message names the command that does it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        reason = f'{kind} needs the package {package}: pip install "groundgraph[documents]"'
        raise IngestError(reason) from error
