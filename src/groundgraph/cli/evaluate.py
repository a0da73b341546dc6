"""`groundgraph evaluate`: how well a configuration finds what questions need; with `--recorded`, what people said of
answers, and what another configuration makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from groundgraph.cli.conversations import is_missing, open_kept
from groundgraph.cli.options import STATE_FOLDER, AsJson, ConfigFile, find_settings, keep_out_of_git
from groundgraph.cli.output import (
    DONE,
    DONE_WITH_FAILURES,
    check_folder_of,
    counted,
    goes_to_output,
    note,
    say,
    write_json,
    write_out,
)
from groundgraph.cli.progress import shown_progress
from groundgraph.core.errors import EvidenceMissing, InputInvalid

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder
    from groundgraph.evals.corpus_base import SqlCorpus
    from groundgraph.evals.dataset import Dataset, DatasetFiles
    from groundgraph.evals.recorded import MarkedTurn
    from groundgraph.evals.report import Difference, Evaluation
    from groundgraph.evals.run_queries import Answered
    from groundgraph.settings.settings import Settings


def evaluate_recorded(settings: Settings, again: Path | None, page: Path | None, *, as_json: bool) -> None:
    """Tell what was marked, and compare it with what the configuration in `again` makes of the same questions.

    Raises:
        InputInvalid: nothing was marked, or a page is wanted where nothing is compared.
    """
    from groundgraph.evals.recorded import marks_found, recorded_lines

    if page and again is None:
        raise InputInvalid("The page compares two configurations: name the other one with --again FILE.")
    other = find_settings(again) if again else None
    shown = not goes_to_output(page, as_json=as_json)
    turns = asyncio.run(_marked(settings))
    if not turns:
        raise InputInvalid("Nobody has marked an answer yet: the page of groundgraph serve is where to.")
    found = marks_found(turns)
    if other:
        found["again"] = asyncio.run(_asked_again(other, turns, quiet=as_json))
    if page:
        from groundgraph.report.turn_page import compared_page

        write_out(page, compared_page(found))
        if shown:
            note(f"The comparison stands in {page}.")
    if as_json:
        write_json(found)
    elif shown:
        say("\n".join(recorded_lines(found)))


async def _asked_again(settings: Settings, turns: list[MarkedTurn], *, quiet: bool) -> dict[str, Any]:
    from groundgraph.evals.recorded import ask_again, compared_turns
    from groundgraph.evals.run_conversations import conversation_settings
    from groundgraph.settings.settings import settings_hash

    asked = conversation_settings(settings, with_models=True)
    with shown_progress("Asking again", of="questions", quiet=quiet) as on_progress:
        answered = await ask_again(asked, turns, on_progress)
    return compared_turns(turns, answered, settings_hash(settings))


async def _marked(settings: Settings) -> list[MarkedTurn]:
    """The marked turns, the oldest first; those whose record is gone are told and left out."""
    from groundgraph.serve.kept_conversations import marked_turns

    if is_missing(settings, settings.checkpointer) or is_missing(settings, settings.store):
        return []
    async with open_kept(settings, reads=True) as graph:
        assert graph.store is not None
        found = []
        for path in await marked_turns(graph.store):
            try:
                found.append(await _turn(graph, path))
            except EvidenceMissing as error:
                note(f"Left out: {error}")
        return found


async def _turn(graph: Any, path: list[dict[str, Any]]) -> MarkedTurn:
    """The last turn of `path`, with what was said in those before it."""
    from groundgraph.evals.recorded import Answered, MarkedTurn
    from groundgraph.graph.resume import load_provenance

    records = [await load_provenance(graph, node["graph_thread"], node["record"]) for node in path]
    last, node = records[-1], path[-1]
    before = [said for one in records[:-1] for said in (("user", one["question"]), ("assistant", one["answer"]))]
    return MarkedTurn(
        node["graph_thread"],
        node["record"],
        last["question"],
        tuple(before),
        node["mark"]["mark"],
        node["mark"].get("comment", ""),
        node.get("settings", ""),
        Answered.of(last),
    )


MeasureName = Literal["retrieval", "refusal", "citations", "outcomes"]


# What `groundgraph evaluate` takes.
Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER",
        help="Holds corpus.jsonl, queries.jsonl, qrels.tsv; for outcomes conversations.jsonl.",
        show_default=False,
    ),
]
Passages = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE",
        help="The passages, in place of corpus.jsonl; several are several sources. This and the next two are "
        "looked for in FOLDER, then here.",
    ),
]
Questions = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The questions. Default: queries.jsonl; for outcomes conversations.jsonl."),
]
Judged = Annotated[
    str, typer.Option(metavar="FILE", help="Which passages answer which question: query, passage, gain.")
]
Turns = Annotated[
    bool,
    typer.Option("--turns", help="A text of several lines is a conversation of user turns; the last is asked."),
]
AsConfigured = Annotated[
    bool,
    typer.Option("--as-configured", help="Use the configured top_k and score_threshold; without it they are 50 and 0."),
]
Measure = Annotated[
    MeasureName,
    typer.Option(
        help="retrieval: nDCG, recall and MRR. refusal: AUC of support.answerable against the queries' label. "
        "citations: precision and recall of the sentences cited for the reference answers. "
        "outcomes: whether the messages of conversations with the configured sources get what they must get."
    ),
]
WithModel = Annotated[
    bool, typer.Option("--model", help="outcomes: let the configured models work; without it there is none.")
]
ShowWrong = Annotated[bool, typer.Option("--wrong", help="outcomes: show each message that went wrong.")]
SaveTo = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the figures with those of every query to FILE.")
]
CompareTo = Annotated[Path | None, typer.Option(metavar="FILE", help="Show the difference to a run that --save wrote.")]
Vectors = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Embeddings from FOLDER_NAME.FILE_STEM.npy in this folder in place of an embedding model, "
        "a row for each line of the corpus and of the questions.",
    ),
]
Recorded = Annotated[
    bool,
    typer.Option(
        "--recorded", help="In place of a FOLDER: what people marked on the page of groundgraph serve, good or bad."
    ),
]
Again = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="recorded: ask the marked questions again with this configuration, and compare."),
]
OutPage = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        help="recorded: write the comparison as one HTML page into FILE; - is standard output.",
    ),
]
SqlUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Write the passages into tables of this database (postgresql://user@host/database or "
        "sqlite:///file.db), named groundgraph_evaluate_..., and search them with a SQL source.",
    ),
]


# What each kind of evaluation takes beside --config and --json.
_ON_PASSAGES = frozenset({"folder", "measure", "corpus", "queries", "turns", "save", "compare"})
_TAKEN = {
    "--recorded": frozenset({"recorded", "again", "out"}),
    "--measure retrieval": _ON_PASSAGES | {"qrels", "as_configured", "vectors", "sql"},
    "--measure refusal": _ON_PASSAGES | {"as_configured", "vectors", "sql"},
    "--measure citations": _ON_PASSAGES,
    "--measure outcomes": frozenset({"folder", "measure", "queries", "model", "wrong", "save", "compare"}),
}
_HINTS = {"folder": "FOLDER", "out": "-o, --out"}


def _refuse_idle(context: typer.Context, kind: str) -> None:
    """Refuse what `kind` would leave aside: its figures would be taken for those of something else."""
    for name in context.params.keys() - _TAKEN[kind] - {"config", "as_json"}:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            takers = ", ".join(other for other, taken in _TAKEN.items() if name in taken)
            hint = _HINTS.get(name, f"--{name.replace('_', '-')}")
            raise typer.BadParameter(f"has no effect with {kind}; it is for {takers}", param_hint=hint)


def evaluate(
    context: typer.Context,
    folder: Folder = None,
    corpus: Passages = None,
    queries: Questions = None,
    qrels: Judged = "qrels.tsv",
    turns: Turns = False,
    as_configured: AsConfigured = False,
    measure: Measure = "retrieval",
    model: WithModel = False,
    wrong: ShowWrong = False,
    save: SaveTo = None,
    compare: CompareTo = None,
    vectors: Vectors = None,
    sql: SqlUrl = None,
    recorded: Recorded = False,
    again: Again = None,
    out: OutPage = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure retrieval, the outcomes of conversations, or marks. Retrieval takes passages, questions and judgements.

    Figures have 95 % intervals. The passages take the place of the configured sources, which conversations ask.
    Queries without a relevant passage do not count. A difference whose interval covers 0 is no difference shown.
    """
    check_folder_of(save, "--save")
    _refuse_idle(context, "--recorded" if recorded else f"--measure {measure}")
    settings = find_settings(config)
    if model:
        _need_model(settings)
    if recorded:
        evaluate_recorded(settings, again, out, as_json=as_json)
        raise typer.Exit(DONE)
    if folder is None:
        raise typer.BadParameter("name a folder, or --recorded", param_hint="FOLDER")
    from groundgraph.evals.report import load
    from groundgraph.evals.report import save as save_evaluation

    earlier = load(compare) if compare else None
    if measure == "outcomes":
        evaluation = _outcomes(settings, folder, queries, with_models=model, quiet=as_json)
    else:
        files = _files(folder, corpus, queries, qrels if measure == "retrieval" else None, turns=turns)
        evaluation = _Measured(settings, files, vectors, as_configured, as_json, sql).evaluation(measure)
    if save:
        save_evaluation(evaluation, save)
    _show(evaluation, earlier, compare, as_json=as_json, wrong=wrong)
    raise typer.Exit(DONE_WITH_FAILURES if evaluation.failures else DONE)


def _need_model(settings: Settings) -> None:
    if not (settings.chat_models or settings.embedding_model):
        message = "there is none in the configuration; set `llm`, `query_llm` or `embeddings`"
        raise typer.BadParameter(message, param_hint="--model")


def _files(
    folder: Path, corpus: list[str] | None, queries: str | None, qrels: str | None, *, turns: bool
) -> DatasetFiles:
    from groundgraph.evals.dataset import DatasetFiles

    return DatasetFiles(folder, corpus or DatasetFiles.corpora, queries or DatasetFiles.queries, qrels, turns)


def _outcomes(settings: Settings, folder: Path, queries: str | None, *, with_models: bool, quiet: bool) -> Evaluation:
    """What the messages of conversations get from the configured sources."""
    from groundgraph.evals.dataset import found_file
    from groundgraph.evals.run_conversations import (
        conversation_settings,
        load_conversations,
        outcome_evaluation,
        run_conversations,
    )

    conversations = load_conversations(found_file(folder, queries or "conversations.jsonl", "--queries"))
    asked = conversation_settings(settings, with_models=with_models)
    with shown_progress("Asking", of="conversations", quiet=quiet) as on_progress:
        heard = asyncio.run(run_conversations(asked, conversations, on_progress))
    return outcome_evaluation(folder.resolve().name, conversations, heard)


@dataclass(frozen=True)
class _Measured:
    """What is measured on passages and questions.

    Attributes:
        settings: those that are measured.
        files: hold the set.
        vectors: the folder of embeddings in place of a model's.
        as_configured: whether its own limits hold.
        quiet: whether no progress is shown.
        sql: the URL of a database that takes the passages.
    """

    settings: Settings
    files: DatasetFiles
    vectors: Path | None
    as_configured: bool
    quiet: bool
    sql: str | None

    @cached_property
    def dataset(self) -> Dataset:
        """The set."""
        from groundgraph.evals.dataset import load_dataset

        return load_dataset(self.files)

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedding model that is measured, None for words alone."""
        from groundgraph.evals.stored_vectors import stored_embedder
        from groundgraph.graph.configured_models import configured_embedder

        if self.vectors is None:
            return configured_embedder(self.settings)
        section = self.settings.embedding_model
        return stored_embedder(self.vectors, self.dataset, languages=section.languages if section else ())

    def evaluation(self, measure: MeasureName) -> Evaluation:
        """What came of those queries that count for `measure`."""
        from groundgraph.evals.measures import by_sentence_scores, citation_values, require_ir_measures
        from groundgraph.evals.report import citation_evaluation

        if measure == "retrieval":
            require_ir_measures()
        for sentence in self.dataset.notes:
            note(sentence)
        if measure == "citations":
            values = citation_values(self.dataset.queries, self.dataset.corpora, by_sentence_scores)
            return citation_evaluation(self.dataset.name, values)
        return self._of_queries(measure)

    def _of_queries(self, measure: MeasureName) -> Evaluation:
        """The queries through the retrieval graph."""
        from groundgraph.evals.measures import classes, retrieval_values, scored_queries
        from groundgraph.evals.report import refusal_evaluation, retrieval_evaluation

        answerable = classes(self.dataset.queries) if measure == "refusal" else {}
        counting = set(answerable or scored_queries(self.dataset.judged))
        if not counting:
            message = "no query has a relevant passage, so there is nothing to measure"
            raise typer.BadParameter(message, param_hint="FOLDER")
        answered = asyncio.run(self._answered(counting))
        failures = [{"query": one.query, "reason": reason} for one in answered for reason in one.failures]
        if measure == "refusal":
            scores = {one.query: one.answerable for one in answered}
            return refusal_evaluation(self.dataset.name, scores, answerable, failures)
        values = retrieval_values(self.dataset.judged, {one.query: one.documents for one in answered})
        return retrieval_evaluation(self.dataset.name, values, failures)

    async def _answered(self, counting: Collection[str]) -> list[Answered]:
        """What the questions get whose ids are among `counting`."""
        from groundgraph.evals.run_queries import evaluation_settings, run_queries

        asked = [query for query in self.dataset.queries if query.id in counting]
        bases = await self._tables(self.sql) if self.sql else await self._bases()
        measured = evaluation_settings(self.settings, bases, as_configured=self.as_configured)
        with shown_progress("Asking", of="queries", quiet=self.quiet) as on_query:
            return await run_queries(measured, self.dataset.corpora, asked, on_query, self.embedder)

    async def _tables(self, url: str) -> dict[str, SqlCorpus]:
        from groundgraph.evals.corpus_base import corpus_in_sql

        folder = self.settings.at(Path())
        found = {one.name: await corpus_in_sql(url, one, folder, self.embedder) for one in self.dataset.corpora}
        if self.embedder and not all(one.has_vectors for one in found.values()):
            note("The database has no pgvector, so the passages are searched by words alone.")
        return found

    async def _bases(self) -> dict[str, Path]:
        from groundgraph.evals.corpus_base import corpus_base, corpus_in_weaviate
        from groundgraph.evals.run_queries import has_topic_index

        folder = self.settings.at(Path(STATE_FOLDER, "evaluate"))
        keep_out_of_git(folder)
        bases: dict[str, Path] = {}
        for corpus in self.dataset.corpora:
            with shown_progress(f"Ingesting {corpus.file.name}", quiet=self.quiet) as on_progress:
                outline = has_topic_index(self.settings)
                bases[corpus.name] = await corpus_base(corpus, folder, on_progress, self.embedder, outline=outline)
                await corpus_in_weaviate(self.settings, bases[corpus.name])
        return bases


def _show(
    evaluation: Evaluation, earlier: Evaluation | None, other: Path | None, *, as_json: bool, wrong: bool
) -> None:
    from groundgraph.evals.report import compare as compared

    comparison = compared(evaluation, earlier) if earlier else None
    if earlier:
        _note_earlier(evaluation, earlier, other)
    if as_json:
        document: dict[str, Any] = evaluation.to_dict()
        if comparison:
            shared, differences = comparison
            shown = {name: difference.to_dict() for name, difference in differences.items()}
            document["comparison"] = {"with": str(other), "n": shared, "differences": shown}
        write_json(document)
    else:
        _say_all(evaluation, comparison, other, wrong=wrong)
    for failure in evaluation.failures[:20]:
        note(f"Failed: {failure['query']}: {failure['reason']}")
    if len(evaluation.failures) > 20:
        note(f"{counted(len(evaluation.failures), 'failure')} in all.")


def _note_earlier(evaluation: Evaluation, earlier: Evaluation, other: Path | None) -> None:
    if earlier.dataset != evaluation.dataset:
        told = f"The run in {other} is of another set, '{earlier.dataset}'"
        note(f"{told}: its {evaluation.unit} are paired with those of '{evaluation.dataset}' by their _id alone.")
    if earlier.failures:
        note(f"The run in {other} had failures: {len(earlier.failures)}.")


def _say_all(
    evaluation: Evaluation,
    comparison: tuple[int, dict[str, Difference]] | None,
    other: Path | None,
    *,
    wrong: bool,
) -> None:
    from groundgraph.evals.report import comparison_lines, evaluation_lines
    from groundgraph.evals.run_conversations import wrong_lines

    lines = [*(wrong_lines(evaluation) if wrong else ()), *evaluation_lines(evaluation)]
    if comparison and other:
        lines += comparison_lines(comparison[1], comparison[0], other, evaluation.unit)
    say("\n".join(lines))
