"""The documents of the demo: what the installed packages and groundgraph say about themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageMetadata, PackageNotFoundError, distribution, metadata
from pathlib import Path

import groundgraph
from groundgraph.core.document import MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT, Document

# Descriptions of packages without what only a web page shows: badges, images, HTML, link targets.

_FENCED = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)[ \t]*+$|\Z))", re.MULTILINE | re.DOTALL)
_MARKDOWN = (
    (re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), ""),
    (re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE), ""),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    # A badge is an image inside a link; images go first, and the link is empty then.
    (re.compile(r"!\[[^\[\]]*+\](?:\([^()]*+\)|\[[^\[\]]*+\])"), ""),
    (re.compile(r"\[\s*+\](?:\([^()]*+\)|\[[^\[\]]*+\])"), ""),
    (re.compile(r"(?<![\w\])])\[([^\[\]]+)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"(?<![\w\])])\[([^\[\]]+)\]\[[^\]]*\]"), r"\1"),
    (re.compile(r"^ {0,3}\[[^\[\]]++\]:\s++\S.*$", re.MULTILINE), ""),
)
_RESTRUCTURED = (
    (
        re.compile(
            r"^\.\. (?:\|[^|]+\| )?(?:image|figure|raw|badge)::.*\n(?:[ \t]+\S.*\n?|[ \t]*\n(?=[ \t]+:))*", re.M
        ),
        "",
    ),
    (re.compile(r"^\.\. _[^:\n]+:.*$|^\.\. \|[^|]+\| .*$", re.MULTILINE), ""),
    (re.compile(r"(?<![a-z:]):[a-z][a-z:]*+(?<=:)`~?((?>[^`<]*[^`<\s]))\s*+(?:<[^`>]*+>)?`"), r"\1"),
    (re.compile(r"`((?>[^`<]*[^`<\s]))\s*+<[^`>]++>`__?"), r"\1"),
    (re.compile(r"`([^`\n]+)`__?"), r"\1"),
    (re.compile(r"\\([:*_`|<>])"), r"\1"),
    (re.compile(r"(?:^|(?<=\s))\|[^|\s][^|\n]*\|_{0,2}(?=\s|$)"), ""),
)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def readable(text: str, media_type: str) -> str:
    """`text` with prose, headings and code; what stands in fenced code blocks is left alone."""
    text = text.replace("\r\n", "\n")
    if media_type == MARKDOWN:
        # Every second piece is a fenced block.
        pieces = [piece if n % 2 else _without(piece, _MARKDOWN) for n, piece in enumerate(_FENCED.split(text))]
        text = "".join(pieces)
    else:
        text = _without(text, _RESTRUCTURED)
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def _without(text: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


# The first source of the demo: what the packages that groundgraph needs say about themselves.

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


_FILES = {
    "README.md": "groundgraph",
    "ARCHITECTURE.md": "groundgraph: architecture",
    "CHANGELOG.md": "groundgraph: changelog",
}
# Of less interest to a reader of the demo than what a turn does.
_LEFT_OUT = {"__pycache__", "cli", "testing"}
_Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def own_documents() -> list[Document]:
    """README, ARCHITECTURE and CHANGELOG where there are such, and the docstrings of the modules.

    An installed wheel holds of the former only the README, as its description.
    """
    root = _package_folder().parent.parent
    in_checkout = (root / "pyproject.toml").is_file()
    return [*(_checkout_files(root) if in_checkout else _description()), *_modules()]


def _checkout_files(root: Path) -> Iterator[Document]:
    for name, title in _FILES.items():
        if (root / name).is_file():
            yield _markdown(name, title, (root / name).read_text("utf-8"))


def _description() -> Iterator[Document]:
    try:
        found = metadata(OWN_NAME)
    except PackageNotFoundError:
        return
    yield _markdown("README.md", _FILES["README.md"], description_of(found))


def _markdown(name: str, title: str, text: str) -> Document:
    return Document(name, readable(text, MARKDOWN), MARKDOWN, {"title": title})


def _package_folder() -> Path:
    return Path(groundgraph.__file__).parent


def _modules() -> Iterator[Document]:
    folder = _package_folder()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        document = None if _LEFT_OUT & set(parts) else _module(path, ".".join((OWN_NAME, *parts)))
        if document:
            yield document


def _module(path: Path, name: str) -> Document | None:
    """The docstrings of one module as Markdown, public names only; None when there are none."""
    tree = ast.parse(path.read_text("utf-8"))
    name = name.removesuffix(".__init__")
    parts = [ast.get_docstring(tree) or "", *(part for node in tree.body for part in _parts(node))]
    text = "\n\n".join(part for part in parts if part)
    return Document(name, f"# {name}\n\n{text}\n", MARKDOWN, {"title": name}) if text else None


def _parts(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _Documented) and not node.name.startswith("_"):
        docstring = ast.get_docstring(node)
        if docstring:
            yield f"## {node.name}\n\n{docstring}"
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                yield from (part.replace("## ", f"## {node.name}.", 1) for part in _parts(method))
