"""One object that a chat model is asked for: by its structured output where it has that, elsewhere in its text."""

from __future__ import annotations

import inspect
import json
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langgraph.constants import TAG_NOSTREAM

from groundgraph.core.failure import status_code
from groundgraph.models.replies import in_turns
from groundgraph.prompts import Prompts

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

QUIET: Any = {"tags": [TAG_NOSTREAM]}
TEXT = "text"
# What a package takes for the best form, where nothing is known of the model.
OWN = "own"
_BY_PROFILE = (("structured_output", "json_schema"), ("tool_calling", "function_calling"))
# A model, or a server, that does not have a form says so by one of these.
_NOT_THAT_WAY = (400, 404, 405, 415, 422, 501)
# Of each model that is in use, how many of its forms it has refused.
_refused: dict[int, int] = {}


def forms_of(model: BaseChatModel) -> list[str]:
    """The ways to ask `model` for an object, the best first: a native schema, a call of a tool, JSON mode, its text.

    They are those of its profile; where LangChain has none, the way that its package holds to be best comes first.
    """
    taken = inspect.signature(type(model).with_structured_output).parameters.get("method")
    methods = str(taken.annotation) if taken else ""
    profile = getattr(model, "profile", None) or {}
    own = [name if name in methods else OWN for key, name in _BY_PROFILE if profile.get(key)]
    first = list(dict.fromkeys(own)) if profile else [OWN]
    return [*first, *(["json_mode"] if "json_mode" in methods else []), TEXT]


def form_of(model: BaseChatModel) -> str:
    """The form that `model` is asked in now: the first that it has not refused."""
    return forms_of(model)[_refused.get(id(model), 0)]


async def ask_for_object(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    schema: dict[str, Any],
    prompts: Prompts | None,
    **options: Any,
) -> AIMessage:
    """The reply of `model` to `messages`, as it came.

    What a form is refused with is remembered for as long as the model lives; what only this prompt is refused with,
    whatever is asked for, is an error of its own.

    Args:
        model: is asked.
        messages: begin with the instructions, which say nothing of the form.
        schema: JSON schema of the object, with a title; it is written into the prompt only where no other way is left.
        prompts: the prompt files; None where the instructions say themselves how to put it in a text.
        options: of the call.
    """
    forms, messages = forms_of(model), in_turns(messages)
    first = _refused.get(id(model), 0)
    for number, form in enumerate(forms[first:-1], first):
        bound = _structured(model, schema, form)
        if bound is None or (form == "json_mode" and prompts is None):
            continue
        try:
            asked = with_schema(messages, schema, prompts) if form == "json_mode" and prompts else list(messages)
            reply: AIMessage = (await bound.ainvoke(asked, QUIET, **options))["raw"]
        except Exception as error:
            if status_code(error) not in _NOT_THAT_WAY:
                raise
        else:
            _remember(model, number)
            return reply
    said = await model.ainvoke(with_schema(messages, schema, prompts) if prompts else messages, QUIET, **options)
    _remember(model, len(forms) - 1)
    return said


def list_schema(key: str, items: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that is a list under `key` and nothing else."""
    own = {
        "type": "object",
        "properties": {key: {"type": "array", "items": dict(items)}},
        "additionalProperties": False,
    }
    return {"title": key, "description": f"The {key} that were asked for.", **own, "required": [key]}


def listed_in(reply: AIMessage, key: str) -> list[Any] | None:
    """The list in a reply that keeps to `list_schema`; None for every other, which is read as a text."""
    try:
        given = reply.tool_calls[0]["args"] if reply.tool_calls else json.loads(reply.text)
    except (ValueError, RecursionError):
        return None
    found = given.get(key) if isinstance(given, dict) and set(given) == {key} else None
    return found if isinstance(found, list) else None


def text_of(reply: AIMessage) -> str:
    """What a reply says: its text, else what it calls a tool with."""
    said = str(reply.text)
    return said if said.strip() or not reply.tool_calls else json.dumps(reply.tool_calls[0]["args"], ensure_ascii=False)


def _structured(model: BaseChatModel, schema: dict[str, Any], form: str) -> Any:
    """The model bound to `schema`, None when it cannot be."""
    method = {} if form == OWN else {"method": form}
    try:
        return model.with_structured_output(schema, include_raw=True, **method)
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return None


def with_schema(messages: Sequence[BaseMessage], schema: dict[str, Any], prompts: Prompts) -> list[BaseMessage]:
    """`messages`, which begin with the instructions, with the schema at the end of the instructions."""
    shown = json.dumps(schema, ensure_ascii=False, default=str)
    said = prompts.render("reply_in_json", schema=shown).strip()
    return [SystemMessage(f"{messages[0].text}\n\n{said}"), *messages[1:]]


def _remember(model: BaseChatModel, number: int) -> None:
    if number and id(model) not in _refused:
        weakref.finalize(model, _refused.pop, id(model), None).atexit = False
    if number:
        _refused[id(model)] = number
