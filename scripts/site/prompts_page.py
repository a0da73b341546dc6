"""The reference of prompts: the name, the variables and the text of every file in `prompts/`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from jinja2 import Environment, meta, nodes

from groundgraph.prompts import attribute, fenced

ENDING = ".jinja2"
INTRODUCTION = """# Prompts

Every word that groundgraph shows to a model or writes into an answer stands in one of these files. Put a file of the
same name into a folder, and it is used instead:

```yaml
prompts: {path: my_prompts/}
```

Such a file must use each variable of the one that it replaces, and no other, and define the same macros. What does not
fit is refused when a graph is built, with file and line. Variables are written as `{{ name }}`; the language is
[Jinja's](https://jinja.palletsprojects.com/en/stable/templates/).

A name that ends in a language, such as `nothing_found.ru`, holds what a reader is told in that language. A language
without such files has its sentences in its data file below `text/languages`; they are replaced in the same way.
"""


def prompts_page() -> str:
    """All prompts, as Markdown."""
    folder = files("groundgraph.prompts")
    texts = {one.name: one.read_text("utf-8") for one in folder.iterdir() if one.name.endswith(ENDING)}
    told = {name for name in texts if name.count(".") > 1}
    parts = [INTRODUCTION]
    for title, names in (("What a model is told", texts.keys() - told), ("What a reader is told", told)):
        parts += [f"## {title}\n", "| prompt | variables | macros |", "|---|---|---|"]
        parts += [_row(name, texts[name]) for name in sorted(names)]
        parts.append("")
    parts.append("## The texts\n")
    for name in sorted(texts):
        parts += [f"### {name.removesuffix(ENDING)}\n", f"````text\n{texts[name].rstrip()}\n````\n"]
    return "\n".join(parts)


def _row(file: str, text: str) -> str:
    environment = Environment()
    environment.filters |= {"fenced": fenced, "attribute": attribute}
    tree = environment.parse(text)
    name = file.removesuffix(ENDING)
    variables = ", ".join(f"`{one}`" for one in sorted(meta.find_undeclared_variables(tree)))
    return f"| [`{name}`](#{name.replace('.', '')}) | {variables} | {', '.join(_macros(tree))} |"


def _macros(tree: nodes.Template) -> Iterator[str]:
    for macro in tree.find_all(nodes.Macro):
        yield f"`{macro.name}({', '.join(str(one.name) for one in macro.args)})`"
