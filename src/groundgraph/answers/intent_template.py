"""Template intents: Jinja2 to YAML to an intent, with the user's words kept out of the YAML.

While the template renders, each printed value is replaced by an opaque token of letters and digits; the YAML is parsed
with the tokens in it, and only then are the values put back into the parsed scalars. So a message can never become YAML
syntax, wherever the template prints it, quoted or not.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import UnionType
from typing import Any

import yaml
from jinja2 import Environment, Template, pass_context
from jinja2.runtime import Context as JinjaContext
from jinja2.runtime import Undefined

from groundgraph.core.errors import IntentInvalid, TemplateInvalid
from groundgraph.core.intent import EMPTY_INTENT, SCOPES, STYLES, IntentState
from groundgraph.text.templates import Sandbox, compile_template, render

_KEYS = ("text_queries", "filters", "scope", "output_style", "categories", "topic_index")
_VALUES = "_printed_values"


class _Printed:
    """The values printed during one rendering, by token."""

    def __init__(self) -> None:
        # Random per rendering, so that no message can contain a token.
        self.nonce = f"v{secrets.token_hex(8)}n"
        self.values: list[Any] = []

    def token(self, value: Any) -> str:
        self.values.append(value)
        return f"{self.nonce}{len(self.values) - 1}z"

    def restore(self, text: str) -> Any:
        """`text` with its tokens replaced; a text that is one token becomes the value itself."""
        pattern = re.compile(f"{self.nonce}(\\d+)z")
        whole = pattern.fullmatch(text)
        if whole:
            value = self.values[int(whole.group(1))]
            return self.restore(value) if isinstance(value, str) and self.nonce in value else value
        restored = pattern.sub(lambda found: str(self.values[int(found.group(1))]), text)
        return self.restore(restored) if pattern.search(restored) else restored


@pass_context
def _print_token(context: JinjaContext, value: Any) -> Any:
    if isinstance(value, Undefined):
        return value
    printed: _Printed = context[_VALUES]
    return printed.token(str(value) if isinstance(value, str) else value)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Sandbox(finalize=_print_token)
    # Escaping for YAML is what these are used for in documented templates; here nothing needs it.
    environment.filters["tojson"] = lambda value: value
    environment.filters["e"] = environment.filters["escape"] = lambda value: value
    return environment


def compile_intent_template(source: str) -> Template:
    """The compiled template of an intent.

    Raises:
        TemplateInvalid: see `compile_template`.
    """
    return compile_template(source, key="intent.template", environment=_environment())


def render_intent(
    template: Template, *, message: str, metadata: Mapping[str, Any], scope: str = "focused"
) -> IntentState:
    """The intent that the template renders to; `scope` is that of a template which names none.

    Raises:
        IntentInvalid: the output is no YAML mapping, or a key or value in it is not one of an intent.
    """
    printed = _Printed()
    variables = {"message": message, "metadata": dict(metadata), _VALUES: printed}
    try:
        text = render(template, variables, key="intent.template")
    except TemplateInvalid as error:
        raise IntentInvalid(f"The intent template failed: {error}") from error
    # For messages: whoever wrote the template knows its values, and no token.
    shown = str(printed.restore(text))
    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError as error:
        told = printed.restore(_without_excerpt(error))
        raise IntentInvalid(f"The intent template did not render to YAML: {told}", rendered=shown) from error
    if not isinstance(parsed, dict):
        raise IntentInvalid("The intent template must render to a mapping with 'text_queries'.", rendered=shown)
    return _to_intent(_restored(parsed, printed, shown), shown, scope)


def _without_excerpt(error: yaml.YAMLError) -> str:
    """What is wrong, without the excerpt of the text, in which a long token is cut off and could not be restored."""
    mark = getattr(error, "problem_mark", None)
    told = [getattr(error, "context", None), getattr(error, "problem", None) or getattr(error, "reason", None)]
    place = f" (line {mark.line + 1})" if mark else ""
    return ", ".join(filter(None, told)) + place or type(error).__name__


def _restored(value: Any, printed: _Printed, text: str) -> Any:
    if isinstance(value, str):
        restored = printed.restore(value)
        if isinstance(restored, str) and printed.nonce.casefold() in restored.casefold():
            raise IntentInvalid(
                "The intent template changes printed values in a block; use a filter inside {{ }} instead.",
                rendered=text,
            )
        return restored
    if isinstance(value, list):
        return [_restored(item, printed, text) for item in value]
    if isinstance(value, dict):
        if any(printed.nonce in str(key) for key in value):
            raise IntentInvalid("The intent template prints a value where a key stands.", rendered=text)
        return {str(key): _restored(item, printed, text) for key, item in value.items()}
    return value


def _to_intent(parsed: dict[str, Any], text: str, default_scope: str) -> IntentState:
    given = {"text_queries": None, "output_style": None, **parsed}
    for name, default in (("filters", {}), ("categories", []), ("scope", default_scope)):
        given[name] = parsed.get(name) or default
    problem = next(_problems(given), None)
    if problem:
        raise IntentInvalid(problem, rendered=text)
    return {
        **EMPTY_INTENT,
        "mode": "template",
        "text_queries": [str(query) for query in given["text_queries"] if str(query).strip()],
        "filters": given["filters"],
        "scope": given["scope"],
        "output_style": given["output_style"],
        "categories": list(map(str, given["categories"])),
        "raw_data": {key: value for key, value in parsed.items() if key == "topic_index"},
    }


def _problems(given: dict[str, Any]) -> Iterator[str]:
    """What keeps a mapping, whose defaults are filled in, from being an intent."""
    unknown = sorted(set(given) - set(_KEYS))
    if unknown:
        yield f"An intent has no {', '.join(unknown)}. Known: {', '.join(_KEYS)}."
    queries, filters = given["text_queries"], given["filters"]
    if not _is_list_of(queries, str | int | float):
        yield "'text_queries' must be a list of texts."
    if not isinstance(filters, dict) or not _is_list_of(list(filters.values()), dict):
        yield "'filters' must map source names to fields."
    if given["scope"] not in SCOPES or given["output_style"] not in (None, *STYLES):
        yield f"'scope' is one of {SCOPES}, 'output_style' one of {STYLES}."
    if not isinstance(given["categories"], list):
        yield "'categories' must be a list of names."


def _is_list_of(value: Any, kinds: type | UnionType) -> bool:
    return isinstance(value, list) and all(isinstance(one, kinds) for one in value)
