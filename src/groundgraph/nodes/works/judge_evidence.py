"""Whether the evidence can answer the question, and which style answers it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from typing import Any, Literal

from groundgraph.answers.agreement import (
    answerable,
    lacks_code,
    lacks_much,
    lacks_name,
    missing_words,
    says_nothing,
)
from groundgraph.answers.conversation import asked_before, cited_before, leaned_on, recent_conversation
from groundgraph.answers.named_things import (
    Apart,
    found_beside,
    found_elsewhere,
    left_out,
    of_numbered,
    stands_apart,
    with_values,
    without_name,
)
from groundgraph.answers.provenance import absence_outcome, asked_style, lacks_filter, reworded
from groundgraph.answers.sentence_index import running_lines, sentences_of
from groundgraph.answers.table_rows import asks_to_compare_figures, row_doubt
from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import NEEDS, SourceResult, changed, is_stated
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import Needs, Ranking, Ref
from groundgraph.nodes.process_results import Change, RankingInput, Reader, View, Work, WorkParts, paid_call, parts_of
from groundgraph.prompts import Prompts
from groundgraph.resilience.bounds import within_turn
from groundgraph.settings.settings import Settings
from groundgraph.text.find_cue import find_cue
from groundgraph.text.follow_up import (
    asked_parts,
    asks_for_name_or_time,
    asks_for_number,
    holds_pronoun,
    own_words,
    question_behind,
    question_of,
    questions_in,
    standing_question,
    without_connective,
)
from groundgraph.text.numbers import only_days_differ
from groundgraph.text.small_talk import parting_words
from groundgraph.text.wording import marks_in, names_another
from groundgraph.text.words import language_data

# More sentences are not embedded for a turn: five pieces have forty.
MOST_SENTENCES = 64
# What says where in its table a row stands.
_IN_TABLE = frozenset({"file_row", "key"})
# Why evidence is left out that is of another product, say, than the question names.
OTHER_VALUE = "other_value"


def judge_evidence(parts: WorkParts) -> Work:
    """The work: all evidence stays, or none; what is of another value of a field that is asked back about than the
    question names does not."""
    limit = parts.settings.deadlines.model
    background = BackgroundCosine(parts.embedder, limit) if parts.embedder else None
    least = {read: parts.settings.retrieval.least_chance(read=read) for read in (False, True)}
    return Judge(parts.settings, parts.prompts, background, parts.reader, least)


@dataclass(frozen=True)
class Judge:
    """See `judge_evidence`.

    Attributes:
        settings: what the graph was built with.
        prompts: the notes.
        background: of the embedding model, if there is one.
        reader: of the evidence, if it is not just quoted.
        least: the chance to answer with which evidence is quoted (False) or read (True).
    """

    settings: Settings
    prompts: Prompts
    background: BackgroundCosine | None
    reader: Reader | None
    least: Mapping[bool, float]

    async def __call__(self, view: View) -> Change:
        """The style that writes the answer; of evidence that is not good enough, only what comes closest is shown."""
        asked, found = _searched(view.state), await view.results()
        others, values = self._of_others(view, asked, found) if self._fields else (set[int](), frozenset[str]())
        if _leans(view.state):
            others |= found_beside(found, [ref[0] for ref in view.refs], _leaning(view.state))
            others |= _elsewhere(view, found)
        behind = (of_numbered(asked, found).others | without_name(asked, found)) - others
        pairs = list(zip(view.refs, found, strict=True))
        known = [pair for at, pair in enumerate(pairs) if at not in others | behind]
        judged = await self._as_judged(view, asked)
        held = _judgement(view, known, judged)
        apart = [pair for at, pair in enumerate(pairs) if at not in others]
        held = replace(held, parts=_parts(view, apart, judged), shown=judged(_shown(apart)))
        worth = self._worth(view, held)
        # A model would take rows that were found for all that there are, and count them.
        unread = held.computing if worth == "to_read" else frozenset[str]()
        # What tells of things with another number answers nothing, but may be of use to a model.
        whole = [
            ref
            for at, (ref, one) in enumerate(pairs)
            if at not in others and not one.metadata.get(NEEDS) and one.source_name not in unread
        ]
        stay = whole if worth != "closest" or self._shows_closest(view) else []
        why = {ref[0]: NEEDS for ref in view.refs} | {ref[0]: "answerable" for ref in whole}
        why |= {view.refs[at][0]: OTHER_VALUE for at in others}
        ranking = self._ranking(view, held, worth, found=bool(stay))
        quoted = self.reader is None or (self.reader == "model" and ranking["style"] == "structured")
        if stay and quoted:
            ranking["nearness"] = await self._nearness(view, [pair for pair in pairs if pair[0] in stay])
        if values:
            note = self.prompts.note("earlier_value", view.turn["language"], values=", ".join(sorted(values)))
            ranking["issues"] = [*ranking["issues"], note]
        return Change(stay, ranking=ranking, why=why)

    async def _nearness(self, view: View, pairs: Sequence[tuple[Ref, SourceResult]]) -> dict[str, dict[str, list[int]]]:
        """By what is asked and key the nearness of the sentences of what was found by vectors, for `quotes`. Of other
        evidence the embedding model is told nothing."""
        fits = chain.from_iterable(entry["fits"].items() for entry in view.state["retrievals"].values())
        measured = {key for key, told in fits if "vector" in told}
        near = [(ref[0], one) for ref, one in pairs if not measured.isdisjoint(parts_of(view.ranking, ref[0]))]
        asked = standing_question(view.turn["question"], view.state["intent"])
        questions = dict.fromkeys([asked, *asked_parts(asked)])
        if not near or self.background is None:
            return {}
        told = partial(self.background.nearness, [*questions], near)
        paid: dict[str, dict[str, list[int]]] = (await paid_call("judge_evidence", view.refs, told))["nearness"]
        return paid

    async def _as_judged(self, view: View, asked: str) -> Named:
        """What gives evidence as it is judged: with the values that `asked` names, and cosines of any model alike."""
        fits = chain.from_iterable(entry["fits"].values() for entry in view.state["retrievals"].values())
        measured = self.background is not None and any("vector" in one for one in fits)
        mean = await self.background.mean() if self.background and measured else 0.0

        def as_judged(results: Sequence[SourceResult]) -> list[SourceResult]:
            alike = comparable(results, mean) if mean else [*results]
            return with_values(self._fields, asked, alike) if self._fields else alike

        return as_judged

    def _of_others(self, view: View, asked: str, found: Sequence[SourceResult]) -> tuple[set[int], frozenset[str]]:
        """The places of what is of another value than is meant, and the values that only the conversation names."""
        if out := left_out(self._fields, [asked], found):
            return set(out), frozenset()
        before = asked_before(view.state.get("messages", []), view.turn, self.settings.intent.max_context_turns)
        out = left_out(self._fields, [asked, *(one.said for one in reversed(before))], found)
        return set(out), frozenset[str]().union(*out.values())

    @property
    def _fields(self) -> Sequence[str]:
        """By which passages are told apart."""
        asks = self.settings.synthesis.ask_back
        return asks.fields if asks else ()

    def _ranking(self, view: View, held: _Judgement, worth: Worth, *, found: bool) -> Ranking:
        style = "structured" if found and worth == "closest" else self._style(view, found=found)
        ranking: Ranking = {
            **view.ranking, "answerable": _told_chance(held, view), "style": style, "doubt": None, "doubted": None,
            "insufficient": False,
        }  # fmt: skip
        if worth != "to_read" and self._is_open(held):
            # A model could only make the number up.
            ranking |= {"needs": held.needs, "style": "structured" if found else None}
        if not found:
            ranking["clusters"] = []
        elif worth != "answer":
            ranking |= {"doubt": _missing(held, view), "insufficient": True}
        elif held.decides:
            ranking |= self._doubts(held, view)
        elif self.settings.retrieval.doubt_threshold > 0:
            ranking |= self._doubt_of_part(held)
        return ranking

    def _doubts(self, held: _Judgement, view: View) -> Any:
        """What changes where the evidence may not answer what is asked: it hardly does, or lacks a name of it. Told is
        too by which wording of a model it was found that shares too little with the question itself."""
        threshold, language = self.settings.retrieval.doubt_threshold, view.state["turn"]["language"]
        told: dict[str, Any] = {}
        if not self._good_enough(held.own_chance):
            note = self.prompts.note("other_words", language, wording=held.asked)
            told["issues"] = [*view.ranking["issues"], note]
        lacking = lacks_name(held.own, held.results, language) or lacks_much(question_of(held.asked), held.results)
        if held.chance < threshold or (threshold > 0 and lacking):
            told["doubt"] = _missing(held, view)
        elif threshold > 0:
            told |= self._doubts_of_pieces(held, view)
        return told

    def _least_stated(self, needs: Sequence[Needs]) -> float:
        """How likely other evidence has to answer, to be the answer though a source did not understand the question:
        a table that is named may not be meant, unless something has to be computed."""
        computing = any(one["function"] != "rows" for one in needs)
        return self.settings.retrieval.doubt_threshold if computing else self.least[False]

    def _doubts_of_pieces(self, held: _Judgement, view: View) -> Any:
        """What changes where the words of the question stand in pieces that still do not answer it: in rows that it
        does not tell apart, of a thing with another number, not for each of its parts, or apart from what it leans on.
        """
        if lacking := of_numbered(question_of(view.turn["question"]), held.results).apart:
            return {"doubt": lacking}
        if unanswered := self._doubt_of_part(held):
            return unanswered
        if apart := _apart(view, held.results):
            return {"doubt": apart.words, "doubted": None if apart.lacking else "apart"}
        return self._doubts_of_rows(held, view)

    def _doubts_of_rows(self, held: _Judgement, view: View) -> Any:
        in_table = any(one.metadata.keys() & _IN_TABLE for one in held.results)
        # "Who are they?" asks for no number, though it is judged by the question that counted them.
        counts = not asks_for_name_or_time(question_of(view.turn["question"]))
        if in_table and (rows := row_doubt(held.asked, held.results)) and (counts or rows.why != "by_computing"):
            return {"doubt": rows.names, "doubted": rows.why}
        on_pages = any("page" in one.metadata for one in held.results)
        if on_pages and asks_to_compare_figures(held.asked, held.results):
            return {"doubt": [], "doubted": "by_computing"}
        return {"doubted": "by_number"} if counts and asks_for_number(held.asked) else {}

    def _doubt_of_part(self, held: _Judgement) -> Any:
        """What changes where the evidence hardly answers one of several questions in the message by itself."""
        part = next((part for part, chance in held.parts.items() if not self._good_enough(chance)), "")
        return {"doubt": [without_connective(part).strip(" ?.,;")], "doubted": "by_part"} if part else {}

    def _good_enough(self, chance: float) -> bool:
        return chance >= self.least[self.reader == "caller"]

    def _worth(self, view: View, held: _Judgement) -> Worth:
        """What the evidence is worth. Who reads is given some that would not be quoted as an answer: the judgement
        only compares words, and a model can say that nothing is answered."""
        good = not held.decides or self._good_enough(held.chance)
        computes = self._is_open(held)
        if good and not computes:
            return "answer"
        parts = parting_words(view.state["turn"]["question"], self.settings.fast_path.recognised)
        reads = self.reader == "model" and not parts and self._style(view, found=True) != "structured"
        # Without a threshold there may be no text beside the rows.
        if reads and held.read >= self.least[True] and (held.read or not computes):
            return "to_read"
        return "answer" if good else "closest"

    def _is_open(self, held: _Judgement) -> bool:
        """Whether something would have to be computed that no source did, and no other evidence states."""
        return bool(held.needs) and held.stated < self._least_stated(held.needs)

    def _shows_closest(self, view: View) -> bool:
        """Whether evidence that is not good enough is shown: something was asked, no model may answer without it, no
        source was down, and no template of the user's would take it for an answer."""
        synthesis = self.settings.synthesis
        own = synthesis.template or synthesis.provenance_template
        parts = parting_words(view.state["turn"]["question"], self.settings.fast_path.recognised)
        return not own and not parts and _is_uncovered(view) and self._style(view, found=False) is None

    def _style(self, view: View, *, found: bool) -> str | None:
        """The style; None when there is nothing to write from.

        Without evidence nothing is written, unless a model may answer from general knowledge and it is certain that the
        sources do not cover the question. None is asked to greet from it.
        """
        if found:
            return asked_style(view.state["intent"], view.state.get("metadata", {}), view.options)
        if view.turn["small_talk"]:
            return None
        may_invent = self.reader == "model" and view.options.allow_parametric is True
        return "conversational" if may_invent and _is_uncovered(view) else None


def _missing(held: _Judgement, view: View) -> list[str]:
    """The words of the question that nothing which was found holds; a day may be written as in any of its forms."""
    forms = [held.asked, *(one for one in view.state["intent"]["text_queries"] if only_days_differ(one, held.asked))]
    return min((missing_words(question_of(form), held.shown) for form in forms), key=len)


def _is_uncovered(view: View) -> bool:
    """Whether the sources do not cover the question: they answered, and not just for want of a filter."""
    retrievals = view.state["retrievals"].values()
    return absence_outcome(retrievals) == "insufficient" and not all(map(lacks_filter, retrievals))


def _told_chance(held: _Judgement, view: View) -> float:
    """How likely the evidence answers the question: what a source read as a whole, whatever words its rows have."""
    is_read = not held.decides and not view.ranking["divider"] and len(held.parts) < 2
    return 1.0 if is_read else round(held.chance, 4)


# An answer, something that only a model may find an answer in, or no more than what comes closest.
Worth = Literal["answer", "to_read", "closest"]
# Gives evidence as it is judged.
Named = Callable[[Sequence[SourceResult]], list[SourceResult]]


@dataclass(frozen=True)
class _Judgement:
    """What the evidence is worth.

    Attributes:
        results: the evidence itself.
        own: the form of the question that it answers best, or in place of a model's wording the user's own.
        asked: the form of the question that it answers best.
        chance: how likely it does.
        own_chance: how likely it answers the user's own.
        decides: whether the chance decides if it stays.
        needs: what else was found: what says only that a number would have to be computed, and no source did.
        stated: how likely evidence of a source that says no such thing answers the question.
        read: the same, should a model read it.
        computing: the sources that say so.
        parts: of several questions in the message, how likely each is answered.
        shown: the evidence with what tells of other things than are asked about: a word that it holds is not missing.
    """

    results: list[SourceResult]
    own: str
    asked: str
    chance: float
    own_chance: float
    decides: bool
    needs: list[Needs]
    stated: float
    read: float
    computing: frozenset[str]
    parts: Mapping[str, float] = field(default_factory=dict)
    shown: Sequence[SourceResult] = ()


def _judgement(view: View, known: Sequence[tuple[Ref, SourceResult]], named: Named) -> _Judgement:
    found = [result for _, result in known]
    evidence = _without_needs(known)
    computed = [result for _, result in evidence if result.metadata.get("computed")]
    asking = [
        result for result in found if result.metadata.get(NEEDS) and not any(_meets(one, result) for one in computed)
    ]
    fitting = {question: named(_with_fits(evidence, view, question)) for question in _judged_questions(view.state)}
    language = view.state["turn"]["language"]
    leans = _leans(view.state)
    # Behind something that was said a question may name nothing by itself.
    begins = not recent_conversation(view.state.get("messages", []), view.turn, 1)
    message = _searched(view.state)
    standing = standing_question(view.state["turn"]["question"], view.state["intent"])
    chances = {
        question: 0.0
        if (question not in message and _strays(question, standing, fits)) or (begins and says_nothing(question))
        else _chance(question, fits, language, leans)
        for question, fits in fitting.items()
    }
    asked = max(chances, key=lambda question: chances[question])
    results = fitting[asked]
    # Rows are no answer where their own source says that something would have to be computed over them.
    computing = frozenset(result.source_name for result in asking)
    others = [result for result in results if result.source_name not in computing] if computing else results
    if any(result.metadata["needs"] == "exclusion" for result in asking):
        # What a text says of something is not for which rows it does not hold.
        others = []
    read = _chance(asked, others, language, leans) if computing else chances[asked]
    # What would have to be computed is not stated where a third of the question is missing.
    stated = 0.0 if computing and lacks_much(asked, others) else read
    own, own_chance = asked, chances[asked]
    if asked not in message and _is_by_model(view.state["intent"], asked):
        fits = named(_with_fits(evidence, view, standing))
        own, own_chance = standing, max(chances.get(message, 0.0), _chance(standing, fits, language, leans))
    decides, needs = _decides(view, results), list(map(_needs, asking))
    return _Judgement(results, own, asked, chances[asked], own_chance, decides, needs, stated, read, computing)


def _parts(view: View, found: Sequence[tuple[Ref, SourceResult]], named: Named) -> dict[str, float]:
    """How likely each of several questions in the message is answered by what was `found`. One that names nothing is
    left out, and one that computes where a source says what was or would have to be computed."""
    every = questions_in(view.turn["question"])
    if len(every) < 2:
        return {}
    computes = any(is_stated(result.metadata) or result.metadata.get(NEEDS) for _, result in found)
    parts = [part for part in every if own_words(part) and not (computes and find_cue([part]))]
    evidence = _without_needs(found)
    return {part: _chance_of_part(part, view, evidence, named) for part in parts}


def _without_needs(found: Sequence[tuple[Ref, SourceResult]]) -> list[tuple[Ref, SourceResult]]:
    return [(ref, result) for ref, result in found if not result.metadata.get(NEEDS)]


def _shown(found: Sequence[tuple[Ref, SourceResult]]) -> list[SourceResult]:
    return [result for _, result in _without_needs(found)]


def _chance_of_part(part: str, view: View, evidence: Sequence[tuple[Ref, SourceResult]], named: Named) -> float:
    results = [result for _, result in evidence]
    behind = of_numbered(part, results).others | without_name(part, results)
    own = [pair for at, pair in enumerate(evidence) if at not in behind]
    return _chance(part, named(_with_fits(own, view, part)), view.turn["language"], _leans(view.state))


def _searched(state: RankingInput) -> str:
    """The message as it was searched for."""
    return state["intent"]["rewritten"] or state["turn"]["question"]


def _is_by_model(intent: IntentState, wording: str) -> bool:
    """Whether a model put the question so; what a filter holds of the message need not stand in the text."""
    return not intent["filters"] and (intent["mode"] == "extract" or wording in reworded(intent))


def _strays(wording: str, question: str, results: Sequence[SourceResult]) -> bool:
    """Whether `wording`, a model's, names another thing than the `question`, or none of what the question names by
    number or code and `results` lack."""
    marks = marks_in(question)
    return names_another(wording, question) or (
        bool(marks) and marks.isdisjoint(marks_in(wording)) and lacks_code(question, results)
    )


def _chance(question: str, results: Sequence[SourceResult], language: str, leans: bool) -> float:
    """The chance that `results` answer `question`. The cosine of one that `leans` on the conversation tells nothing
    against them: what "And who pays for it?" is about stands in the question before it."""
    chance = answerable(question, results, language)
    if not leans or all("vector" not in result.scores for result in results):
        return chance
    by_words = [changed(result, scores=_without_cosine(result.scores)) for result in results]
    return max(chance, answerable(question, by_words, language))


def _without_cosine(scores: Mapping[str, float]) -> Mapping[str, float]:
    return {name: score for name, score in scores.items() if name != "vector"}


def _leans(state: RankingInput) -> bool:
    """Whether what was asked before was searched for beside the message."""
    intent = state["intent"]
    asked = _searched(state)
    return intent["mode"] == "message" and any(query not in asked for query in intent["text_queries"][:1])


def _leaning(state: RankingInput) -> set[str]:
    """The keys of what was found for the message behind what it leans on."""
    asked = state["intent"]["text_queries"][0]
    return {ref[0] for entry in state["retrievals"].values() if entry["query"] == asked for ref in entry["refs"]}


def _elsewhere(view: View, found: Sequence[SourceResult]) -> set[int]:
    """The places of what is of another document than the one that was cited. What a source states, or says that it
    would have to compute, it read out of the whole conversation."""
    if any(is_stated(result.metadata) or result.metadata.get(NEEDS) for result in found):
        return set()
    cited = cited_before(view.state.get("messages", []), view.turn)
    return found_elsewhere(question_of(view.turn["question"]), found, cited)


def _apart(view: View, results: Sequence[SourceResult]) -> Apart | None:
    """What the message of the turn names apart from the questions that it leans on; None where it leans on none."""
    turn = view.turn
    if not question_behind(turn["question"], view.state["intent"]):
        return None
    messages = view.state.get("messages", [])
    cited = cited_before(messages, turn) if holds_pronoun(turn["question"]) else set[tuple[str, str]]()
    return stands_apart(question_of(turn["question"]), leaned_on(messages, turn), results, cited)


def _judged_questions(state: RankingInput) -> list[str]:
    """The forms of the question against which the evidence is held.

    A model may have put the question in other words, in the language of the documents for example. What was only asked
    before may add evidence, but never makes an answer, unless the message has no words of its own.
    """
    intent = state["intent"]
    question = state["turn"]["question"]
    queries = intent["text_queries"]
    asked = _searched(state)
    if _leans(state):
        own = [query for query in queries if query in asked]
        # What was quoted last holds its own words, so nothing is judged by them.
        return list(dict.fromkeys([asked, *own, *reworded(intent)])) if own_words(asked) else [queries[0]]
    return list(dict.fromkeys([question, *queries, *reworded(intent)]))


def _meets(computed: SourceResult, asking: SourceResult) -> bool:
    """Whether `computed` is what `asking` says is needed: another query of the turn may have said it better."""
    own, needed = computed.metadata, asking.metadata["needs"]
    return computed.source_name == asking.source_name and (bool(own.get("proposed")) or own.get("function") == needed)


def _needs(result: SourceResult) -> Needs:
    """What a result says would have to be computed."""
    told = result.metadata
    needs: Needs = {"function": str(told["needs"]), "tables": list(told["tables"])}
    if told.get("unread"):
        needs["unread"] = list(told["unread"])
    if told.get("quantity"):
        needs["quantity"] = str(told["quantity"])
    return needs


def _decides(view: View, results: Sequence[SourceResult]) -> bool:
    """Whether the chance decides: a number that was computed, or rows that were asked for as such, are the answer, and
    facts of the state are told as such."""
    return not view.ranking["divider"] and not any(is_stated(result.metadata) for result in results)


def _with_fits(evidence: Sequence[tuple[Ref, SourceResult]], view: View, question: str) -> list[SourceResult]:
    """The evidence with what its sources told of how well it fits `question`, which is nothing where that was not
    searched for; a joined piece has the best of its chunks. How relevant it is to other words is no sign of an
    answer."""
    own = [entry for entry in view.state["retrievals"].values() if entry["query"] == question]
    found = {ref[0] for entry in own for ref in entry["refs"]}
    told: dict[str, Mapping[str, float]] = {}
    for key, fits in chain.from_iterable(entry["fits"].items() for entry in own):
        told[key] = _better(told[key], fits) if key in told else fits
    fitting = []
    for ref, result in evidence:
        parts = parts_of(view.ranking, ref[0])
        relevance = 0.0 if found.isdisjoint(parts) else result.relevance
        if not told and relevance == result.relevance:
            # As it was read: nothing is known of it but its relevance.
            fitting.append(result)
            continue
        scores = reduce(_better, [told[part] for part in parts if part in told], _NOTHING_TOLD)
        fitting.append(changed(result, relevance=relevance, scores=scores))
    return fitting


_NOTHING_TOLD: Mapping[str, float] = {}


def _better(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    """Of each number the higher."""
    return {**one, **{name: max(value, one.get(name, value)) for name, value in other.items()}} if one else other


# How alike an embedding model holds texts that have nothing to do with each other.
#
# Whether a cosine tells that a passage answers depends on the model: what is unrelated has 0.03 with all-MiniLM-L6-v2,
# and 0.7 or more with models such as E5 or text-embedding-ada-002.

# The mean cosine of the sentences with all-MiniLM-L6-v2, for whose cosines the estimate was fitted; and means between
# which those of another model are moved. One that holds everything to be the same tells nothing to move.
FITTED, LEAST, MOST = 0.03, 0.1, 0.98

_logger = logging.getLogger(__name__)


class BackgroundCosine:
    """The mean cosine of unrelated sentences by one embedding model, measured with the first answer that needs it: one
    call of eight short texts.

    Args:
        embedder: the model.
        limit: seconds for each call.
    """

    def __init__(self, embedder: Embedder, limit: float) -> None:
        self._embedder, self._limit = embedder, limit
        self._mean: float | None = None

    async def mean(self) -> float:
        """The mean cosine; 0 where the model cannot be asked now, and then it is asked again with the next answer."""
        if self._mean is None:
            self._mean = await self._measured()
        return self._mean or 0.0

    async def _measured(self) -> float | None:
        try:
            unrelated = list(language_data("en", "unrelated"))
            rows = await within_turn(self._limit, self._embedder.embed_texts(unrelated))
        except Exception as error:  # whatever a provider raises: the estimate is only less sure without it
            _logger.info("The background of the embedding model's cosines could not be measured: %s", error)
            return None
        count = len(rows)
        return (float((rows @ rows.T).sum()) - count) / (count * (count - 1))

    async def nearness(self, questions: Sequence[str], pieces: Sequence[tuple[str, SourceResult]]) -> dict[str, Any]:
        """As `nearness` that of `pieces`, the best first and each with its key, to each of `questions`: as far as there
        is room for their sentences, and none where the model cannot be asked now."""
        texts, places = _sentences_in(pieces)
        if not texts:
            return {"nearness": {}}
        mean = await self.mean()
        try:
            cosines = await within_turn(self._limit, self._embedder.cosines(questions, texts))
        except Exception as error:  # whatever a provider raises: what is quoted is told by words then
            _logger.info("The sentences of the evidence could not be embedded: %s", error)
            return {"nearness": {}}
        alike = ([round(1000 * _as_fitted(float(one), mean)) for one in row] for row in cosines)
        by_key = ({key: row[place] for key, place in places.items()} for row in alike)
        return {"nearness": dict(zip(questions, by_key, strict=True))}


def _sentences_in(pieces: Sequence[tuple[str, SourceResult]]) -> tuple[list[str], dict[str, slice]]:
    """The sentences of as many of `pieces` as there is room for, and by key where those of each stand among them."""
    texts: list[str] = []
    places: dict[str, slice] = {}
    for key, piece in pieces:
        own = [piece.content[one.start : one.end] for one in sentences_of(piece.content, running_lines(piece))]
        if own and len(texts) + len(own) <= MOST_SENTENCES:
            places[key] = slice(len(texts), len(texts) + len(own))
            texts += own
    return texts, places


def comparable(results: Sequence[SourceResult], mean: float) -> list[SourceResult]:
    """`results` with their cosines as all-MiniLM-L6-v2 would have them: what is unrelated, whose cosine is the `mean`,
    at the same place, and the same text at 1; their relevance, which such a cosine may have made, likewise."""
    return [_rescaled(result, mean) for result in results] if LEAST < mean < MOST else [*results]


def _as_fitted(cosine: float, mean: float) -> float:
    return FITTED + (cosine - mean) * (1 - FITTED) / (1 - mean) if LEAST < mean < MOST else cosine


def _rescaled(result: SourceResult, mean: float) -> SourceResult:
    if "vector" not in result.scores:
        return result
    cosine, relevance = (_as_fitted(value, mean) for value in (result.scores["vector"], result.relevance))
    return changed(result, relevance=max(0.0, relevance), scores={**result.scores, "vector": cosine})
