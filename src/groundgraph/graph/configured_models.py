"""The models that the settings name, or that Python passes in: for embeddings, for extracting intents, and for a second
opinion on support."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from pydantic import ValidationError
from typing_extensions import override

from groundgraph.core.chain import SupportJudge
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.evidence import SourceResult
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema, annotations_of
from groundgraph.ingest.judge import Judge
from groundgraph.models.call_model import ChainModel, model_name
from groundgraph.models.chat_model import EXTRAS, ModelProblem, configured_model, explained, named_model
from groundgraph.models.local_model import LocalEmbeddings, LocalEntailment, entailment_problem, folder_problem
from groundgraph.nodes.second_opinion import ROLE, AskJudge
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import JUDGE_KEY
from groundgraph.settings.search import IntentSettings
from groundgraph.settings.services import FASTEMBED, EmbeddingSettings, ModelSettings
from groundgraph.settings.settings import Settings
from groundgraph.tracing.tracing import traced_embedder

if TYPE_CHECKING:
    from groundgraph.answers.extract_intent import AskExtractor, Extractor


# Providers whose models run in this process: building one reads it from disk, or even from the network.
_LOCAL = {"huggingface": "langchain_huggingface", FASTEMBED: FASTEMBED}


def configured_embedder(settings: Settings, passed: Embeddings | Embedder | str | None = None) -> Embedder | None:
    """The embedding model of a knowledge base: `passed`, itself or by its name "provider:model", or that of the
    settings; None without either.

    Languages and batch size of the section `embeddings` hold for a model that is passed in as well. A model that runs
    in this process is read on first use.

    Raises:
        ConfigurationError: it cannot be built; the message names the missing package or variable.
    """
    return traced_embedder(_chosen(settings, passed), settings.tracing)


def _chosen(settings: Settings, passed: Embeddings | Embedder | str | None) -> Embedder | None:
    section, key = settings.embedding_model, embedding_key(settings)
    if isinstance(passed, Embedder):
        return passed
    if isinstance(passed, str):
        kept = section.model_dump(include={"languages", "batch_size"}) if section else {}
        section, key = EmbeddingSettings(model=passed, **kept), "embeddings"
    elif passed is not None:
        return _embedder(passed, _own_name(passed, section), section)
    if section is None:
        return None
    if section.folder is not None:
        section = section.model_copy(update={"folder": settings.at(section.folder)})
    return _of_section(section, key)


def _of_section(section: EmbeddingSettings, key: str) -> Embedder:
    if _is_local(section):
        if problem := embedding_problem(section, key):
            raise ConfigurationError([Problem(key, problem.message)])
        return _embedder(_ReadOnFirstUse(section), section.full_name, section)
    try:
        return _embedder(_built(section), section.full_name, section)
    except Exception as error:  # a missing package or key is reported by errors of the SDKs' own
        # Without the cause, which may quote a key.
        raise ConfigurationError([Problem(key, _explained(error, section, key).message)]) from None


def embedding_key(settings: Settings) -> str:
    """Where the embedding model stands in the settings."""
    own = settings.knowledge_base is not None and settings.knowledge_base.embeddings is not None
    return "knowledge_base.embeddings" if own else "embeddings"


def embedding_problem(section: EmbeddingSettings | None, key: str) -> ModelProblem | None:
    """Why the model of `section` cannot be built, None when it can; a local model is not read for that."""
    if section is None:
        return None
    if _is_local(section):
        package = _LOCAL[section.provider_name]
        if find_spec(package):
            told = folder_problem(section.folder) if section.folder else ""
            return ModelProblem(told, of_this_machine=True) if told else None
        return _explained(ImportError(f"pip install {package.replace('_', '-')}"), section, key)
    try:
        _built(section)
    except Exception as error:
        return _explained(error, section, key)
    return None


def _is_local(section: EmbeddingSettings) -> bool:
    return section.provider_name in _LOCAL


def _embedder(model: Embeddings, name: str, section: EmbeddingSettings | None) -> Embedder:
    if section is None:
        return Embedder(model, name)
    return Embedder(model, name, frozenset(section.languages), section.batch_size)


def _own_name(model: Embeddings, section: EmbeddingSettings | None) -> str:
    """The name that a knowledge base remembers `model` by: that of the settings when both are the same model."""
    named = next((str(name) for name in (getattr(model, key, None) for key in ("model", "model_name")) if name), "")
    if section is not None and named and named == section.full_name.partition(":")[2]:
        return section.full_name
    return f"{type(model).__name__}:{named}" if named else type(model).__name__


def _built(section: EmbeddingSettings) -> Embeddings:
    options = dict(section.model_extra or {})
    if section.provider_name == FASTEMBED:
        return LocalEmbeddings(section.full_name.partition(":")[2], section.folder, options)
    from langchain.embeddings import init_embeddings

    try:
        # One layer retries, and it is not the SDK's.
        return init_embeddings(section.model, provider=section.provider, **{"max_retries": 0, **options})
    except (ValidationError, TypeError) as error:
        if "max_retries" in options or "max_retries" not in str(error):
            raise
        # A provider whose SDK has no such switch.
        return init_embeddings(section.model, provider=section.provider, **options)


def _explained(error: Exception, section: EmbeddingSettings, key: str) -> ModelProblem:
    text = str(error)
    if isinstance(error, ValueError) and ("Must specify" in text or "Invalid model format" in text):
        return ModelProblem("name the `provider`, or write the model as provider:model", of_this_machine=False)
    if isinstance(error, ValueError) and "is not supported" in text:
        from langchain.embeddings.base import _BUILTIN_PROVIDERS

        known = [*_BUILTIN_PROVIDERS, FASTEMBED]
        told = f"there is no provider of embeddings '{section.provider_name}'.{nearest(section.provider_name, known)}"
        return ModelProblem(f"{told} Known: {', '.join(known)}.", of_this_machine=False)
    return explained(error, section, key)


@dataclass
class _ReadOnFirstUse(Embeddings):
    """A model that is built when the first text is embedded, in the thread that embeds it."""

    section: EmbeddingSettings
    _model: Embeddings | None = None
    _building: Any = field(default_factory=threading.Lock)

    @override
    def embed_query(self, text: str) -> list[float]:
        return self._ready().embed_query(text)

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._ready().embed_documents(texts)

    def _ready(self) -> Embeddings:
        with self._building:
            if self._model is None:
                self._model = _built(self.section)
            return self._model


EXTRACTION = "intent.extraction_config"


def configured_extractor(
    settings: Settings,
    schemas: Mapping[str, SourceSchema | None],
    prompts: Prompts,
    passed: Extractor | str | None = None,
) -> AskExtractor | None:
    """The extractor; None when neither settings nor Python name one.

    Args:
        settings: the `intent` section.
        schemas: the declared fields of the sources, whose annotations are checked.
        prompts: the prompt files.
        passed: stands in place of `intent.extraction_config`.

    Raises:
        ConfigurationError: the model cannot be built, `passed` cannot be called, an annotation is wrong, or a key of
            the section would have no effect.
    """
    problems = extraction_problems(settings, has_extractor=passed is not None)
    passed = named_model(passed, "extractor") if isinstance(passed, str) else passed
    given: object = passed
    if given is not None and not (isinstance(given, Runnable) or callable(given)):
        told = f"takes a chat model, a Runnable or a function of the messages, not {type(passed).__name__}"
        problems.append(Problem("extractor", told))
    refuse_any(problems)
    for schema in schemas.values():
        if schema is not None:
            annotations_of(schema)
    chosen = passed or configured_model(settings.intent.extraction_config, EXTRACTION)
    if chosen is None:
        return None
    # Loaded by those who extract only, as chat models are.
    from groundgraph.answers.extract_intent import AskExtractor

    return AskExtractor(chosen, prompts)


def _set_in_vain(intent: IntentSettings, names: Sequence[str], told: str) -> list[Problem]:
    return [Problem(f"intent.{name}", told) for name in names if getattr(intent, name)]


def extraction_problems(settings: Settings, *, has_extractor: bool = False) -> list[Problem]:
    """The keys of the `intent` section that would be taken and ignored."""
    intent = settings.intent
    extracts = has_extractor or intent.extraction_config is not None
    only_extract = ("extraction_config", "expand_ambiguous_queries", "output_style_hint", "x_extraction")
    foreign = _set_in_vain(intent, only_extract, f"belongs to mode 'extract', but the mode is '{intent.mode}'")
    if foreign and intent.mode != "extract":
        return foreign
    alone = _set_in_vain(
        intent, ("output_style_hint", "x_extraction"), "has no effect without intent.extraction_config"
    )
    problems = [] if extracts else alone
    if intent.include_assistant_context and not intent.expand_ambiguous_queries:
        told = "has no effect without intent.expand_ambiguous_queries: true"
        problems.append(Problem("intent.include_assistant_context", told))
    return problems


# Of one pair a chat model reads no more than a turn may hold as evidence.
_PAIR_CHARS = 200_000


def configured_judge(
    settings: Settings,
    prompts: Prompts,
    chat_model: BaseChatModel | None,
    passed: BaseChatModel | SupportJudge | str | None = None,
) -> AskJudge | None:
    """The judge; None when there is no model that could judge, or write what is judged.

    Args:
        settings: `citation_check.entailment`, which is on.
        prompts: hold the instructions.
        chat_model: writes the answers, and judges when nothing else is named.
        passed: stands in place of the judge of the settings.

    Raises:
        ConfigurationError: the model cannot be built, or `passed` is none.
    """
    own = named_model(passed, "support_judge") if isinstance(passed, str) else passed
    section = settings.citation_check.second_opinion.judge
    if own is None and section is not None and section.provider == FASTEMBED:
        local = _local(section, settings)
        return AskJudge(local, f"{FASTEMBED}:{local.model}", calls_model=False, settings=settings)
    model: object = own if own is not None else configured_model(section, JUDGE_KEY) or chat_model
    if isinstance(model, BaseChatModel):
        judge = ModelJudge(Judge(ChainModel.of(settings, prompts, model), ROLE, "grades", _PAIR_CHARS, share=1))
        return AskJudge(judge, model_name(model), calls_model=True, settings=settings)
    if model is None:
        return None
    if not callable(model):
        told = f"takes a chat model, its name, or a function of question and pairs, not {type(model).__name__}"
        raise ConfigurationError([Problem("support_judge", told)])
    name = getattr(model, "__name__", type(model).__name__)
    return AskJudge(cast(SupportJudge, model), name, calls_model=False, settings=settings)


@dataclass(frozen=True)
class ModelJudge:
    """A chat model as `groundgraph.core.chain.SupportJudge`."""

    judge: Judge

    async def __call__(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """See there."""
        shown = [f"{sentence}\n\n{evidence}" for evidence, sentence in pairs]
        return await self.judge.judged(question, [SourceResult(text, "", "", "") for text in shown])


def local_judge_problem(settings: Settings) -> ModelProblem | None:
    """Why the model in this process that is to judge cannot be read; None when it can, or when another judges."""
    section = settings.citation_check.second_opinion.judge
    if section is None or section.provider != FASTEMBED:
        return None
    folder = _folder(section, settings)
    if folder is None:
        return ModelProblem("name the `folder` of a cross-encoder that was trained for entailment", False)
    if find_spec("fastembed") is None:
        return ModelProblem(f'needs: pip install "groundgraph[{EXTRAS[FASTEMBED]}]"', True)
    told = entailment_problem(folder)
    return ModelProblem(told, True) if told else None


def _local(section: ModelSettings, settings: Settings) -> LocalEntailment:
    if problem := local_judge_problem(settings):
        raise ConfigurationError([Problem(JUDGE_KEY, problem.message)])
    options = {name: value for name, value in (section.model_extra or {}).items() if name != "folder"}
    return LocalEntailment(_folder(section, settings) or Path(), options)


def _folder(section: ModelSettings, settings: Settings) -> Path | None:
    given = (section.model_extra or {}).get("folder")
    return settings.at(Path(given)) if given else None
