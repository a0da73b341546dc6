"""Who gives a second opinion on support: a chat model, a model in this process, or what Python passes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from langchain_core.language_models import BaseChatModel

from groundgraph.core.chain import SupportJudge
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.judge import Judge
from groundgraph.models.call_model import ChainModel, model_name
from groundgraph.models.chat_model import EXTRAS, ModelProblem, configured_model, named_model
from groundgraph.models.local_model import LocalEntailment, entailment_problem
from groundgraph.nodes.second_opinion import ROLE, AskJudge
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import JUDGE_KEY
from groundgraph.settings.services import FASTEMBED, ModelSettings
from groundgraph.settings.settings import Settings

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
