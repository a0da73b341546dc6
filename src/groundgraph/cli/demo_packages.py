"""The first source of the demo: what the packages that groundgraph needs say about themselves."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageMetadata, PackageNotFoundError, distribution

from groundgraph.cli.demo_texts import readable
from groundgraph.core.document import MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT, Document

OWN_NAME = "groundgraph"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KINDS = {MARKDOWN: MARKDOWN, PLAIN_TEXT: PLAIN_TEXT}
_MIN_CHARS = 100


def package_documents() -> list[Document]:
    """The long descriptions of all packages that groundgraph needs, directly or not, in order of their names.

    Other packages of the same environment are left out, so that the demo finds the same everywhere.
    """
    documents = [_document(package) for package in needed_packages()]
    return [document for document in documents if len(document.text) >= _MIN_CHARS]


def needed_packages() -> list[Distribution]:
    """The packages that groundgraph needs, directly or not, in order of their names."""
    found: dict[str, Distribution] = {}
    _collect(OWN_NAME, found)
    return [found[name] for name in sorted(found) if name != OWN_NAME]


def _collect(name: str, found: dict[str, Distribution]) -> None:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    try:
        found[key] = distribution(name)
    except PackageNotFoundError:
        return
    for requirement in found[key].requires or []:
        own = _NAME.match(requirement)
        if own and "extra ==" not in requirement:
            _collect(own.group(), found)


def _document(package: Distribution) -> Document:
    metadata = package.metadata
    kind = (metadata["Description-Content-Type"] or "").split(";")[0].strip()
    # Without a type the description is reStructuredText, by the core metadata specification.
    media_type = _KINDS.get(kind, RESTRUCTURED_TEXT)
    name = str(metadata["Name"])
    details = {"title": name, "version": package.version}
    return Document(name, readable(description_of(metadata), media_type), media_type, details)


def description_of(metadata: PackageMetadata) -> str:
    """The long description: the body of the metadata or, in metadata before version 2.1, a field of it."""
    return str(metadata.json.get("description") or "")
