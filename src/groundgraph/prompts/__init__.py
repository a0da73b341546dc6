"""Every word that groundgraph shows to a model or writes into an answer, one `.jinja2` file each.

A folder of the user's is searched first, so any file can be replaced without Python. A file whose name ends in a
language, such as `nothing_found.ru.jinja2`, belongs to that language.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    Environment,
    FileSystemLoader,
    Template,
    TemplateError,
    TemplateSyntaxError,
    meta,
    nodes,
)

from groundgraph.core.errors import ConfigurationError, Problem, TemplateInvalid
from groundgraph.core.registry import nearest
from groundgraph.settings.settings import Settings
from groundgraph.text.templates import RENDERING, Sandbox, render
from groundgraph.text.words import LANGUAGES, language_data

_SUFFIX = ".jinja2"
_ENGLISH = f".en{_SUFFIX}"


def _shipped() -> dict[str, str]:
    """The text of each file; a language that lacks one has what its data file says under `texts`, or English's."""
    folder = files("groundgraph.prompts")
    shipped = {entry.name: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(_SUFFIX)}
    english = {file.removesuffix(_ENGLISH): text for file, text in shipped.items() if file.endswith(_ENGLISH)}
    for language in LANGUAGES:
        own = language_data(language, "texts")
        # Of several short texts in one file a language may have a part: what is defined last counts.
        texts = english | own | {name: f"{english[name]}\n{own[name]}" for name in ("notes",) if name in own}
        shipped = {f"{name}.{language}{_SUFFIX}": text for name, text in texts.items()} | shipped
    return shipped


@cache
def _environment_of_shipped() -> Environment:
    """One for all graphs of the process: each file is compiled once. What groundgraph ships needs no sandbox, which
    would look at every access to every row of evidence."""
    return _with_filters(Environment(loader=DictLoader(_shipped()), **RENDERING))


class Prompts:
    """The prompt files, those in `path` before those that groundgraph ships.

    Args:
        path: the user's folder.
        own: names of prompts that are the user's alone: the configuration asks for them, nothing is shipped.

    Raises:
        TemplateInvalid: a file in `path` has no counterpart and is not in `own`, does not compile, lacks a variable
            that the shipped one uses, or uses one that it is not given.
    """

    def __init__(self, path: Path | None = None, own: Collection[str] = ()) -> None:
        self.path = path
        if path is not None:
            self._check_overrides(path, {f"{name}{_SUFFIX}" for name in own})

    @classmethod
    def of(cls, settings: Settings) -> Prompts:
        """The prompts of `settings`."""
        folder = settings.prompts.path
        return cls(settings.at(folder) if folder else None, settings.chains.own_prompts)

    @cached_property
    def _environment(self) -> Environment:
        if self.path is None:
            return _environment_of_shipped()
        return _with_filters(Sandbox(loader=ChoiceLoader([FileSystemLoader(self.path), DictLoader(_shipped())])))

    def _template(self, file: str) -> Template:
        try:
            return self._environment.get_template(file)
        except TemplateError as error:
            raise TemplateInvalid([Problem(file, str(error))]) from error

    def render(self, name: str, *, language: str | None = None, **variables: Any) -> str:
        """The text of the prompt `name`, in `language` where the file has one per language.

        Raises:
            TemplateInvalid: the file fails on these variables.
        """
        file = f"{name}.{language}{_SUFFIX}" if language else f"{name}{_SUFFIX}"
        template = self._template(file)
        if self.path is None:
            return template.render(variables)
        return render(template, variables, key=f"prompt {file}")

    def source(self, name: str) -> str:
        """The text of the file of the prompt `name`, as it stands."""
        loader = self._environment.loader
        if loader is None:
            raise ValueError("an environment of prompts has a loader")
        try:
            return loader.get_source(self._environment, f"{name}{_SUFFIX}")[0]
        except TemplateError as error:
            raise TemplateInvalid([Problem(name, str(error))]) from error

    def check_stands_in(self, name: str, shipped: str, *, key: str) -> None:
        """Make sure that the prompt `name`, which the setting `key` asks for, can take the place of `shipped`.

        Raises:
            TemplateInvalid: there is no such prompt, it does not compile, or it uses a variable that it is not given.
        """
        environment = self._environment
        names = [file.removesuffix(_SUFFIX) for file in environment.list_templates(extensions=[_SUFFIX[1:]])]
        if name not in names:
            where = "in prompts.path" if self.path else "(prompts.path names no folder)"
            raise TemplateInvalid([Problem(key, f"there is no prompt '{name}' {where}.{nearest(name, names)}")])
        try:
            given = meta.find_undeclared_variables(environment.parse(self.source(shipped)))
            used = meta.find_undeclared_variables(environment.parse(self.source(name)))
        except TemplateSyntaxError as error:
            raise TemplateInvalid([Problem(key, f"the prompt '{name}' does not compile: {error.message}")]) from error
        if used - given:
            message = f"the prompt '{name}' uses '{min(used - given)}', which this prompt is not given"
            raise TemplateInvalid([Problem(key, message)])

    def note(self, kind: str, language: str, **variables: Any) -> str:
        """One sentence for the reader: the macro `kind` in the notes of `language`.

        A `reason` that is a `Failure`, or failures by the name of what failed, is put into words of that language.
        """
        if isinstance(reason := variables.get("reason"), Mapping):
            variables["reason"] = self._failure(reason, language)
        return self.told(f"notes.{language}", kind, **variables)

    def _failure(self, reason: Mapping[str, Any], language: str) -> str:
        if "kind" not in reason:
            return "; ".join(f"{name}: {self._failure(one, language)}" for name, one in reason.items())
        given = {name: reason.get(name) for name in ("kind", "type", "part", "status", "said")}
        return self.told(f"failures.{language}", "failed", **given)

    def told(self, name: str, kind: str, /, **variables: Any) -> str:
        """The text of the macro `kind` in the prompt `name`, a file of several short texts."""
        module = self._template(f"{name}{_SUFFIX}").module
        return str(getattr(module, kind)(**variables)).strip()

    def _check_overrides(self, path: Path, own: Collection[str]) -> None:
        if not path.is_dir():
            raise ConfigurationError([Problem("prompts.path", f"there is no folder {path}")])
        shipped = _shipped()
        problems = [
            problem
            for file in _files_in(path)
            if file.name in shipped or file.name not in own
            for problem in _override_problems(file, shipped)
        ]
        if problems:
            raise TemplateInvalid(problems)


def _files_in(folder: Path) -> list[Path]:
    """The prompts in `folder`, by name; `Path.glob` would find none in one that cannot be read."""
    try:
        return sorted(file for file in folder.iterdir() if file.name.endswith(_SUFFIX))
    except OSError as error:
        told = f"the folder {folder} cannot be read: {error.strerror}"
        raise ConfigurationError([Problem("prompts.path", told)]) from error


def _override_problems(file: Path, shipped: dict[str, str]) -> list[Problem]:
    if file.name not in shipped:
        return [Problem("", f"there is no such prompt.{nearest(file.name, list(shipped))}", str(file), 1, 1)]
    environment = _with_filters(Sandbox())
    wanted = meta.find_undeclared_variables(environment.parse(shipped[file.name]))
    try:
        source = file.read_text("utf-8")
        environment.from_string(source)
        used = meta.find_undeclared_variables(environment.parse(source))
    except TemplateSyntaxError as error:
        return [Problem("", error.message or "does not compile", str(file), error.lineno, 1)]
    except OSError as error:
        return [Problem("", f"cannot be read: {error.strerror}", str(file), 1, 1)]
    except (TemplateError, UnicodeDecodeError) as error:
        return [Problem("", str(error), str(file), 1, 1)]
    missing = _defined(environment, shipped[file.name]) - _defined(environment, source)
    return (
        [Problem("", f"does not define {name}, which this prompt needs", str(file), 1, 1) for name in sorted(missing)]
        + [
            Problem("", f"does not use the variable '{name}', which this prompt needs", str(file), 1, 1)
            for name in sorted(wanted - used)
        ]
        + [
            Problem("", f"uses '{name}', which this prompt is not given", str(file), 1, 1)
            for name in sorted(used - wanted)
        ]
    )


def _defined(environment: Environment, source: str) -> set[str]:
    """What other prompts and the code take out of a file: its macros with their arguments, and its variables."""
    tree = environment.parse(source)
    macros = {f"{m.name}({', '.join(arg.name for arg in m.args)})" for m in tree.find_all(nodes.Macro)}
    return macros | {
        one.target.name for one in tree.body if isinstance(one, nodes.Assign) and isinstance(one.target, nodes.Name)
    }


def _with_filters(environment: Environment) -> Environment:
    environment.filters["fenced"] = fenced
    environment.filters["attribute"] = attribute
    return environment


# A model reads over white space and over characters without width in a tag, and takes a full-width one for a tag.
_GAP = r"[\s\u200b-\u200d\u2060\ufeff]*+"
_BLOCK_TAG = re.compile(
    f"[<\ufe64\uff1c](?={_GAP}[/\uff0f]?{_GAP}(?:evidence|passage|cluster|conversation))", re.IGNORECASE
)
# Servers of open models read what their chat templates are made of in messages too: evidence would begin a turn.
_TEMPLATE_TAG = re.compile(r"<(?=[|｜]\w[^<>|｜\n]{0,40}[|｜]>|/?s>|(?:start|end)_of_turn>)", re.IGNORECASE)
_INSTRUCTION_TAG = re.compile(r"\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS)\])")


# Whoever writes evidence or chooses the id of a message must not be able to tell a fence.
# One that is set makes every process ask in the same bytes, as recorded traffic needs it.
FENCE_SECRET = "GROUNDGRAPH_FENCE_SECRET"
_GIVEN = os.environ.get(FENCE_SECRET)
_SECRET = hashlib.blake2b(_GIVEN.encode()).digest() if _GIVEN else secrets.token_bytes(16)


def fence_of(*texts: str) -> str:
    """What the tags around foreign text are told apart by: the same for the same `texts` in this process alone."""
    told = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=6, key=_SECRET).hexdigest()


def attribute(text: str) -> str:
    """`text` as it stands in an attribute of a tag: as it reads, but for what would end the attribute or open a tag."""
    return fenced(text.replace('"', "&#34;").replace("<", "&lt;"))


def fenced(text: str) -> str:
    """`text` as it stands inside a block of a prompt: what looks like a tag of such a block, or of a chat template, is
    made inert."""
    return _INSTRUCTION_TAG.sub("&#91;", _TEMPLATE_TAG.sub("&lt;", _BLOCK_TAG.sub("&lt;", text)))
