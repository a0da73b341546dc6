"""A set to measure on: passages, questions, and which passage answers which question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from pathlib import Path
from typing import Any, Literal, TypeVar

from groundgraph.core.errors import ConfigurationError, Problem, refuse_any

# Reading files of one value per line, with the place of whatever is wrong in them.

MAX_PROBLEMS = 20
Parsed = TypeVar("Parsed")


class BadLine(Exception):
    """One line cannot be used. The message says why; `column` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.column = column
        super().__init__(message)


def read_lines(data: bytes, file: Path, parse: Callable[[int, str], Parsed | None]) -> list[Parsed]:
    """What `parse` makes of each line of `data` that is not blank; None leaves a line out.

    Args:
        data: the content of `file`.
        file: for messages.
        parse: called with the number of the line, from 1, and its text; raises `BadLine`.

    Raises:
        ConfigurationError: lines are bad; the first 20 are listed with their places.
    """
    parsed: list[Parsed] = []
    problems: list[Problem] = []
    for number, line in _lines(data):
        try:
            value = parse(number, line.decode("utf-8"))
            if value is not None:
                parsed.append(value)
        except UnicodeDecodeError:
            problems.append(Problem("", "the line is not UTF-8", str(file), number, 1))
        except BadLine as error:
            problems.append(Problem("", str(error), str(file), number, error.column))
        if len(problems) == MAX_PROBLEMS:
            break
    refuse_any(problems)
    return parsed


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    # Not str.splitlines(): U+2028 and its like may stand inside a JSON string.
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, line.rstrip(b"\r")


def json_object(line: str) -> dict[str, Any]:
    """The JSON object that `line` holds.

    Raises:
        BadLine: it holds none.
    """
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadLine(f"this is no JSON: {error.msg}", error.colno) from error
    if not isinstance(value, dict):
        raise BadLine('a JSON object such as {"_id": "1", "text": "..."} must stand here')
    return value


def id_of(row: dict[str, Any], key: str = "_id") -> str:
    """The id under `key`; whole numbers count as their digits.

    Raises:
        BadLine: there is none.
    """
    value = row.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise BadLine(f"'{key}' must be a text that is not empty")
    return value


def text_of(row: dict[str, Any], key: str, default: str | None = None) -> str:
    """The text under `key`; `default` when it is missing or null.

    Raises:
        BadLine: it is no text, or missing without a default.
    """
    value = row.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadLine(f"'{key}' must be a text")
    return value


def texts_of(row: dict[str, Any], key: str) -> tuple[str, ...]:
    """The texts under `key`; none when it is missing or null.

    Raises:
        BadLine: it is no list of texts.
    """
    value = row.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadLine(f"'{key}' must be a list of texts")
    return tuple(value)


Role = Literal["user", "assistant"]
Judgements = dict[str, dict[str, int]]
ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "agent": "assistant",
}
ONLY_CORPUS = "knowledge_base"


@dataclass(frozen=True)
class Passage:
    """One text to search: `document` is the id that it counts as, its own unless it has a `parent`.

    `body` is the text without its title; `sentences` are those of the body, where the row lists them.
    """

    id: str
    document: str
    text: str = field(repr=False)
    body: str = field(default="", repr=False)
    sentences: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Corpus:
    """The passages of one source. `digest` is the SHA-256 of the file, in hexadecimal digits."""

    name: str
    file: Path
    passages: tuple[Passage, ...] = field(repr=False)
    digest: str

    @property
    def documents(self) -> set[str]:
        """The ids of what the passages are from."""
        return {passage.document for passage in self.passages}


@dataclass(frozen=True)
class ReferenceAnswer:
    """What a person answered, and the sentences of the passage that the answer rests on, word for word."""

    text: str
    selected_sentences: tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """A conversation whose last turn, the user's, is asked.

    Attributes:
        id: of the query.
        turns: who said what, in order.
        label: `ANSWERABLE`, `UNANSWERABLE`, or another.
        passage: the passage that the reference answers are from.
        answers: the reference answers.
    """

    id: str
    turns: tuple[tuple[Role, str], ...]
    label: str | None = None
    passage: str | None = None
    answers: tuple[ReferenceAnswer, ...] = ()

    @property
    def question(self) -> str:
        """The turn that is asked."""
        return self.turns[-1][1]


@dataclass(frozen=True)
class Dataset:
    """What is measured on.

    Attributes:
        name: of the folder.
        corpora: one per source.
        queries: all that the file holds.
        judged: per query the gain of each document: more than 0 for relevant ones.
        queries_file: where the queries are from.
        notes: what was left out while reading, a sentence each.
    """

    name: str
    corpora: tuple[Corpus, ...]
    queries: tuple[Query, ...]
    judged: Judgements
    queries_file: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetFiles:
    """Which files of a folder to read. A relative path starts at the folder or, failing that, at where we are.

    Attributes:
        folder: where the files are.
        corpora: paths, or NAME=PATH; every one becomes a source.
        queries: the questions.
        qrels: the judgements; None when none are needed.
        turns: whether a text of several lines is a conversation of user turns.
    """

    folder: Path
    corpora: Sequence[str] = ("corpus.jsonl",)
    queries: str = "queries.jsonl"
    qrels: str | None = "qrels.tsv"
    turns: bool = False


def load_dataset(files: DatasetFiles) -> Dataset:
    """The data in `files`.

    Raises:
        ConfigurationError: a file is missing, a line is bad, or an id is unknown; every problem has its place.
    """
    if not files.folder.is_dir():
        raise ConfigurationError(f"there is no folder '{files.folder}'")
    corpora = tuple(_corpus(name, path) for name, path in _named_files(files))
    queries_file = found_file(files.folder, files.queries, "--queries")
    queries = _queries(queries_file, turns=files.turns)
    notes = [note for corpus in corpora if (note := _blank_note(corpus))]
    judged: Judgements = {}
    if files.qrels is not None:
        path = found_file(files.folder, files.qrels, "--qrels")
        judged, left_out = _judgements(path, corpora, {query.id for query in queries})
        notes += left_out
    return Dataset(files.folder.resolve().name, corpora, queries, judged, queries_file, tuple(notes))


def found_file(folder: Path, given: str, option: str) -> Path:
    """The file `given`, in `folder` or else here; `option` names it on the command line.

    Raises:
        ConfigurationError: it stands in neither.
    """
    for path in (folder / given, Path(given)):
        if path.is_file():
            return path
    raise ConfigurationError(f"there is no file '{given}' in '{folder}'; name the file with {option}")


def _named_files(files: DatasetFiles) -> list[tuple[str, Path]]:
    named = [_named_file(files, given) for given in files.corpora]
    names = [name for name, _ in named]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigurationError(f"two corpora are called '{repeated[0]}'; give them names: --corpus NAME=FILE")
    return named


def _named_file(files: DatasetFiles, given: str) -> tuple[str, Path]:
    """A corpus that is `given` as NAME=FILE or FILE, which may hold an equals sign too."""
    name, equals, rest = given.partition("=")
    if not equals or (files.folder / given).is_file() or Path(given).is_file():
        path = found_file(files.folder, given, "--corpus")
        return ONLY_CORPUS if len(files.corpora) == 1 else path.stem, path
    if not name or not rest:
        raise ConfigurationError(f"--corpus '{given}' must be FILE or NAME=FILE")
    return name, found_file(files.folder, rest, "--corpus")


def _corpus(name: str, file: Path) -> Corpus:
    data = file.read_bytes()
    lines: dict[str, int] = {}

    def parse(number: int, line: str) -> Passage:
        row = json_object(line)
        return Passage(
            _new_id(row, lines, number),
            id_of(row, "parent") if row.get("parent") is not None else id_of(row),
            f"{text_of(row, 'title', '')} {text_of(row, 'text')}",
            text_of(row, "text"),
            texts_of(row, "sentences"),
        )

    passages = read_lines(data, file, parse)
    if not passages:
        raise ConfigurationError(f"{file} holds no passage")
    return Corpus(name, file, tuple(passages), hashlib.sha256(data).hexdigest())


def _new_id(row: dict[str, Any], lines: dict[str, int], number: int) -> str:
    own = id_of(row)
    if own in lines:
        raise BadLine(f"the _id '{own}' stands in line {lines[own]} already")
    lines[own] = number
    return own


def _blank_note(corpus: Corpus) -> str:
    blank = sum(not passage.text.strip() for passage in corpus.passages)
    return f"{corpus.file.name}: {blank} of {len(corpus.passages)} passages hold no text." if blank else ""


def _queries(file: Path, *, turns: bool) -> tuple[Query, ...]:
    lines: dict[str, int] = {}

    def parse(number: int, line: str) -> Query:
        row = json_object(line)
        label, passage = row.get("label"), row.get("passage")
        return Query(
            _new_id(row, lines, number),
            _turns(row, turns),
            str(label) if label is not None else None,
            id_of(row, "passage") if passage is not None else None,
            _answers(row),
        )

    queries = read_lines(file.read_bytes(), file, parse)
    if not queries:
        raise ConfigurationError(f"{file} holds no question")
    return tuple(queries)


def _answers(row: dict[str, Any]) -> tuple[ReferenceAnswer, ...]:
    """The reference answers of `row`; those of other sets, which mark no sentences, are left alone."""
    given = row.get("answers")
    if not isinstance(given, list):
        return ()
    marked = [one for one in given if isinstance(one, dict) and "selected_sentences" in one]
    return tuple(ReferenceAnswer(text_of(one, "answer"), texts_of(one, "selected_sentences")) for one in marked)


def _turns(row: dict[str, Any], lines_are_turns: bool) -> tuple[tuple[Role, str], ...]:
    """The conversation in `row`: its `conversation`, or its `text` after the user turns in `history`."""
    if row.get("conversation") is not None:
        return _conversation(row["conversation"])
    text = text_of(row, "text")
    history = row.get("history") or []
    if not isinstance(history, list) or not all(isinstance(turn, str) for turn in history):
        raise BadLine("'history' must be a list of texts, the earlier turns of the user")
    asked = list(filter(str.strip, text.split("\n"))) if lines_are_turns else [text]
    if not text.strip():
        raise BadLine("'text' is empty")
    return tuple(("user", turn) for turn in (*history, *asked))


def _conversation(given: Any) -> tuple[tuple[Role, str], ...]:
    if not isinstance(given, list) or not given or not all(isinstance(turn, dict) for turn in given):
        raise BadLine('\'conversation\' must be a list of {"role": ..., "text": ...}')
    turns: list[tuple[Role, str]] = []
    for turn in given:
        role = ROLES.get(str(turn.get("role")).lower())
        if role is None:
            raise BadLine(f"the role '{turn.get('role')}' is neither 'user' nor 'assistant'")
        turns.append((role, text_of(turn, "text")))
    if turns[-1][0] != "user" or not turns[-1][1].strip():
        raise BadLine("the last turn of a conversation must be a question of the user")
    return tuple(turns)


def _judgements(file: Path, corpora: Iterable[Corpus], queries: set[str]) -> tuple[Judgements, list[str]]:
    """The judgements of `queries`, and notes on those of other queries and on passages that nothing holds.

    A passage that no corpus holds counts as one that is not found, as in trec_eval: a corpus may be one of several that
    the judgements were made for.
    """
    rows = read_lines(file.read_bytes(), file, _judgement)
    documents = set().union(*(corpus.documents for corpus in corpora))
    others = [query for query, _, _ in rows if query not in queries]
    own = [row for row in rows if row[0] in queries]
    judged = _by_query(own, file)
    missing = list(filterfalse(documents.__contains__, (document for _, document, _ in own)))
    if not judged:
        example = "".join(f", such as '{query}'" for query in others[:1])
        raise ConfigurationError(f"{file} judges no query of the queries file{example}")
    if len(others) + len(missing) == len(rows):
        raise ConfigurationError(f"{file} judges no passage of a corpus; '{missing[0]}', for example, is in none")
    return judged, list(_left_out(file.name, others, missing))


def _left_out(name: str, others: Sequence[str], missing: Sequence[str]) -> Iterator[str]:
    if others:
        yield f"{name}: {len(others)} judgements of unknown queries left out, such as '{others[0]}'."
    if missing:
        told = f"{len(missing)} judgements of passages that no corpus holds, such as '{missing[0]}'"
        yield f"{name}: {told}; they count as not found."


def _by_query(rows: Iterable[tuple[str, str, int]], file: Path) -> Judgements:
    judged: Judgements = {}
    for query, document, gain in rows:
        if judged.setdefault(query, {}).setdefault(document, gain) != gain:
            raise ConfigurationError(f"{file} judges the passage '{document}' of the query '{query}' in two ways")
    return judged


def _judgement(number: int, line: str) -> tuple[str, str, int] | None:
    fields = line.split("\t")
    if len(fields) != 3:
        raise BadLine(f"query, passage and gain must stand here, divided by tabs; there are {len(fields)} fields")
    query, document, gain = (text.strip() for text in fields)
    try:
        as_number = float(gain)
    except ValueError as error:
        if number == 1:
            return None  # the heading
        raise BadLine(f"the gain '{gain}' is no whole number") from error
    # Table programs write 1 as 1.0.
    if not as_number.is_integer():
        raise BadLine(f"the gain '{gain}' is no whole number")
    return query, document, int(as_number)
