"""The values in a turn's state: plain JSON-like mappings, typed here, built and checked by the nodes that own them.

Each channel's value has every key of its type. Whoever makes one begins with its `EMPTY_` one, in which no key says
anything; what says nothing is not stored (`groundgraph.graph.state`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, Required, TypeVar, cast, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict

from groundgraph.core.failure import Degradation, Failure

Outcome = Literal["answered", "insufficient", "clarify", "unavailable", "chat"]
SourceStatus = Literal["ok", "failed", "timed_out", "schema_changed", "skipped"]
# How a turn retrieves: by the stages of autonomous retrieval, from the facts of the dialogue's state alone, or plainly.
RetrievalPath = Literal["enhanced", "state_facts", "cascade"]
Decision = Literal["approve", "refuse", "replace"]
Ref = list[Any]
"""A piece of evidence by reference: [key, relevance, score]."""


class Turn(TypedDict):
    """What identifies a turn.

    `id` derives from the message and its place in the thread, so that a replay gives the same turn. `fence` stands in
    the tags around its evidence: of a secret, and kept here for a replay. `issues` are
    sentences for the reader about the message itself. `started_at` is in seconds since the epoch and enters no prompt.

    Where retrieval has several paths, `path` is the one of this turn, else None. `state` is that of the dialogue, None
    when none is named; `small_talk` the reply to a message that is nothing but small talk, when the facts of that state
    come first. `chosen` is None unless the message chooses what the turn before asked back for: then `question` is the
    one that was asked back about. `edited` says what was edited in its state by hand, by channel and name: what it was
    and what it is; `instead_of` is the id of the turn that the same message began before its text was edited, if any.
    """

    id: str
    fence: str
    question: str
    message_id: str
    language: str
    options: dict[str, Any]
    issues: list[str]
    started_at: float
    path: RetrievalPath | None
    state: StateValue | None
    small_talk: Draft | None
    chosen: Chosen | None
    edited: dict[str, Any]
    instead_of: str


# In the `response_metadata` of an answer that asks back: about what.
ASKED_BACK = "asked_back"


class Choice(TypedDict):
    """One of the things that a question may mean, as a turn asks back for it.

    `label` is what a reader sees, and sent as the next message it chooses. `field` is the declared field whose `value`
    it is; empty where a model found it, whose label is then its value. `citations` are the labels, in the answer that
    asks, of the passages that speak of it.
    """

    label: str
    field: str
    value: str | int | float | bool
    citations: list[int]


class Chosen(TypedDict):
    """What a message chose: the choice, what the message says, and the id of the message that was asked back about.

    Without a choice the message chooses none, several or what there is not, and says nothing else: it is asked again.
    """

    choice: Choice | None
    message: str
    asked_in: str


class StateValue(TypedDict):
    """The state of the dialogue when the turn began; `facts` are the keys of those that were given word for word."""

    name: str
    intent: str | None
    categories: list[str]
    facts: list[str]


# What a task of the fan-out looks for: results of the turn's query, of a part of its question, or the facts of the
# categories that the dialogue's state names.
TaskKind = Literal["query", "sub_query", "state_facts"]


class RetrievalTask(TypedDict):
    """One task of the fan-out: which source is asked what. `options` are those that the turn began with; without
    `kind` and `top_k` it is a query with theirs. They are left out because a task is stored as it is, for each query.
    `question` is there where a model wrote the query: the user's words, or none beside a query that has them; `message`
    where a query by rule stands behind what was said before, `earlier` and `cited`: see `RetrievalIntent`.
    """

    name: str
    source: str
    query: str
    filters: dict[str, Any]
    scope: str
    categories: list[str]
    raw_data: dict[str, Any]
    options: dict[str, Any]
    kind: NotRequired[TaskKind]
    top_k: NotRequired[int]
    question: NotRequired[str]
    message: NotRequired[str]
    earlier: NotRequired[list[str]]
    cited: NotRequired[list[str]]


class Retrieval(TypedDict):
    """What one query to one source gave.

    `error` is for log and record, `failure` for readers; `error_type` is empty when nothing failed.

    `found` counts results before the cap, `dropped` those left out by reason. `degraded` tells what the source had to
    do without, `calls` the models that its chains called. `previews` are the first of `refs` in a line each, for
    whoever looks at the state. `fits` has by key how well evidence fits the query, where the source tells it: by words
    (`lexical`), by cosine (`vector`). Times are in milliseconds. `kind` is that of its task; facts of a state and a
    source that was skipped have no `query`.
    """

    source: str
    kind: TaskKind
    query: str
    status: SourceStatus
    error: str
    error_type: str
    failure: Failure | None
    refs: list[Ref]
    found: int
    dropped: dict[str, int]
    degraded: list[Degradation]
    fits: dict[str, dict[str, float]]
    calls: list[ModelCall]
    attempts: int
    previews: list[str]
    elapsed_ms: float


Doubted = Literal["by_column", "by_empty", "by_negation", "by_computing", "by_part", "by_number", "apart"]
"""Why an answer may be none though the evidence holds the words of the question: these name a column of rows and none
of its values, or ask which rows something does not hold for, or ask something else too, of which the evidence holds too
little, or ask for a number, which is none only if no quote holds one, or stand apart from what was asked before."""


class Ranking(TypedDict):
    """The merged evidence: the n-th reference has the label n.

    `by_source` holds each source's results before the merge, `found_again` how often a key was found when more than
    once. `style` is the style that writes the answer, None when there is nothing to write it from. `answerable` is the
    chance that the evidence answers the question; when it is too small, the ranking is `insufficient`: what is left is
    only what comes closest. `doubt` is None unless the chance is so small that an answer which no model writes must say
    so: the words of the question that no piece holds, or those that `doubted`, why it is told, is about. `needs` is
    what an answer would have to compute, which is not done. `nearness` holds by question and key what
    `SourceResult.nearness` does.

    One work after the other changes `refs`: `works` says which ran and what each made of them, `strategies` how,
    `joined` of which pieces a joined one consists, `issues` what a reader must know, `calls` the models that a reranker
    called. `divider` stands between what was found and the facts of the dialogue's state.
    """

    refs: list[Ref]
    by_source: dict[str, list[Ref]]
    total: int
    found_again: dict[str, int]
    strategy: str
    answerable: float
    insufficient: bool
    doubt: list[str] | None
    doubted: NotRequired[Doubted | None]
    needs: list[Needs]
    nearness: NotRequired[dict[str, dict[str, list[int]]]]
    strategies: dict[str, Any]
    joined: dict[str, list[str]]
    clusters: list[ClusterValue]
    divider: Divider | None
    issues: list[str]
    calls: list[ModelCall]
    style: str | None
    works: list[WorkReport]


class WorkReport(TypedDict):
    """What one work made of the results: how many came in and went out, and by reason the keys of those left out."""

    step: str
    came_in: int
    went_out: int
    left_out: dict[str, list[str]]
    elapsed_ms: float


class Needs(TypedDict):
    """A function, such as `sum`, that would have to be computed over rows of `tables`.

    `unread` are the words of the question that stand nowhere in the tables, and for which rows were not counted;
    `quantity` is the column that says of how many things each row is, where these were asked for.
    """

    function: str
    tables: list[str]
    unread: NotRequired[list[str]]
    quantity: NotRequired[str]


class Divider(TypedDict):
    """The line `text` stands before the piece of evidence at `at`, counted from 0."""

    at: int
    text: str


class ClusterValue(TypedDict):
    """A group of evidence that says similar things: its most telling words, how well it fits the question from 0 to 1,
    and its labels in order."""

    label: str
    score: float
    labels: list[int]


class Review(TypedDict, total=False):
    """What a person decided about an answer; `none` where the next question came before they did.

    `score` is the support that the answer had, `asked` how often the person was asked until the reply was a decision,
    `reviewer` the identity of a user whom a server has authenticated.
    """

    decision: Decision | Literal["none"]
    comment: str
    reviewer: str
    score: float
    asked: int


class Draft(TypedDict):
    """The answer before the citation check; its text is empty until there is one.

    `style` is the one that wrote it, `asked_style` the one that was asked for, if any was. `finish` is `stop`,
    `length`, `error` or `refusal`, or `withheld` when the citation check or a person refused it. Labels are numbered by
    first use: the n-th entry of `order` is the place in the ranking, from 1, of what the label n refers to. `removed`
    are the labels that referred to nothing, `removed_links` where the links led that were defanged. `notes` are
    sentences for the reader. `written` is how many characters of the text a model wrote, `body` how many were said
    before a listing of evidence (None: all of them), `calls` the calls that it took. `repaired` says whether it is the
    second attempt, `review` what a person decided about it. `quotes` are the sentences that the built-in template of
    the structured style quotes, best first: what is not among them is not cited. They are None where something else
    wrote the text. `edited` says that it was changed in a state, and has passed no gate since. `elapsed_ms` is None
    where no step of its own wrote it.
    """

    text: str
    style: str
    asked_style: str | None
    outcome: Outcome
    finish: str
    order: list[int]
    removed: list[int]
    removed_links: list[str]
    notes: list[str]
    written: int
    body: int | None
    repaired: bool
    review: Review | None
    calls: list[ModelCall]
    quotes: list[FoundQuote] | None
    edited: bool
    elapsed_ms: float | None


class Flag(TypedDict):
    """One finding of the citation check."""

    kind: str
    sentence: str
    detail: str


class Location(TypedDict, total=False):
    """Where a quote stands, as far as it applies: `line`, `page`, `row` and `slide` count from 1, a row as spreadsheet
    programs do; `url` leads to the words of the quote, and `shown` is the short form for a reader, always there."""

    file: str
    line: int
    page: int
    sheet: str
    row: int
    slide: int
    table: str
    key: str
    url: str
    shown: Required[str]


class Citation(TypedDict):
    """What one label refers to.

    `start` and `end` are offsets of `quote` in the original, in characters: of a file of text as
    `open(file, encoding=encoding, newline="")` reads it, of a PDF in the text of the page. They are None where the
    original holds no such text (Word, Excel, CSV, JSONL, web pages). `encoding` is None when it is no file of text.

    `derived` is there, and true, when a model wrote the text of the evidence: the quote then stands nowhere in the
    original, and the offsets span what it was made from. `computed` is there, and true, when a database computed what
    `quote` says: it stands in no row.
    """

    label: int
    source_name: str
    source_id: str
    section: str | None
    title: str | None
    url: str | None
    quote: str
    start: int | None
    end: int | None
    location: Location
    encoding: str | None
    derived: NotRequired[bool]
    computed: NotRequired[bool]


class Support(TypedDict):
    """What the citation check found.

    `score` is how much of the answer's words its evidence holds (see `groundgraph.answers.check_support`); `answerable`
    says from the evidence alone whether the question can be answered. Both are lexical, 0 to 1, and see neither
    negation nor swapped roles.
    """

    score: float
    answerable: float
    flags: list[Flag]


class FoundQuote(TypedDict):
    """A quotation of the answer that stands in the evidence: `start` and `end` are offsets in the original where the
    evidence has one, else in the evidence."""

    label: int
    text: str
    start: int
    end: int


class SecondOpinion(TypedDict, total=False):
    """What a judge was asked about an answer, and of an attempt before it: `by` whom, about how many `sentences`, in
    how many `tokens`; `over_cap` were left out because of a cap, on `undecided` it said nothing. `error` is how it
    failed."""

    by: str
    sentences: int
    tokens: int
    over_cap: int
    undecided: int
    error: str


Verdict = Literal["pass", "repair", "refuse", "review"]


class Check(TypedDict):
    """The result of the citation check, as the state holds it: citations are found again from labels and order.

    `labels` are those of the answer, `order` as in the draft. `verdict` is what the policies make of the flags.
    `elapsed_ms` is None before anything was checked, `second_opinion` where none was asked for.
    """

    labels: list[int]
    order: list[int]
    quotes: list[FoundQuote]
    verdict: Verdict
    score: float
    answerable: float
    flags: list[Flag]
    second_opinion: SecondOpinion | None
    elapsed_ms: float | None


class ModelCall(TypedDict, total=False):
    """One call of a model: `role` is `queries`, `answer`, `repair` or a prompt of a chain, times are in milliseconds,
    tokens as the provider reports them."""

    role: str
    model: str
    input_tokens: int
    output_tokens: int
    estimated: bool
    attempts: int
    elapsed_ms: float
    error: str


# A value of each channel in which no key says anything; nobody changes what is in them.

T = TypeVar("T")


def empty(kind: type[T]) -> T:
    """A value of the TypedDict `kind`: None where a key may be that, the first of the words that it may be, else what
    its type makes of nothing."""
    return cast("T", {name: _nothing(hint) for name, hint in get_type_hints(kind).items()})


def _nothing(hint: Any) -> Any:
    allowed = get_args(hint)
    if type(None) in allowed:
        return None
    return allowed[0] if get_origin(hint) is Literal else (get_origin(hint) or hint)()


EMPTY_TURN = empty(Turn)
EMPTY_RETRIEVAL = empty(Retrieval)
EMPTY_RANKING = empty(Ranking)
EMPTY_DRAFT = empty(Draft)
EMPTY_CHECK = empty(Check)


_LATE = ("no answer within ", " s")


def told_late(seconds: float) -> str:
    """The error of a retrieval that was waited for so long."""
    return f"{float(f'{seconds:.2g}'):g}".join(_LATE)


def seconds_waited(report: Mapping[str, Any]) -> str:
    """How long a retrieval that came too late was waited for; in records of 0.1.0 that alone is its error."""
    return str(report["error"]).removeprefix(_LATE[0]).removesuffix(_LATE[1])


def withheld(draft: Draft, text: str = "") -> Draft:
    """What stands in place of a draft that is not given out: `text`, and nothing that refers to evidence."""
    return {
        **draft,
        "text": text,
        "outcome": "insufficient",
        "finish": "withheld",
        "order": [],
        "removed": [],
        "removed_links": [],
        "written": 0,
        "body": None,
    }


def unread(check: Check) -> Check:
    """The check of such a draft: what was found stays, without anything that refers to evidence."""
    return {**check, "labels": [], "order": [], "quotes": []}
