"""Every case through the graphs that answer users, with the model that is checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from groundgraph.answers.citations import named_text
from groundgraph.answers.extract_intent import objects_in
from groundgraph.core.errors import ConfigurationError, ModelError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.evals.model_check.cases import ANSWER_SKILLS, SOURCE, Case, evidence_of
from groundgraph.evals.model_check.verdicts import (
    Marks,
    answer_marks,
    entailment_marks,
    judging_marks,
    object_faults,
    parts_marks,
    query_marks,
    rewriting_marks,
)
from groundgraph.evals.run_queries import EvaluationFailed, Progress
from groundgraph.graph.configured_models import configured_judge
from groundgraph.graph.retrieval import retrieval_graph
from groundgraph.graph.turn import turn_graph
from groundgraph.models.call_model import call_with_retries, collect_chain_calls
from groundgraph.models.chat_model import configured_model
from groundgraph.models.replies import OWN, TEXT, with_schema
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import call_chain
from groundgraph.settings.context import Context
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import NamedSource

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# The ways to ask for an object.
FORMS = {
    OWN: "its package's own way",
    "json_schema": "native schema",
    "function_calling": "call of a tool",
    "json_mode": "JSON mode",
    TEXT: "text",
}
# The marks of second looks: citations by document in place of sections, and answers told what is wrong with them.
BY_DOCUMENT, REPAIRED = "by_document", "repaired"
_SCHEMA: dict[str, Any] = {
    "title": "Booking",
    "description": "A booking of places.",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "places": {"type": "integer"},
        "days": {
            "type": "array",
            "items": {
                "type": "string",
                "enum": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
            },
        },
    },
    "required": ["name", "places", "days"],
    "additionalProperties": False,
}
_PLAIN: dict[str, Any] = {
    "intent": {"mode": "static"},
    "retrieval": {"top_k": 100, "score_threshold": 0.0, "answerable_threshold": None},
    "fast_path": {"enabled": False},
}
_STAGES: dict[str, dict[str, Any]] = {
    "queries": {"intent": {"mode": "extract"}},
    "rewriting": {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": ["rewrite"]}},
    "parts": {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": ["decomposition"]}},
    "judging": {"reranker": {"enabled": True, "type": "judge", "threshold": 0.0, "candidates_count": 100}},
}
Variant = Literal["section", "source", "repair"]


@dataclass(frozen=True)
class Asked:
    """What came of one case.

    Attributes:
        case: what was asked.
        marks: by mark what is wrong.
        reply: the beginning of what it wrote, for a reader.
        seconds: from the message to the end; `first` to the first piece of the answer, where it streams.
        pieces: in which the answer came.
        calls: of the model, as the record of a turn has them.
        failure: why a call failed, which counts as wrong; empty when none did.
        counts: whether it is one of the cases, or a second look at one for the settings' sake.
    """

    case: Case
    marks: Marks
    reply: str = ""
    seconds: float = 0.0
    first: float | None = None
    pieces: int = 0
    calls: Sequence[Any] = ()
    failure: str = ""
    counts: bool = True

    @property
    def right(self) -> bool:
        """Whether nothing is wrong; of the ways to ask for an object one that works is enough."""
        return not any(found for mark, found in self.marks.items() if mark not in FORMS)


@dataclass
class _Shelf(NamedSource):
    """Gives the passages of the case that is asked, whatever it is asked."""

    shown: list[SourceResult] = field(default_factory=list)
    _name: str = SOURCE
    _source_type: str = SOURCE

    async def query(
        self,
        intent: RetrievalIntent,  # noqa: ARG002 - of the contract
        *,
        top_k: int = 5,
        score_threshold: float = 0.0,
    ) -> list[SourceResult]:
        return [one for one in self.shown if one.relevance >= score_threshold][:top_k]


def checked_model(settings: Settings) -> BaseChatModel:
    """The chat model of `settings`.

    Raises:
        ConfigurationError: they name none, or it cannot be built.
    """
    model = configured_model(settings.llm, "llm")
    if model is None:
        raise ConfigurationError([Problem("llm", "names no model to check; set `llm: {provider: ..., model: ...}`")])
    return model


async def run_cases(
    settings: Settings, model: BaseChatModel, cases: Sequence[Case], on_progress: Progress | None = None
) -> list[Asked]:
    """What `model` made of `cases`, in their order, then second looks: citations by document, and repaired answers.

    One after the other, so that the times are those of a single user. Nothing is written to any file.

    Args:
        settings: prompts, deadlines and limits of these are used, and nothing else.
        model: is checked.
        cases: what it is asked.
        on_progress: called after each case.

    Raises:
        ConfigurationError: the settings cannot work.
        EvaluationFailed: the model cannot be reached before the cases, or no more behind cases in which calls failed.
    """
    check = _Check(settings, model)
    await check.reach(cases[0])
    found: list[Asked] = []
    for number, case in enumerate(cases, 1):
        found.append(await check.asked(case))
        if on_progress:
            on_progress(number, len(cases))
    if any(one.failure for one in found):
        await check.reach(cases[0])
    again = [await check.by_document(case) for case in cases if case.skill == "citing"]
    return [*found, *again, *[await check.repaired(case) for case in _wrongly_cited(found)]]


def _wrongly_cited(found: Sequence[Asked]) -> list[Case]:
    answered = [one for one in found if not one.marks.get("answers", ("it is no answer",))]
    return [one.case for one in answered if one.marks.get("form") or one.marks["passage"]]


class _Check:
    """The graphs of one run, each built when a case first needs it."""

    def __init__(self, settings: Settings, model: BaseChatModel) -> None:
        self._settings, self._model = settings, model
        self._prompts = Prompts.of(settings)
        self._shelf = _Shelf()
        self._graphs: dict[str, Any] = {}

    async def asked(self, case: Case) -> Asked:
        if case.skill in ANSWER_SKILLS:
            return await self._answered(case, "section")
        if case.skill == "structured":
            return await self._filled_in(case)
        if case.skill == "entailment":
            return await self._judged(case)
        return await self._staged(case)

    async def reach(self, case: Case) -> None:
        """Nothing, when the model replies to a plain message."""
        try:
            await self._called(self._model, [HumanMessage(case.ask)])
        except ModelError as error:
            raise EvaluationFailed(f"The model cannot be reached, so nothing was checked. {error}") from error

    async def by_document(self, case: Case) -> Asked:
        return _second_look(await self._answered(case, "source"), BY_DOCUMENT)

    async def repaired(self, case: Case) -> Asked:
        return _second_look(await self._answered(case, "repair"), REPAIRED)

    def _graph(self, name: str, build: Callable[..., Any], sections: dict[str, Any]) -> Any:
        if name not in self._graphs:
            own = {key: getattr(self._settings, key) for key in ("llm", "prompts", "deadlines", "limits", "base_dir")}
            settings = load_settings({**_PLAIN, **sections}).model_copy(update=own)
            self._graphs[name] = build(settings, sources=[self._shelf], chat_model=self._model)
        return self._graphs[name]

    async def _answered(self, case: Case, variant: Variant) -> Asked:
        policies = {"labels": "repair", "uncited": "repair", "support": "repair"} if variant == "repair" else {}
        graph = self._graph(variant, turn_graph, {"citation_check": policies})
        self._shelf.shown = evidence_of(case.read)
        choices = Context(instruction=case.instruction, citation_format="source" if variant == "source" else "section")
        started = time.perf_counter()
        first, pieces, output = None, 0, {}
        async for mode, part in graph.astream(
            {"messages": _messages(case)}, context=choices, stream_mode=["messages", "values"]
        ):
            if mode == "values":
                output = part
            elif isinstance(part[0], AIMessage) and part[0].text:
                first, pieces = first or time.perf_counter() - started, pieces + 1
        seconds = time.perf_counter() - started
        calls, failure = _calls(output)
        marks = _failed(answer_marks(case, output), failure)
        return Asked(case, marks, output["answer"], seconds, first, pieces, calls, failure)

    async def _staged(self, case: Case) -> Asked:
        graph = self._graph(case.skill, retrieval_graph, _STAGES[case.skill])
        self._shelf.shown = evidence_of(case.read)
        started = time.perf_counter()
        output = await graph.ainvoke({"messages": _messages(case)})
        seconds = time.perf_counter() - started
        calls, failure = _calls(output)
        marks, reply = _staged_marks(case, output)
        return Asked(case, _failed(marks, failure), reply, seconds, calls=calls, failure=failure)

    async def _filled_in(self, case: Case) -> Asked:
        """The case in each form; a form that the model's package or its server refuses is a form that it has not."""
        started, replies = time.perf_counter(), []
        marks: Marks = {}
        for form in FORMS:
            try:
                reply = await self._object(case, form)
            except (ModelError, NotImplementedError, TypeError, ValueError, AttributeError) as error:
                marks[form] = (f"it cannot be asked so: {error}",)
                continue
            marks[form] = object_faults(case, next(objects_in(reply), None))
            replies.append(f"{form}: {reply.text or reply.tool_calls}")
        works = any(not faults for faults in marks.values())
        marks["structured"] = () if works else marks[TEXT]
        failure = "" if replies else marks[TEXT][0]
        return Asked(case, marks, "; ".join(replies), time.perf_counter() - started, failure=failure)

    async def _judged(self, case: Case) -> Asked:
        """Sentences beside their evidence, as a second opinion is asked for."""
        started = time.perf_counter()
        second = configured_judge(self._settings, self._prompts, self._model, self._model)
        evidence = "\n\n".join(map(named_text, evidence_of(case.read)))
        # In no order by which the right one could be guessed.
        texts, scores, told = sorted([*case.said, *case.planted]), dict[str, float | None](), ""
        with collect_chain_calls() as calls:
            try:
                pairs = [(evidence, text) for text in texts]
                given = await call_chain(second.judge, case.ask, pairs) if second else []
                scores = dict(zip(texts, given, strict=True))
            except ModelError as error:
                told = str(error)
        failure = next((call["error"] for call in calls if call.get("error")), "")
        reply = told or "; ".join(f"{text} {score}" for text, score in scores.items())
        marks = _failed(entailment_marks(case, scores), failure)
        return Asked(case, marks, reply, time.perf_counter() - started, calls=calls, failure=failure)

    async def _object(self, case: Case, form: str) -> AIMessage:
        messages: list[Any] = [SystemMessage(self._prompts.render("fill_in_object").strip()), HumanMessage(case.ask)]
        if form in ("json_mode", TEXT):
            messages = with_schema(messages, _SCHEMA, self._prompts)
        if form == TEXT:
            said: AIMessage = await self._called(self._model, messages)
            return said
        method = {} if form == OWN else {"method": form}
        bound = self._model.with_structured_output(_SCHEMA, include_raw=True, **method)
        reply: AIMessage = (await self._called(bound, messages))["raw"]
        return reply

    async def _called(self, model: Any, messages: list[Any]) -> Any:
        reply, _ = await call_with_retries(
            lambda: model.ainvoke(messages),
            limit=self._settings.deadlines.model,
            attempts=self._settings.limits.attempts,
            service=self._model,
        )
        return reply


def _messages(case: Case) -> list[tuple[str, str]]:
    earlier = [said for asked, answered in case.before for said in (("user", asked), ("assistant", answered))]
    return [*earlier, ("user", case.ask)]


def _calls(output: Any) -> tuple[list[Any], str]:
    """The calls of a turn, and why one of them failed."""
    calls = output["provenance"]["models"]
    return calls, next((call["error"] for call in calls if call.get("error")), "")


def _failed(marks: Marks, failure: str) -> Marks:
    """`marks`, all of them wrong where a call failed: what stood in for the model's words is not its own."""
    return dict.fromkeys(marks, (f"a call failed: {failure}",)) if failure else marks


def _staged_marks(case: Case, output: Any) -> tuple[Marks, str]:
    intent = output["provenance"]["intent"]
    if case.skill == "queries":
        queries = [query for query in intent["text_queries"] if query != case.ask]
        return query_marks(case, queries), "; ".join(queries)
    if case.skill == "rewriting":
        return rewriting_marks(case, intent.get("rewritten", "")), intent.get("rewritten", "")
    if case.skill == "parts":
        parts = intent.get("sub_queries", [])
        return parts_marks(case, parts), "; ".join(parts)
    scores = {row["source_id"]: row["relevance"] for row in output["evidence"]}
    shown = [scores.get(name, 0.0) for name in case.read]
    told = ", ".join(f"{name} {score:.2f}" for name, score in zip(case.read, shown, strict=True))
    return judging_marks(case, shown), told


def _second_look(asked: Asked, mark: str) -> Asked:
    marks = {mark: (*asked.marks.get("form", ()), *asked.marks.get("passage", ()))}
    return replace(asked, marks=marks, counts=False)
