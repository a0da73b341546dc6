"""What travels from step to step of an ingest, and how a step takes in one bad document without losing the others."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.chain import IngestChains
from groundgraph.core.characters import clean_text
from groundgraph.core.document import Chunk, Document, Heading, Part
from groundgraph.core.errors import GroundGraphError, InputInvalid, ModelError
from groundgraph.core.evidence import jsonable
from groundgraph.core.failure import bugs_logged_once, described, is_transient
from groundgraph.core.secret_mask import mask
from groundgraph.ingest.find_files import FoundFile, FoundFiles
from groundgraph.ingest.ingest_report import Reason, ReportValues, reasons
from groundgraph.ingest.metadata import Sidecars
from groundgraph.resilience.blocking import run_blocking

if TYPE_CHECKING:
    from groundgraph.ingest.load_page import PageLoader


# What an ingest still has to read.

_END: Any = object()
# Where in its source one of LangChain's documents begins, as its loaders and splitters say.
_LANGCHAIN_PLACES = ("page", "row", "start_index")
Counted = Literal["written", "unchanged"]
_NOT_COUNTED: tuple[Literal["written", "unchanged", ""], int] = ("", 0)
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
        passed: by the name of those that were taken the hash of the document; empty when others had the name.
        counted: by the name of those that the report counts how it does, and their chunks.
        is_part: other ingests read the other files of the folders.
        pages: fetches the addresses; one for the whole ingest, so that it keeps to the rules of each host.
        started: when the plan was made, in seconds of `time.monotonic`.
    """

    found: FoundFiles
    sidecars: Sidecars
    files: deque[FoundFile] = field(default_factory=deque)
    addresses: deque[str] = field(default_factory=deque)
    documents: Iterator[Any] | AsyncIterator[Any] | None = None
    passed: dict[str, str] = field(default_factory=dict)
    counted: dict[str, tuple[Counted, int]] = field(default_factory=dict)
    is_part: bool = False
    pages: PageLoader | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def exhausted(self) -> bool:
        """Whether everything was read."""
        return not (self.files or self.addresses or self.documents)

    def count(self, documents: Iterable[tuple[str, Counted, int]]) -> ReportValues:
        """What the report gains by `documents`, each with how it counts and its chunks: one that takes the place of
        another counts for both, and as written if one of them was."""
        gained: Counter[str] = Counter(documents=0, chunks=0, written=0, unchanged=0)
        for name, how, chunks in documents:
            before, chunks_before = self.counted.get(name, _NOT_COUNTED)
            now: Counted = "written" if before == "written" else how
            gained.update({now: 1, "documents": 1, "chunks": chunks})
            if before:
                gained.subtract({before: 1, "documents": 1, "chunks": chunks_before})
            if name in self.passed:
                self.counted[name] = (now, chunks)
        return cast("ReportValues", dict(gained))

    def anew(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that the report does not count as written."""
        return [name for name in names if self.counted.get(name, _NOT_COUNTED)[0] != "written"]

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
    document = _from_mapping(item) if isinstance(item, Mapping) else _from_langchain(item)
    if not isinstance(document, Document):
        raise InputInvalid(
            "a document must be a Document, one of LangChain's, or a mapping with 'name' and 'text', not "
            f"{type(item).__name__}"
        )
    if not document.name.strip():
        raise InputInvalid("a document needs a name that is not empty, by which it is shown, replaced and removed")
    name = clean_text(document.name)
    return Given(document if name == document.name else replace(document, name=name))


def _from_langchain(item: Any) -> Any:
    """The document of one of LangChain's, named by its id, else by its `source` and where in that it begins, else by a
    hash of its text; anything else as it is."""
    text = getattr(item, "page_content", None)
    if not isinstance(text, str):
        return item
    own = {str(name): jsonable(value) for name, value in item.metadata.items()}
    place = [f"{name} {own[name]}" for name in _LANGCHAIN_PLACES if name in own]
    named = ", ".join([str(own.get("source", "")), *place]) if own.get("source") else None
    name = item.id or named or hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return Document(str(name), clean_text(text), metadata=own)


def _from_mapping(item: Mapping[str, Any]) -> Document:
    """A document as JSON gives it: `name`, `text` and any other attribute of `Document`, null being as good as none."""
    item = {name: value for name, value in item.items() if value is not None}
    if wrong := _wrong_attribute(item):
        raise InputInvalid(f"the document '{item.get('name', '')}' {wrong}; known are {', '.join(_FIELDS)}")
    inner = {"parts": Part, "headings": Heading}
    try:
        lists = {name: tuple(kind(**entry) for entry in item.get(name, ())) for name, kind in inner.items()}
        return Document(**{**item, **lists, "warnings": tuple(item.get("warnings", ()))})
    except TypeError as error:
        raise InputInvalid(
            f"the document '{item['name']}' has parts, headings or warnings of another form: {error}"
        ) from error


def _wrong_attribute(item: Mapping[str, Any]) -> str:
    """What is wrong with the attributes of a document; empty when nothing is."""
    unknown = [str(name) for name in item if name not in _FIELDS]
    if unknown:
        return f"has no attribute '{unknown[0]}'"
    named = all(isinstance(item.get(name), str) for name in ("name", "text"))
    return "" if named else "needs a 'name' and a 'text'"


# Knowing when a model is out of reach, so that an ingest does not wait for it document after document.


class Outage:
    """Counts failures in a row that have nothing to do with the text that was asked about.

    Each of them has been tried again already; so after `patience` of them the rest of a batch is given up. The next
    batch asks anew.
    """

    def __init__(self, patience: int) -> None:
        self._left = self._patience = patience
        self._error: Exception | None = None

    @property
    def error(self) -> Exception | None:
        """Why nothing more should be asked; None as long as there is hope."""
        return self._error if self._left <= 0 else None

    def see(self, answer: object) -> None:
        """Count an answer, or the exception in its place."""
        if isinstance(answer, Exception) and passes(answer):
            self._left -= 1
            self._error = answer
        else:
            self._left = self._patience


def passes(error: BaseException) -> bool:
    """Whether an error says that the service is out of reach, and nothing about the text."""
    cause = error.__cause__ if isinstance(error, ModelError) and error.__cause__ else error
    return isinstance(cause, TimeoutError) or (not isinstance(cause, GroundGraphError) and is_transient(cause))


ChainsOf = Callable[[str], IngestChains]
ChainWork = Callable[[IngestChains, "list[Job]"], Awaitable["list[Job | Reason]"]]
# Why a document that is empty, or of which no chunk was made, is not taken in.
NO_TEXT = "it holds no text"


@dataclass(frozen=True)
class Job:
    """A new or changed document on its way into the base; each step fills in one more attribute.

    Attributes:
        document: the document.
        hash: of everything that its chunks depend on.
        content_hash: of the document alone.
        from_file: an ingest of its folder may remove it again.
        stored: an older version is in the base.
        chunks: its chunks.
        qualifying_texts: one for each chunk.
        matching_texts: for each chunk at least one.
        vectors: for each chunk an array of shape (matching texts, dimension); empty without an embedding model.
    """

    document: Document
    hash: str
    content_hash: str
    from_file: bool = False
    stored: bool = False
    chunks: tuple[Chunk, ...] = field(default=(), repr=False)
    qualifying_texts: tuple[str, ...] = field(default=(), repr=False)
    matching_texts: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    vectors: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The name of the document."""
        return self.document.name


class BatchInput(TypedDict, total=False):
    """What a step that works on a batch reads.

    The batch is in no checkpoint. A run that is resumed finds none, does nothing in the steps up to the end of the
    batch, and then plans anew: the ledger tells what is in the base already.
    """

    batch: list[Job]


class BatchUpdate(TypedDict):
    """What such a step writes."""

    batch: list[Job]
    report: ReportValues


class IngestEvent(TypedDict, total=False):
    """What a step tells whoever streams custom events.

    `finished` names the documents that are dealt with, `failed` of them without success; `chunks` counts those that
    were written.
    """

    stage: str
    total: int | None
    finished: list[str]
    failed: int
    chunks: int


def event(stage: str, update: BatchUpdate) -> IngestEvent:
    """The event of a step that works on a batch."""
    failed = update["report"].get("failed", [])
    return {"stage": stage, "finished": [entry["document"] for entry in failed], "failed": len(failed)}


async def with_chains(state: BatchInput, chains_of: ChainsOf, work: ChainWork) -> BatchUpdate:
    """The update of a step that does `work` for the jobs of each kind of data, with the chains of that kind."""
    batch = state.get("batch") or []
    outcomes: list[Job | Reason] = []
    for kind in dict.fromkeys(job.document.kind for job in batch):
        outcomes += await work(chains_of(kind), [job for job in batch if job.document.kind == kind])
    return sorted_out(outcomes)


def chain_step(stage: str, chains_of: ChainsOf, work: ChainWork) -> Any:
    """The node of the step `stage`, which is `work` and no more."""

    bugs: set[tuple[str, ...]] = set()

    async def step(state: BatchInput, runtime: Runtime[Any]) -> BatchUpdate:
        with bugs_logged_once(bugs):
            update = await with_chains(state, chains_of, work)
        runtime.stream_writer(event(stage, update))
        return update

    return step


def sorted_out(outcomes: Sequence[Job | Reason]) -> BatchUpdate:
    """The update for what became of each job: itself, further on, or why it failed."""
    failed = [outcome for outcome in outcomes if not isinstance(outcome, Job)]
    return {
        "batch": [outcome for outcome in outcomes if isinstance(outcome, Job)],
        "report": {"failed": failed, "done": len(failed)},
    }


def failure(job: Job, error: BaseException | str) -> Reason:
    """The entry of the report for a document that failed."""
    return reasons([(job.name, error if isinstance(error, str) else reason_of(error))])[0]


def reason_of(error: BaseException) -> str:
    """An exception in a sentence for a reader."""
    return mask(str(error).strip()) if str(error).strip() and isinstance(error, GroundGraphError) else described(error)


# Calling a chain for many inputs at once, a plain one in few threads, an asynchronous one in few tasks.

# Calls in a row that found the model out of reach, after which the rest of a batch is given up.
_PATIENCE = 8


async def call_for_each(
    chain: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], *, at_once: int
) -> list[Any | Exception]:
    """What `chain` returns for each entry of `arguments`, or the exception that it raised there.

    When an asynchronous chain finds its model out of reach again and again, the rest fails for the same reason.

    Args:
        chain: plain or asynchronous.
        arguments: the arguments of each call.
        at_once: how many calls run at the same time.
    """
    if is_asynchronous(chain):
        slots, outage = asyncio.Semaphore(at_once), Outage(_PATIENCE)
        return list(await asyncio.gather(*(_awaited(chain, entry, slots, outage) for entry in arguments)))
    # A thread for each call would cost more than most plain chains do.
    size = -(-len(arguments) // at_once) or 1
    shares = [arguments[start : start + size] for start in range(0, len(arguments), size)]
    answers = await asyncio.gather(*(run_blocking(_each, chain, share) for share in shares))
    return [await _settled(answer) for share in answers for answer in share]


def is_asynchronous(chain: Callable[..., Any]) -> bool:
    """Whether a call of `chain` gives a coroutine."""
    return inspect.iscoroutinefunction(chain if inspect.isroutine(chain) else type(chain).__call__)


async def _awaited(
    chain: Callable[..., Any], arguments: tuple[Any, ...], slots: asyncio.Semaphore, outage: Outage
) -> Any:
    async with slots:
        if outage.error is not None:
            return outage.error
        answer = await _settled(chain(*arguments))
        outage.see(answer)
        return answer


async def _settled(answer: Any) -> Any:
    try:
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        return error


def _each(chain: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    answers: list[Any] = []
    for entry in arguments:
        try:
            answers.append(chain(*entry))
        except Exception as error:
            answers.append(error)
    return answers
