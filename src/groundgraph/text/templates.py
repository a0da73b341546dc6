"""Jinja2 in a sandbox that a template can neither leave nor exhaust.

Undefined names are errors, attributes that begin with an underscore are out of reach, values cannot be changed, texts
cannot be multiplied or padded to any length, and the output ends at one million characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, wraps
from typing import Any

from jinja2 import (
    BaseLoader,
    Environment,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateSyntaxError,
    meta,
    nodes,
    pass_environment,
    pass_eval_context,
)
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.filters import do_indent, do_tojson, do_wordwrap, make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.runtime import Context as JinjaContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from groundgraph.core.errors import Problem, TemplateInvalid

MAX_OUTPUT_CHARS = 1_000_000
MAX_PAD = 1_000
_PADDING_METHODS = frozenset(
    {
        "center",
        "ljust",
        "rjust",
        "zfill",
        "expandtabs",
        "format",
        "format_map",
        "replace",
        "join",
        "translate",
        "encode",
    }
)
# Bits of the largest number that a template may compute.
_MAX_BITS = 4096
_WIDTH = re.compile(r"%(?:\([^()]*+\))?[-+ #0]*(\d+|\*)?(?:\.(\d+|\*))?")


RENDERING: dict[str, Any] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}


def _bounded_join(parts: Iterable[Any]) -> str:
    texts: list[str] = []
    length = 0
    for part in parts:
        texts.append(str(part))
        length += len(texts[-1])
        _require_bounded(length)
    return "".join(texts)


def _require_bounded(length: int) -> None:
    if length > MAX_OUTPUT_CHARS:
        raise SecurityError(f"the text would grow beyond {MAX_OUTPUT_CHARS} characters")


class _BoundedCode(CodeGenerator):
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """`a ~ b` by the environment's `concat`, as all that a template puts together."""
        self.write("environment.concat((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of every template that groundgraph renders."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})
    code_generator_class = _BoundedCode
    concat = staticmethod(_bounded_join)

    def __init__(self, loader: BaseLoader | None = None, finalize: Callable[..., Any] | None = None) -> None:
        super().__init__(loader=loader, finalize=finalize, **RENDERING)
        self.filters.update(format=_bounded_format, replace=_bounded_replace, indent=_bounded_indent)
        self.filters.update(tojson=_bounded_tojson, join=_join, wordwrap=_bounded_wordwrap)
        for name in ("center", "batch", "slice"):
            self.filters.pop(name)
        self.filters = {name: _bounded(one) for name, one in self.filters.items()}
        self.globals.pop("lipsum")

    def call_binop(self, context: JinjaContext, operator: str, left: Any, right: Any) -> Any:
        """Refuse to repeat texts and lists, to format texts by `%`, and powers that do not end."""
        if operator == "+":
            _require_bounded(sum(len(value) for value in (left, right) if isinstance(value, str | list | tuple)))
        elif not all(isinstance(value, int | float) for value in (left, right)):
            raise SecurityError(f"'{operator}' works on numbers only in a template")
        else:
            _require_small(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """As in Jinja2, and without the text methods that can make a text of any length."""
        if isinstance(obj, str | bytes) and attr in _PADDING_METHODS:
            return False
        return attr != "to_bytes" and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Nothing: Jinja2 would let `str.format` by, which pads to any width, before `is_safe_attribute` is asked."""


def _require_small(operator: str, left: float, right: float) -> None:
    if operator == "**" and (abs(right) > 64 or abs(left) > 1_000_000):
        raise SecurityError("this power is too large for a template")
    if operator == "*" and sum(one.bit_length() for one in (left, right) if isinstance(one, int)) > _MAX_BITS:
        raise SecurityError("this product is too large for a template")


def _bounded(own: Callable[..., Any]) -> Callable[..., Any]:
    """The filter `own`, whose results end where texts do: some double what they are given, each time anew."""

    @wraps(own)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        result = own(*args, **kwargs)
        _require_bounded(len(result) if isinstance(result, str | list | tuple) else 0)
        return result

    return bounded


def _bounded_format(value: str, *args: Any, **kwargs: Any) -> str:
    for found in _WIDTH.finditer(str(value)):
        for number in found.groups():
            if number == "*" or (number and int(number) > MAX_PAD):
                raise SecurityError(f"a template may pad to at most {MAX_PAD} characters")
    longest = max((len(str(one)) for one in (*args, *kwargs.values())), default=0)
    _require_bounded(len(value) + str(value).count("%") * longest)
    return str(value) % (kwargs or args)


@pass_eval_context
def _join(context: EvalContext, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    """As in Jinja2 without escapes."""
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    texts = list(map(str, value))
    _require_bounded(sum(map(len, texts)) + len(texts) * len(str(d)))
    return str(d).join(texts)


@pass_environment
def _bounded_wordwrap(environment: Environment, s: str, width: int = 79, *args: Any, **kwargs: Any) -> str:
    # Two lines in a row are together longer than the width.
    lines = 2 * len(s) // max(width, 1) + s.count("\n")
    joints = [len(one) for one in (*args, *kwargs.values()) if isinstance(one, str)]
    _require_bounded(len(s) + lines * max(joints, default=1))
    return do_wordwrap(environment, s, width, *args, **kwargs)


def _bounded_replace(value: Any, old: str, new: str) -> str:
    text = str(value)
    _require_bounded(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _bounded_indent(value: Any, width: int = 4, first: bool = False, blank: bool = False) -> str:
    if width > MAX_PAD:
        raise SecurityError(f"a template may pad to at most {MAX_PAD} characters")
    text = str(value)
    _require_bounded(len(text) + (text.count("\n") + 1) * width)
    return do_indent(text, width, first, blank)


@pass_eval_context
def _bounded_tojson(context: EvalContext, value: Any, indent: int | None = None) -> Any:
    if indent is not None and indent > MAX_PAD:
        raise SecurityError(f"a template may pad to at most {MAX_PAD} characters")
    return do_tojson(context, value, indent)


@lru_cache(maxsize=1)
def sandbox() -> Environment:
    """The sandbox for templates that stand in a configuration."""
    return Sandbox()


def compile_template(source: str, *, key: str, environment: Environment | None = None) -> Template:
    """The compiled template.

    Args:
        source: the template's text.
        key: where it stands in the configuration, for the message.

    Raises:
        TemplateInvalid: the syntax is wrong, or a filter does not exist; names the line within the template.
    """
    try:
        return (environment or sandbox()).from_string(source)
    except TemplateSyntaxError as error:
        raise TemplateInvalid([Problem(key, f"template line {error.lineno}: {error.message}")]) from error
    except TemplateError as error:
        raise TemplateInvalid([Problem(key, str(error))]) from error


def unknown_variables(source: str, given: Collection[str]) -> list[str]:
    """The variables that a template uses and is not given, sorted."""
    return sorted(meta.find_undeclared_variables(sandbox().parse(source)) - set(given))


def checked_template(source: str, key: str, sample: Mapping[str, Any]) -> Template:
    """The compiled template, rendered once over a `sample` of all variables that it is given.

    Raises:
        TemplateInvalid: it does not compile, uses a variable that it is not given, or leaves the sandbox.
    """
    template = compile_template(source, key=key)
    if unknown := unknown_variables(source, sample):
        raise TemplateInvalid([Problem(key, f"uses {', '.join(unknown)}; it is given {', '.join(sorted(sample))}")])
    try:
        render(template, sample, key=key)
    except TemplateInvalid as error:
        # What the sample lacks, such as a name in the session's metadata, a turn may have; what is forbidden stays so.
        if "SecurityError" in str(error):
            raise
    return template


def has_branch_without(source: str, name: str) -> bool:
    """Whether a template has something to say where the variable `name` is empty: `if not`, or an `else`."""
    tree = sandbox().parse(source)
    without: list[tuple[nodes.Node, object]] = [(loop.iter, loop.else_) for loop in tree.find_all(nodes.For)]
    without += [(choice.test, choice.expr2) for choice in tree.find_all(nodes.CondExpr)]
    for branch in tree.find_all(nodes.If):
        without.append((branch.test.node, True) if isinstance(branch.test, nodes.Not) else (branch.test, branch.else_))
    return any(said and _is_name(test, name) for test, said in without)


def _is_name(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name


def render(template: Template, variables: Mapping[str, Any], *, key: str) -> str:
    """The text that `template` renders to.

    Raises:
        TemplateInvalid: a name is undefined, the sandbox forbids something, or the output is too long.
    """
    parts: list[str] = []
    length = 0
    try:
        for part in template.generate(variables):
            length += len(part)
            if length > MAX_OUTPUT_CHARS:
                raise SecurityError(f"the output is longer than {MAX_OUTPUT_CHARS} characters")
            parts.append(part)
    except (
        TemplateError,
        ArithmeticError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise TemplateInvalid([Problem(key, f"{type(error).__name__}: {error}")]) from error
    return "".join(parts)
