"""Every error a user of groundgraph can meet.

::

    GroundGraphError
    ├── ConfigurationError        settings, templates or sources that cannot work; lists every problem
    │   ├── AccessRefused         a database refuses the login, or lets the role not read
    │   ├── UnknownName           a registry was asked for a name that nobody registered
    │   ├── KnowledgeFileInvalid  a YAML file of a cascade source does not fit its schema; each problem has its line
    │   └── TemplateInvalid       a template that does not compile or reaches for what the sandbox forbids
    ├── IntentInvalid             a template did not render to an intent; carries the rendered text
    ├── FilterInvalid             a filter names no declared field, or a value the field does not allow
    ├── InputInvalid              the input of a turn is nothing that a turn can take
    ├── ReviewImpossible          an answer waits for a person, and this way of running a turn has nobody to ask
    ├── ScopeMissing              a run brings no value for a scope filter
    ├── SourceError               a source could not answer
    │   ├── SourceUnavailable     the service or file behind it is not there
    │   │   └── NeverIngested     it is a knowledge base that holds nothing
    │   ├── SourceTimeout         it did not answer within its limit
    │   ├── SchemaChanged         a column or property that it was configured with is gone
    │   ├── TenantUnknown         it keeps tenants apart, and has none of the name that a run brings
    │   └── SourceContractBroken  it answered with something the contract does not allow
    ├── ModelError                a chat model could not answer
    │   ├── ModelTimeout          it did not answer within its limit
    │   └── ModelBudgetSpent      the turn's cap on calls or tokens was reached
    ├── ChainContractBroken       a chain of a knowledge base returned something its protocol does not allow
    ├── StrategyUnavailable       a strategy of result processing lacks what it needs
    │   └── RerankerFailed        a reranking service did not answer, or not in its own terms
    ├── EvidenceMissing           the state refers to evidence that no store holds any more
    ├── NothingToResume           there is no turn to go on with, or none that waits for a decision
    ├── ThreadBusy                another turn on the same thread did not end in time
    ├── ThreadConflict            another process wrote to the same thread during the turn
    ├── StorageLocked             a database stayed locked by another process
    ├── StorageDamaged            what a thread keeps cannot be read, or names code that is not run
    ├── StorageUnavailable        the server that keeps checkpoints or the store does not answer
    ├── SchemaVersionUnsupported  a file was written by a newer groundgraph
    ├── EmbeddingFailed           an embedding model gave nothing that can be used
    ├── EmbeddingModelChanged     a knowledge base holds vectors of another model, or of another dimension
    ├── RecordInvalid             a record does not fit the custom schema that it is written to
    └── IngestError               one document could not be taken in
        └── PageNotLoaded         a web page could not be fetched; tells why and at which redirect

A message says what was wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal


class GroundGraphError(RuntimeError):
    """Base of every error that groundgraph raises on purpose.

    A `RuntimeError`, because a LangGraph Server tells its clients the messages of Python's own errors only, and these
    are written for them.
    """


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a configuration.

    `line` and `column` count from 1 and are 0 when the value did not come from a file, or `file` cannot be read.
    """

    key: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        where = f"{place}: " if place else ""
        return f"{where}{self.key}: {self.message}" if self.key else f"{where}{self.message}"


class ConfigurationError(GroundGraphError):
    """The settings cannot work. `problems` holds every `Problem` that was found."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        found = [Problem("", problems)] if isinstance(problems, str) else list(problems)
        self.problems: list[Problem] = found
        super().__init__("\n".join(map(str, found)))


def refuse_any(problems: Sequence[Problem]) -> None:
    """
    Raises:
        ConfigurationError: there are `problems`.
    """
    if problems:
        raise ConfigurationError(problems)


class AccessRefused(ConfigurationError):
    """A database refuses the login or has no such database, or its role may not read what it is asked for."""


class UnknownName(ConfigurationError):
    """A registry was asked for a name that nobody registered."""


class KnowledgeFileInvalid(ConfigurationError):
    """A YAML file of a cascade source does not fit its schema (docs/cascade.md); each problem has file and line."""


class TemplateInvalid(ConfigurationError):
    """A template does not compile, or asks for something that the sandbox forbids."""


class IntentInvalid(GroundGraphError):
    """A template did not render to a valid intent. `rendered` is the text it rendered to."""

    def __init__(self, message: str, *, rendered: str = "") -> None:
        self.rendered = rendered
        super().__init__(f"{message}\nThe template rendered to:\n{rendered}" if rendered else message)


class FilterInvalid(GroundGraphError):
    """A filter names a field that the source does not declare, or a value that the field does not allow."""


class InputInvalid(GroundGraphError):
    """The input of a turn is nothing that a turn can take; the message says which part and why."""


class ReviewImpossible(GroundGraphError):
    """An answer waits for a person's decision, and this way of running a turn has nobody to ask."""


class ScopeMissing(GroundGraphError):
    """A run brings no value for a scope filter, or goes on with a turn that began in another scope."""


class SourceError(GroundGraphError):
    """A source could not answer."""


class SourceUnavailable(SourceError):
    """The service or file behind a source is not there."""


class NeverIngested(SourceUnavailable):
    """A knowledge base is not there yet, or holds no document, so there is nothing to search."""


class SourceTimeout(SourceError):
    """A source did not answer within its limit."""


class SchemaChanged(SourceError):
    """A column or property that a source was configured with is not there any more. `field` names it."""

    def __init__(self, message: str, *, field: str = "") -> None:
        self.field = field
        super().__init__(message)


class TenantUnknown(SourceError):
    """A source keeps tenants apart, and has none of the name that a run brings, or has it switched off."""


class SourceContractBroken(SourceError):
    """A source answered with something that the contract does not allow."""


class ModelError(GroundGraphError):
    """A chat model could not answer."""


class ModelTimeout(ModelError):
    """A chat model did not answer within its limit."""


class ModelBudgetSpent(ModelError):
    """The turn's cap on model calls or tokens was reached."""


class ChainContractBroken(GroundGraphError):
    """A chain of a knowledge base returned something that its protocol does not allow; the message names the chain."""


class StrategyUnavailable(GroundGraphError):
    """A strategy of result processing lacks what it needs; the next one of its chain takes over."""


class RerankerFailed(StrategyUnavailable):
    """A reranking service did not answer, or not in its own terms.

    Attributes:
        status_code: the HTTP status of its answer; None when there was none.
        headers: of its answer.
    """

    def __init__(
        self, message: str, *, status_code: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status_code = status_code
        self.headers = dict(headers or {})
        super().__init__(message)


class EvidenceMissing(GroundGraphError):
    """The state refers to evidence whose text no store holds any more."""


class NothingToResume(GroundGraphError):
    """The thread holds no turn, or its last question never reached the disk; ask it again. Or a decision comes that
    nobody asked for, or too late. Or the checkpoint to run from is not there, perhaps not any more."""


class ThreadBusy(GroundGraphError):
    """Another turn on the same thread did not end in time; nothing of this turn was written."""


class ThreadConflict(GroundGraphError):
    """Another process wrote to the same thread during this turn, so one of the two branches is not the head.

    Attributes:
        kept: whether this turn is known to be part of the thread; the message says what to do.
    """

    def __init__(self, message: str, *, kept: bool) -> None:
        self.kept = kept
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would make a copy from the message alone.
        return partial(type(self), kept=self.kept), self.args


class StorageLocked(GroundGraphError):
    """A database file stayed locked by another process for longer than five seconds."""


class StorageUnavailable(GroundGraphError):
    """What keeps checkpoints, the store or a log does not answer or cannot be used; what was written before is safe."""


class StorageDamaged(GroundGraphError):
    """What was kept cannot be read: it is damaged, or names something that is not on the list of what may be read.

    Nothing of it was run, and other threads go on.

    Attributes:
        thread_id: the thread that it belongs to; empty when the file as a whole is damaged.
        row: which row it is, or which file.
    """

    def __init__(self, message: str, *, thread_id: str = "", row: str = "") -> None:
        self.thread_id = thread_id
        self.row = row
        super().__init__(message)


class SchemaVersionUnsupported(GroundGraphError):
    """A file or checkpoint was written by a newer version of groundgraph."""


class EmbeddingFailed(GroundGraphError):
    """An embedding model gave nothing that can be used as vectors of its texts."""


class EmbeddingModelChanged(GroundGraphError):
    """A knowledge base holds vectors of another model, or of another dimension; they are never mixed."""


class RecordInvalid(GroundGraphError):
    """A record does not fit its custom schema; nothing of the call was written.

    Attributes:
        record: its place among the records of the call, from 0.
        field: the field that is wrong; empty when it is the record as a whole.
    """

    def __init__(self, message: str, *, record: int = 0, field: str = "") -> None:
        self.record = record
        self.field = field
        super().__init__(message)


class IngestError(GroundGraphError):
    """One document could not be taken in; the message gives the reason."""


PageFault = Literal[
    "url", "address", "robots", "redirects", "timeout", "too_large", "connection", "status", "content_type", "content"
]


class PageNotLoaded(IngestError):
    """A web page could not be fetched or read.

    Attributes:
        reason: one word for it, of `PageFault`; `address` is a host that must not be asked.
        detail: the sentence of the message.
        url: the page that was asked for.
        hop: the address at which it failed: `url`, or where a redirect led to.
    """

    def __init__(self, reason: PageFault, detail: str, *, url: str, hop: str = "") -> None:
        self.reason: PageFault = reason
        self.detail = detail
        self.url = url
        self.hop = hop or url
        super().__init__(f"{url}: {detail}" if self.hop == url else f"{url}: redirected to {self.hop}: {detail}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would make a copy from the message alone.
        return partial(type(self), url=self.url, hop=self.hop), (self.reason, self.detail)
