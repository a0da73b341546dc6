"""Every compiled pattern of a package, found by importing it: nobody lists them."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from groundgraph.text.words import LANGUAGES

# What stands in a pattern that is put together when it is used, for what is not known before.
UNKNOWN = "a7"
_USES = frozenset(["compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"])


def modules_of(package: ModuleType) -> list[ModuleType]:
    """All modules of `package`, imported."""
    names = (found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."))
    return [package, *(importlib.import_module(name) for name in names)]


@dataclasses.dataclass(frozen=True)
class Held:
    """A pattern, and whether it is looked for anywhere in a text or only tried at one place, in all the package."""

    pattern: re.Pattern[str]
    anchored: bool

    def run(self, text: str) -> object:
        """Finds all that there is to find."""
        if self.anchored:
            return self.pattern.match(text), self.pattern.fullmatch(text)
        return sum(1 for _ in self.pattern.finditer(text))


def patterns_of(module: ModuleType) -> dict[str, Held]:
    """The patterns of text that `module` holds or builds, each under the name of a place that has it.

    They are looked for in its globals and its classes' attributes, in the containers and dataclasses among these, in
    what its cached functions without arguments, or for a language, return, and in the calls of `re` in its source; of
    a pattern that is put together there, the parts that are not known stand as `UNKNOWN`.
    """
    found: dict[str, re.Pattern[str]] = {}
    for name, value in vars(module).items():
        if not callable(value) or getattr(value, "__module__", "") == module.__name__:
            found |= dict(_within(value, f"{module.__name__}.{name}", 0))
    source = _source_of(module)
    held = {place: Held(pattern, _is_anchored(place.rpartition(".")[2], source)) for place, pattern in found.items()}
    known = {(pattern.pattern, pattern.flags) for pattern in found.values()}
    for line, use, pattern in _written_in(source, vars(module)):
        if (pattern.pattern, pattern.flags) not in known:
            held[f"{module.__name__}:{line}"] = Held(pattern, use in ("match", "fullmatch"))
    return held


def _is_anchored(name: str, source: str) -> bool:
    """Whether a private name of a module stands nowhere but before `.match` and `.fullmatch`."""
    uses = re.findall(rf"(?<![\w.]){re.escape(name)}\b(?! *=[^=]| *:)(?:\.(\w+))?", source)
    return name.startswith("_") and bool(uses) and set(uses) <= {"match", "fullmatch"}


def _within(value: Any, place: str, depth: int) -> Iterator[tuple[str, re.Pattern[str]]]:
    if depth > 4:
        return
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield place, value
    elif isinstance(value, str | bytes | ModuleType):
        return
    elif isinstance(value, Mapping):
        for key, one in list(value.items()):
            # What a test put there may have no name that can be told.
            named = repr(key) if isinstance(key, str | int | tuple) else type(key).__name__
            yield from _within(one, f"{place}[{named}]", depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for number, one in enumerate(value):
            yield from _within(one, f"{place}[{number}]", depth + 1)
    elif isinstance(value, type):
        if depth == 0:
            for name, one in list(vars(value).items()):
                if isinstance(one, re.Pattern | Mapping | list | tuple | set | frozenset):
                    yield from _within(one, f"{place}.{name}", depth + 1)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _within(getattr(value, field.name, None), f"{place}.{field.name}", depth + 1)
    elif hasattr(value, "cache_info") and depth == 0:
        for arguments in _arguments_of(value):
            yield from _within(value(*arguments), f"{place}{arguments}", depth + 1)


def _arguments_of(cached: Any) -> list[tuple[str, ...]]:
    """What a cached function can be called with: nothing, or each language."""
    required = [one for one in inspect.signature(cached).parameters.values() if one.default is one.empty]
    if not required:
        return [()]
    if len(required) == 1 and required[0].name in ("language", "code"):
        return [(language,) for language in LANGUAGES]
    return []


def _source_of(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def _written_in(source: str, names: dict[str, Any]) -> Iterator[tuple[int, str, re.Pattern[str]]]:
    if "import re\n" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in _USES
            and node.args
        ):
            written = _evaluated(node.args[0], names)
            flags = sum(_flags_of(node, names))
            if written:
                with contextlib.suppress(re.error):
                    yield node.lineno, node.func.attr, re.compile(written, flags)


def _evaluated(node: ast.expr, names: dict[str, Any]) -> str | None:
    """The text of an expression, with `UNKNOWN` for the parts of it that only a run knows."""
    if isinstance(node, ast.JoinedStr):
        parts = (_evaluated(part, names) for part in node.values)
        return "".join(UNKNOWN if part is None else part for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (_evaluated(node.left, names), _evaluated(node.right, names))
        return None if sides == (None, None) else "".join(UNKNOWN if side is None else side for side in sides)
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    try:
        value = eval(compile(ast.Expression(inner), "<pattern>", "eval"), dict(names))
    except Exception:
        return None
    if isinstance(node, ast.FormattedValue):
        return str(value)
    return value if isinstance(value, str) else None


def _flags_of(call: ast.Call, names: dict[str, Any]) -> Iterator[int]:
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "flags")]
    for one in given:
        with contextlib.suppress(Exception):
            value = eval(compile(ast.Expression(one), "<flags>", "eval"), dict(names))
            if isinstance(value, re.RegexFlag):
                yield int(value)
