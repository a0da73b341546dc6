"""Everything that is wrong with a configuration, found without searching anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from groundgraph.answers.intent_template import compile_intent_template
from groundgraph.answers.strategy_chain import Unusable
from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.cli.options import placed
from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.schema import SourceSchema
from groundgraph.graph.configured_models import (
    configured_embedder,
    embedding_key,
    embedding_problem,
    extraction_problems,
    local_judge_problem,
)
from groundgraph.graph.configured_reranker import configured_clustering, configured_rerankers
from groundgraph.graph.configured_sources import cascade_model_problems, topic_problems
from groundgraph.graph.resources import Resources, configured_models
from groundgraph.graph.retrieval_part import sources_with_categories, stage_problems
from groundgraph.ingest.builtin_chains import chains_without_model, check_chains
from groundgraph.models.chat_model import ModelProblem, model_problem
from groundgraph.nodes.begin_turn import greeting_of
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import JUDGE_KEY, RerankerSettings, ResultProcessingSettings
from groundgraph.settings.idle_settings import Passed, idle_settings
from groundgraph.settings.knowledge_base import ChainSettings
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.search import MODEL_STAGES, SourceEntry
from groundgraph.settings.services import EmbeddingSettings
from groundgraph.settings.settings import PromptSettings, Settings
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.sql.location import database_file, is_other, is_server

_PASS_CHAT = "set `llm`, or pass a chat model"


@dataclass
class Checked:
    """What a check found.

    Attributes:
        problems: what must be mended before the configuration can be used.
        notices: what is configured and does not have the effect that it seems to have, one sentence each.
        unasked: sources are named, of which none was searched.
    """

    problems: list[Problem] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    unasked: bool = False


def check_config(path: Path) -> Checked:
    """Read the file at `path` and put everything together that it names, as a turn would."""
    try:
        settings = load_settings(path)
    except ConfigurationError as error:
        return Checked(_in_order([*error.problems, *_source_problems(path, error.problems)], str(path)))
    checked = Checked(unasked=bool(settings.sources or settings.knowledge_base))
    for key, model in settings.chat_models.items():
        _note_model(key, model_problem(model, key), checked)
    _note_model(JUDGE_KEY, local_judge_problem(settings), checked)
    checked.problems += extraction_problems(settings)
    key = embedding_key(settings)
    _note_model(key, embedding_problem(settings.embedding_model, key), checked)
    for key, problem in cascade_model_problems(settings).items():
        _note_model(key, problem, checked)
    checked.notices += [*chains_without_model(settings), *stages_without_model(settings)]
    checked.notices += [*answers_without_model(settings), *weighed_without_vectors(settings)]
    checked.notices += missing_databases(settings)
    # A model and a reranker may still come from Python.
    for location, message in (*idle_settings(settings, as_default=True), *idle_settings(settings, _named(settings))):
        checked.notices.append(str(placed(Problem(".".join(map(str, location)), message), settings.origin)))
    _note_results(settings, checked)
    # A missing key or package is a matter of this machine, not of the file.
    without_models = settings.without_models()
    # One by one: a build ends at the first of them that is wrong.
    for build in (_chains, partial(_sources, with_models=settings, checked=checked), _templates, _greeting, _intent):
        try:
            build(without_models)
        except ConfigurationError as error:
            checked.problems += (problem for problem in error.problems if problem not in checked.problems)
    checked.problems = _in_order(checked.problems, settings.origin)
    return checked


def _in_order(problems: Sequence[Problem], origin: str) -> list[Problem]:
    return sorted((placed(problem, origin) for problem in problems), key=lambda problem: problem.line)


def _source_problems(path: Path, known: Sequence[Problem]) -> list[Problem]:
    """What is wrong with the sources of a file that has other mistakes, as far as they can be looked at alone."""
    from groundgraph.settings.yaml_file import read_yaml

    try:
        root = read_yaml(path)
        below = root.get("reasoning")
        sections = {**(below if isinstance(below, dict) else {}), **root}
        settings = load_settings({name: sections[name] for name in ("sources", "knowledge_base") if name in sections})
        _sources(settings.model_copy(update={"base_dir": path.absolute().parent}), settings, Checked())
    except ConfigurationError as error:
        told = {problem.key for problem in known}
        return [problem for problem in error.problems if problem.key not in told]
    return []


def stages_without_model(settings: Settings) -> list[str]:
    """The stages that a graph leaves out or is refused for, unless Python passes it a model."""
    if settings.llm or settings.query_llm:
        return []
    asks = settings.synthesis.ask_back
    told = "nothing but its fields" if asks and asks.fields else "it is off: nothing"
    pass_one = "set `query_llm` or `llm`, or pass one"
    unasked = f"synthesis.ask_back: {told} is looked at without a model; {pass_one}"
    narrow = f"retrieval.second_look: without a model it only lifts a choice of categories; {pass_one}"
    own = {unasked: bool(asks and asks.model is True), narrow: settings.retrieval.second_look}
    return [*(told for told, holds in own.items() if holds), *_autonomous_without_model(settings)]


def answers_without_model(settings: Settings) -> Iterator[str]:
    """What is set for answers that a model writes, where only Python could pass one."""
    if settings.llm:
        return
    style, check = settings.synthesis.style, settings.citation_check
    if style in ("conversational", "hybrid"):
        yield f"synthesis.style: '{style}' is written by a model, else the evidence is quoted; {_PASS_CHAT}"
    told = settings.synthesis.model_dump(exclude_defaults=True)
    for name in ("instruction", "allow_parametric", "require_citations"):
        if name in told:
            yield f"synthesis.{name}: is for a model that writes; {_PASS_CHAT}"
    for name, policy in check.policies.items():
        if name in check.model_fields_set and policy != "off":
            yield f"citation_check.{name}: judges what a model wrote; {_PASS_CHAT}"


def weighed_without_vectors(settings: Settings) -> Iterator[str]:
    """That the share of vectors is set where only Python could pass an embedding model."""
    base = settings.knowledge_base
    if base and "vector_weight" in base.model_fields_set and settings.embedding_model is None and base.vector_weight:
        yield "knowledge_base.vector_weight: there are no vectors; set `embeddings`, or pass an embedding model"


def missing_databases(settings: Settings) -> Iterator[str]:
    """The files of SQLite that sources name and that are not on this machine."""
    for number, entry in enumerate(settings.sources):
        if file := _missing_file(settings, entry):
            yield f"sources.{number}: there is no database {file} on this machine"


def _missing_file(settings: Settings, entry: SourceEntry) -> Path | None:
    place = entry.options.get("url") or entry.options.get("path")
    if entry.type != "sql" or not isinstance(place, str) or is_server(place) or is_other(place):
        return None
    with suppress(ConfigurationError):  # told by what builds the source
        file = database_file(place, settings.base_dir, entry.name)
        return None if file.exists() else file
    return None


def unread_databases(settings: Settings, schemas: Mapping[str, SourceSchema | None]) -> Iterator[str]:
    """Why the columns of databases that are there could not be read."""
    for entry in settings.sources:
        schema = schemas.get(entry.name)
        if schema and schema.unread and not _missing_file(settings, entry):
            yield schema.unread


def _autonomous_without_model(settings: Settings) -> list[str]:
    wanted = sorted(settings.stages & MODEL_STAGES)
    named = settings.enhanced_retrieval.stages is not None
    keys = [f"enhanced_retrieval.stages: '{stage}'" for stage in wanted if named]
    keys += ["category_router.enabled"] if settings.category_router.enabled else []
    refused = [f"{key} needs a model; set `query_llm` or `llm`, or pass one" for key in keys]
    if named or not wanted:
        return refused
    left_out = f"{' and '.join(wanted)} are left out without a model; set `query_llm` or `llm`, or pass one"
    return [f"enhanced_autonomous_retrieval: {left_out}", *refused]


def _templates(settings: Settings) -> None:
    AnswerTemplates.compile(settings.synthesis, Prompts.of(settings))


def _greeting(settings: Settings) -> None:
    greeting_of(settings)


def _intent(settings: Settings) -> None:
    if settings.intent.template:
        compile_intent_template(settings.intent.template)


def _chains(settings: Settings) -> None:
    refuse_any(check_chains(settings, Prompts.of(settings)))


def _sources(settings: Settings, with_models: Settings, checked: Checked) -> None:
    plain = {
        "chains": ChainSettings(),
        "prompts": PromptSettings(),
        "reranker": RerankerSettings(),
        "result_processing": ResultProcessingSettings(),
    }
    resources = Resources.build(settings.model_copy(update=plain))
    # An embedding model may come from Python, as chat models may.
    embeds = with_models.model_copy(update={"embeddings": with_models.embeddings or EmbeddingSettings(model="-")})
    checked.notices += unread_databases(with_models, resources.schemas)
    problems = topic_problems(embeds, resources.sources)
    missing = [problem for problem in topic_problems(with_models, resources.sources) if problem not in problems]
    checked.notices += [f"{problem.key}: {problem.message}" for problem in missing]
    if with_models.category_router.routes and not sources_with_categories(resources.sources):
        checked.notices.append("category_router: no source has categories; one of type cascade has, or one from Python")
    refuse_any(problems)
    if lacking_parts(with_models, resources.sources):
        checked.notices.append("no turn is run from this file alone: what a notice names has to come from Python")


def lacking_parts(settings: Settings, sources: Mapping[str, GroundedSource]) -> list[Problem]:
    """Why no graph is built from `settings` alone, while Python may pass the model, reranker or source that is lacking.

    Args:
        settings: with their models, of which none is built.
        sources: those of the settings, which may have been built without models.
    """
    idle = [Problem(".".join(map(str, key)), told) for key, told in idle_settings(settings, _named(settings))]
    stages = stage_problems(settings, sources, asks=bool(settings.llm or settings.query_llm))
    return [*idle, *topic_problems(settings, sources), *stages]


def _named(settings: Settings) -> Passed:
    """What the settings themselves name of what a graph has beside them."""
    return Passed(queries=bool(settings.chat_models.keys() - {JUDGE_KEY}))


def _note_results(settings: Settings, checked: Checked) -> None:
    """Rerankers and clustering, with the models that they are to use."""
    try:
        _, model = configured_models(settings, {})
        embedder = configured_embedder(settings)
        prompts = Prompts.of(settings)
    except ConfigurationError:
        return  # It is told by what looks at models and prompts.
    builds: list[Callable[[], object]] = [
        lambda: configured_rerankers(settings, prompts, model),
        lambda: configured_clustering(settings, embedder),
    ]
    for build in builds:
        try:
            build()
        except Unusable as error:
            [problem] = error.problems
            _note_model(problem.key, ModelProblem(problem.message, error.of_this_machine), checked)
        except ConfigurationError as error:
            checked.problems += error.problems


def _note_model(key: str, problem: ModelProblem | None, checked: Checked) -> None:
    if problem is None:
        return
    if problem.of_this_machine:
        checked.notices.append(f"{key}: cannot be used on this machine as it is: {problem.message}")
    else:
        checked.problems.append(Problem(key, problem.message))
