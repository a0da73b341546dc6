"""The reference of settings, from the schema that `groundgraph config schema` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from groundgraph.cli.config import settings_schema, source_options
from groundgraph.settings.context import Context
from groundgraph.settings.idle_settings import OWNED

Schema = Mapping[str, Any]
NEEDS = {".".join(map(str, place)): needs for place, (_, needs) in OWNED.items()}
HEAD = ["| key | value | default | what |", "|---|---|---|---|"]
KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "mapping",
    "array": "list",
    "null": "nothing",
}
INTRODUCTION = """# Settings

Every key of `groundgraph.yaml`, with its default and what it does. [Configuration](../configuration.md) explains how a
file, the environment and Python go together. In an environment variable a key below a section is written with two
underscores: `GROUNDGRAPH_RETRIEVAL__TOP_K=8`.

`groundgraph config schema` prints the same for an editor, which then completes keys and marks mistakes.
"""

OF_A_RUN = """
## `Context`

What may change from run to run: `graph.invoke(question, context=Context(top_k=3))`, or the context of an assistant on a
server. What is left out is as in the settings.
"""


class SettingsPage:
    """The page while it is written: which parts of the schema have their table already."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._told: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        """The page, section by section."""
        yield INTRODUCTION
        plain = []
        for key, value in self._schema["properties"].items():
            name = self._definition(value)
            if name is None:
                plain.append((key, value))
                continue
            yield from self._section(key, name)
            if key == "sources":
                yield from self._source_types()
        yield "\n## Keys without a section\n"
        yield from HEAD
        for key, value in plain:
            yield self._row(key, value)

    def _source_types(self) -> Iterator[str]:
        known: list[tuple[str, dict[str, Any]]] = []
        for kind, options in source_options().items():
            same = next((name for name, keys in known if keys is options), None)
            known.append((kind, options))
            if same:
                yield f"\n`type: {kind}` is another name of `type: {same}`."
                continue
            yield f"\n### `type: {kind}`\n"
            yield from HEAD
            for key, value in options.items():
                if "$ref" not in value:
                    yield self._row(key, value)
            if any("$ref" in value for value in options.values()):
                yield "\nBeside these, every key of [`retriever`](#retriever)."

    def rows(self) -> Iterator[str]:
        """The rows of all keys."""
        return (self._row(key, value) for key, value in self._schema["properties"].items())

    def _section(self, key: str, name: str) -> Iterator[str]:
        yield f"\n## `{key}`\n"
        if name in self._told:
            yield f"{_sentence(self._told_of(name))} The keys are those of {self._link(name)}."
            return
        yield from self.table(name, key)

    def _told_of(self, name: str) -> str:
        return str(self._schema["$defs"][name].get("description", ""))

    def table(self, name: str, key: str) -> Iterator[str]:
        """A sentence and a table for the definition `name`, which stands under `key`; then those that it uses."""
        self._told[name] = key
        yield f"{_sentence(self._told_of(name))}\n"
        yield from HEAD
        below = []
        for part, value in self._schema["$defs"][name].get("properties", {}).items():
            inner = self._definition(value)
            if inner is not None and inner not in self._told:
                below.append((inner, f"{key}.{part}"))
                self._told[inner] = f"{key}.{part}"
            yield self._row(part, value, f"{key}.{part}")
        for inner, place in below:
            yield f"\n### `{place}`\n"
            yield from self.table(inner, place)

    def _definition(self, value: Schema) -> str | None:
        """The name of the definition that `value` refers to, if its keys are its own."""
        for one in (value, value.get("items", {}), *value.get("anyOf", ()), *value.get("oneOf", ())):
            name = str(one.get("$ref", "")).rpartition("/")[2]
            if "properties" in self._schema["$defs"].get(name, {}):
                return name
        return None

    def _row(self, key: str, value: Schema, place: str = "") -> str:
        told = str(value.get("description", ""))
        name = self._definition(value)
        if not told and name is not None:
            told = self._told_of(name)
        if place in NEEDS:
            told = f"{told}{'; ' if told else ''}only with {NEEDS[place]}"
        default = "" if "default" not in value or name is not None else _shown(value["default"])
        return f"| `{key}` | {self._kind(value)} | {default} | {_cell(told)} |"

    def _link(self, name: str) -> str:
        place = self._told[name]
        return f"[`{place}`](#{place.replace('.', '').lower()})"

    def _kind(self, value: Schema) -> str:
        if "$ref" in value:
            name = value["$ref"].rpartition("/")[2]
            return self._link(name) if name in self._told else self._kind(self._schema["$defs"].get(name, {}))
        if isinstance(value.get("type"), list):
            return " or ".join(KINDS[one] for one in value["type"])
        if "enum" in value:
            return ", ".join(_code(one) for one in value["enum"])
        if "const" in value:
            return _code(value["const"])
        several = [one for one in (*value.get("anyOf", ()), *value.get("oneOf", ())) if one.get("type") != "null"]
        if several:
            return " or ".join(dict.fromkeys(map(self._kind, several)))
        if value.get("type") == "array" and value.get("items"):
            return f"list: {self._kind(value['items'])}"
        return KINDS.get(str(value.get("type")), "any value") + _bounds(value)


def _bounds(value: Schema) -> str:
    names = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {value[name]}" for name, sign in names.items() if name in value]
    return f", {' and '.join(bounds)}" if bounds else ""


def _shown(default: Any) -> str:
    return "none" if default in (None, "") else _code(default)


def _code(value: Any) -> str:
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def _sentence(text: str) -> str:
    return text.split("\n\n", 1)[0].replace("\n", " ")


def _cell(text: str) -> str:
    return _sentence(text).replace("|", "\\|")


def settings_page() -> str:
    """All settings, as Markdown."""
    run = SettingsPage(Context.model_json_schema())
    lines = [*SettingsPage(settings_schema()).lines(), OF_A_RUN, *HEAD, *run.rows()]
    return "\n".join(lines) + "\n"
