"""The messages that a model is given to write an answer from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from groundgraph.answers.citations import reference
from groundgraph.answers.conversation import as_said
from groundgraph.answers.reply_gates import ABSTENTION
from groundgraph.answers.structured_answer import AnswerTemplates, structured_draft, template_variables
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import ClusterValue, Divider, Doubted, Draft, Flag, ModelCall, Needs, Turn
from groundgraph.models.replies import prompt_messages
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Options

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# What an answer is to be written from.


def answer_id(turn: Turn) -> str:
    """The id of the turn's answer message."""
    return f"answer-{turn['id']}"


@dataclass(frozen=True)
class Correction:
    """What a model wrote before, with the labels that it knows, and what is wrong with it."""

    earlier: str
    faults: Sequence[Flag]


@dataclass(frozen=True)
class Assignment:
    """What is to be written: everything but the model.

    `doubt`, `insufficient` and `needs` are those of the ranking.
    """

    turn: Turn
    options: Options
    evidence: Sequence[SourceResult]
    conversation: Sequence[BaseMessage]
    metadata: Mapping[str, Any]
    intent: Mapping[str, Any]
    calls: Sequence[ModelCall]
    prefix: str = ""
    suffix: str = ""
    clusters: Sequence[ClusterValue] = ()
    divider: Divider | None = None
    correction: Correction | None = None
    doubt: Sequence[str] | None = None
    doubted: Doubted | None = None
    insufficient: bool = False
    needs: Sequence[Needs] = ()

    @property
    def asked_for_style(self) -> bool:
        """Whether this turn or its session names a style, so that it is not just the configured one."""
        return bool(
            self.turn["options"].get("style") or self.intent.get("output_style") or self.metadata.get("synthesis_style")
        )

    @property
    def opening(self) -> str:
        """The reply to a message that is nothing but small talk, empty for every other."""
        return self.turn["small_talk"]["text"] if self.turn["small_talk"] else ""

    def variables(self, templates: AnswerTemplates) -> dict[str, Any]:
        """What `templates` are given: of the evidence no more than the built-in ones print, unless the user has own."""
        return template_variables(
            self.evidence,
            message=self.turn["question"],
            metadata=self.metadata,
            intent=self.intent,
            citation_format=self.options.citation_format,
            clusters=self.clusters,
            divider=self.divider,
            whole=templates.has_own,
            insufficient=self.insufficient,
        )

    def structured(self, templates: AnswerTemplates, *, listed: bool = False) -> Draft:
        """The structured answer; with `listed`, what was found besides its quotes stands below it."""
        return structured_draft(
            templates,
            self.variables(templates),
            self.turn["language"],
            opening=self.opening,
            doubt=self.doubt,
            doubted=self.doubted,
            needs=self.needs,
            listed=listed,
        )


def answer_messages(
    prompts: Prompts,
    options: Options,
    turn: Turn,
    evidence: Sequence[SourceResult],
    conversation: Sequence[BaseMessage],
    *,
    token_limit: int,
    clusters: Sequence[ClusterValue] = (),
    divider: Divider | None = None,
    per_source: bool = False,
    model: BaseChatModel | None = None,
) -> tuple[list[BaseMessage], int] | None:
    """System prompt, conversation, evidence and question; and how many pieces of evidence did not fit `token_limit`.

    With `per_source` the evidence of each source is a message of its own, in the order of their first pieces.

    When they are too many tokens, the conversation goes first, then evidence from the end. None when even the first
    piece of evidence does not fit: an answer without it would be made up.

    The same turn gives the same bytes, whenever and wherever it is resumed: nothing here depends on a clock or on the
    order of a set, and the fence around the evidence is the turn's.
    """
    earlier = [as_said(message) for message in conversation]
    system = _system_text(prompts, options)
    # Mid-size models forget a line of the system prompt behind so much evidence.
    reminder = prompts.render("answer_reminder", require_citations=options.require_citations).strip()
    shown = len(evidence)
    while True:
        blocks = _evidence_blocks(prompts, options, turn, evidence[:shown], clusters, divider, per_source=per_source)
        blocks[-1] += f"\n\n{reminder}"
        messages = prompt_messages(system, *blocks, turn["question"], before=earlier, model=model, name="evidence")
        from groundgraph.models.call_model import tokens_of

        excess = tokens_of(messages) - token_limit
        if excess <= 0:
            return messages, len(evidence) - shown
        if earlier:
            earlier = earlier[2:]
        elif shown <= 1:
            return None
        else:
            shown = max(1, _fewer(evidence, shown, excess))


def _fewer(evidence: Sequence[SourceResult], shown: int, excess: int) -> int:
    """How many pieces remain when about `excess` tokens are taken from the end; at least one less than `shown`."""
    while excess > 0 and shown > 0:
        shown -= 1
        excess -= max(1, len(evidence[shown].content) // 4)
    return shown


def _system_text(prompts: Prompts, options: Options) -> str:
    return prompts.render(
        "answer_system",
        require_citations=options.require_citations,
        citation_format=options.citation_format,
        allow_parametric=options.allow_parametric,
        abstention="" if options.allow_parametric is True else ABSTENTION,
        instruction=options.instruction,
    ).strip()


def _evidence_blocks(
    prompts: Prompts,
    options: Options,
    turn: Turn,
    evidence: Sequence[SourceResult],
    clusters: Sequence[ClusterValue],
    divider: Divider | None,
    *,
    per_source: bool,
) -> list[str]:
    labelled = list(enumerate(evidence, 1))
    names = dict.fromkeys(result.source_name for result in evidence) if per_source else {}
    blocks = [[(label, one) for label, one in labelled if one.source_name == name] for name in names] or [labelled]
    return [_evidence_text(prompts, options, turn, block, clusters, divider) for block in blocks]


def _last_shown(cluster: ClusterValue, shown: int) -> int:
    """The label behind which a cluster closes; one of which the token limit cut off the end, behind what is left."""
    return max((label for label in cluster["labels"] if label <= shown), default=cluster["labels"][0])


def _dividing(divider: Divider | None, evidence: Sequence[tuple[int, SourceResult]]) -> dict[int, str]:
    """The line of `divider` by the label that it stands before, if any of `evidence` stands behind it."""
    behind = [label for label, _ in evidence if divider and label > divider["at"]]
    return {behind[0]: divider["text"]} if divider and behind else {}


def _evidence_text(
    prompts: Prompts,
    options: Options,
    turn: Turn,
    evidence: Sequence[tuple[int, SourceResult]],
    clusters: Sequence[ClusterValue],
    divider: Divider | None,
) -> str:
    opens = {one["labels"][0]: one for one in clusters}
    closes = {_last_shown(one, len(evidence)) for one in clusters}
    dividing = _dividing(divider, evidence)
    passages = [
        {
            "label": label,
            "divider": dividing.get(label, ""),
            "source_name": result.source_name,
            "reference": reference(result, options.citation_format),
            "text": result.content,
            "opens": opens.get(label),
            "closes": label in closes,
        }
        for label, result in evidence
    ]
    return prompts.render(
        "answer_evidence",
        # A turn that an earlier version began has its id alone.
        fence=turn["fence"] or turn["id"],
        passages=passages,
        citation_format=options.citation_format,
    ).strip()
