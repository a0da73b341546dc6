"""What an ingest still has to read."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from groundgraph.core.clean_text import clean_text
from groundgraph.core.document import Document, Heading, Part
from groundgraph.core.errors import InputInvalid
from groundgraph.core.sidecar import Sidecars
from groundgraph.nodes.ingest.find_files import FoundFile, FoundFiles

if TYPE_CHECKING:
    from groundgraph.nodes.ingest.load_page import PageLoader

_END: Any = object()
_FIELDS = tuple(entry.name for entry in fields(Document))


@dataclass(frozen=True)
class Given:
    """A document that was passed in.

    Attributes:
        document: the document.
        from_file: it was read from a file once, so an ingest of its folder may remove it.
    """

    document: Document
    from_file: bool = False


@dataclass
class Plan:
    """The rest of an ingest. It is used up as the ingest goes on, and stands in no checkpoint.

    Attributes:
        found: what lies under the given paths; it stays as it is.
        sidecars: of the folders of these files.
        files: the files that are still to be read.
        addresses: the web pages that are still to be fetched.
        documents: the documents that were passed in and are still to be taken; None when there are no more.
        pages: fetches the addresses; one for the whole ingest, so that it keeps to the rules of each host.
        started: when the plan was made, in seconds of `time.monotonic`.
    """

    found: FoundFiles
    sidecars: Sidecars
    files: deque[FoundFile] = field(default_factory=deque)
    addresses: deque[str] = field(default_factory=deque)
    documents: Iterator[Any] | AsyncIterator[Any] | None = None
    pages: PageLoader | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def exhausted(self) -> bool:
        """Whether everything was read."""
        return not (self.files or self.addresses or self.documents)

    def take_given(self, *, documents: int, chars: int) -> list[Given]:
        """The next documents that were passed in, up to a number and about a length; blocks.

        Raises:
            InputInvalid: one of them is no document.
        """
        taken: list[Given] = []
        while isinstance(self.documents, Iterator) and documents > len(taken) and chars > 0:
            item = next(self.documents, _END)
            chars -= self._taken(item, taken)
        return taken

    async def atake_given(self, *, documents: int, chars: int) -> list[Given]:
        """As `take_given`, from an asynchronous iterator."""
        taken: list[Given] = []
        while isinstance(self.documents, AsyncIterator) and documents > len(taken) and chars > 0:
            item = await anext(self.documents, _END)
            chars -= self._taken(item, taken)
        return taken

    def _taken(self, item: Any, taken: list[Given]) -> int:
        if item is _END:
            self.documents = None
            return 0
        taken.append(_given(item))
        return len(taken[-1].document.text)


def iterator_over(documents: Any) -> Iterator[Any] | AsyncIterator[Any] | None:
    """An iterator over the documents of an input, plain or asynchronous; None without any.

    Raises:
        InputInvalid: they cannot be iterated over.
    """
    if documents is None:
        return None
    if hasattr(documents, "__aiter__"):
        source: AsyncIterator[Any] = aiter(documents)
        return source
    if isinstance(documents, Iterable) and not isinstance(documents, str | bytes | Mapping):
        return iter(documents)
    raise InputInvalid(f"'documents' must be a list of documents, not {type(documents).__name__}")


def _given(item: Any) -> Given:
    if isinstance(item, Given):
        return item
    document = _from_mapping(item) if isinstance(item, Mapping) else item
    if not isinstance(document, Document):
        raise InputInvalid(
            f"a document must be a Document or a mapping with 'name' and 'text', not {type(item).__name__}"
        )
    if not document.name.strip():
        raise InputInvalid("a document needs a name that is not empty, by which it is shown, replaced and removed")
    name = clean_text(document.name)
    return Given(document if name == document.name else replace(document, name=name))


def _from_mapping(item: Mapping[str, Any]) -> Document:
    """A document as JSON gives it: `name`, `text` and any other attribute of `Document`, null being as good as none."""
    item = {name: value for name, value in item.items() if value is not None}
    unknown = [str(name) for name in item if name not in _FIELDS]
    if unknown or not all(isinstance(item.get(name), str) for name in ("name", "text")):
        wrong = f"has no attribute '{unknown[0]}'" if unknown else "needs a 'name' and a 'text'"
        raise InputInvalid(f"the document '{item.get('name', '')}' {wrong}; known are {', '.join(_FIELDS)}")
    inner = {"parts": Part, "headings": Heading}
    try:
        lists = {name: tuple(kind(**entry) for entry in item.get(name, ())) for name, kind in inner.items()}
        return Document(**{**item, **lists, "warnings": tuple(item.get("warnings", ()))})
    except TypeError as error:
        raise InputInvalid(
            f"the document '{item['name']}' has parts, headings or warnings of another form: {error}"
        ) from error
