"""How large the house is and how it is built: `python scripts/house.py [REPOSITORY]`.

Prints the figures of a table as Markdown: sizes, functions, arguments, complexity, circles of modules, and how many
files a question and a document pass. The rules for counting stand with each figure below. The last two need a
repository with an environment, whose Python is asked: `REPOSITORY/.venv/bin/python`. `--ways` draws the rooms that both
pass instead.
"""

from __future__ import annotations

import ast
import io
import json
import os
import statistics
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LONG_FUNCTION = 50
MANY_ARGUMENTS = 5
COMPLEX = 10
_SILENT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
# Run in the repository that is measured: what a warm turn and an ingest pass through.
_PASSED = """
import asyncio, collections, json, pathlib, sys, tempfile
from groundgraph import InMemorySource, ingest_graph, load_settings, turn_graph
import groundgraph
from groundgraph.testing import ScriptedChatModel

home = str(pathlib.Path(groundgraph.__file__).parent)
room = lambda file: pathlib.Path(file).relative_to(home).parts[0].removesuffix(".py")
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "docs").mkdir()
text = "# Pumps\\n\\nPump 17 is serviced every 90 days. Its filter is changed yearly.\\n"
(folder / "docs" / "pumps.md").write_text(text)
base = {"knowledge_base": {"path": str(folder / "docs")}}
entry = [{"type": "knowledge_base", "name": "base", "path": str(folder / "kb.sqlite")}]
passed, arrows = collections.Counter(), collections.Counter()

def seen(frame, event, argument):
    file = frame.f_code.co_filename
    if event != "call" or not file.startswith(home):
        return
    passed[file] += 1
    caller = frame.f_back
    while caller and not caller.f_code.co_filename.startswith(home):
        caller = caller.f_back
    if caller and room(caller.f_code.co_filename) != room(file):
        arrows[room(caller.f_code.co_filename), room(file)] += 1

async def counted(work):
    passed.clear(); arrows.clear()
    import threading
    threading.setprofile(seen); sys.setprofile(seen)
    try:
        await work
    finally:
        sys.setprofile(None); threading.setprofile(None)
    return {"files": len(passed), "calls": passed.total(), "arrows": [[*ends, many] for ends, many in arrows.items()]}

async def main():
    ingest = ingest_graph(load_settings({**base, "sources": entry}))
    document = await counted(ingest.ainvoke({"paths": [str(folder / "docs")]}))
    settings = load_settings({"sources": entry, "synthesis": {"style": "conversational"}})
    turn = turn_graph(settings, chat_model=ScriptedChatModel(["Every 90 days [1]."] * 9))
    asked = {"question": "How often is pump 17 serviced?"}
    await turn.ainvoke(asked)
    question = await counted(turn.ainvoke(asked))
    print(json.dumps([question, document]))

asyncio.run(main())
"""


def sloc(source: str) -> int:
    """Lines that hold code: no blank line, no comment, no docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and _is_text(body[0].value):
            documented |= set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SILENT and token.string:
            held |= set(range(token.start[0], token.end[0] + 1))
    return len(held - documented)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def functions(source: str) -> Iterator[tuple[int, int, int]]:
    """Of each function the lines of code, the arguments without `self` and `cls`, and the complexity.

    Complexity is one more than the branches, loops, handlers, boolean operators, and `for` and `if` of comprehensions,
    without those of functions inside.
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _FUNCTIONS):
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            arguments = sum(argument.arg not in ("self", "cls") for argument in given)
            yield sloc(_unindented(text, node.col_offset)), arguments, 1 + sum(map(_branches, _own(node)))


def _unindented(text: str, columns: int) -> str:
    # A text of several lines may begin further left.
    return "\n".join(line[columns:] if not line[:columns].strip() else line for line in text.splitlines())


def _own(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _own(child)


def _branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _BRANCHES))


def modules_of(folder: Path) -> list[Path]:
    """The Python files below `folder`, also behind links: until 0.1 the package was linked together."""
    walked = os.walk(folder, followlinks=True)
    return sorted(Path(place) / name for place, _, names in walked for name in names if name.endswith(".py"))


def circles(package: Path) -> int:
    """How many circles of imports there are, lazy ones and those for types counted; each is cut once it was found."""
    files = {".".join(p.relative_to(package.parent).with_suffix("").parts): p for p in modules_of(package)}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    imports = {name: _imported(path, set(files)) - {name} for name, path in files.items()}
    for found in range(len(files)):
        try:
            list(TopologicalSorter(imports).static_order())
        except CycleError as error:
            first, second = error.args[1][:2]
            imports[second] = imports[second] - {first}
        else:
            return found
    return len(files)


def _imported(path: Path, modules: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if names <= modules else {node.module, *names}
    return found & modules


def passed(repository: Path) -> list[dict[str, Any]]:
    """A warm turn over a tiny base with a scripted model, and the ingest of one document: `files` and `calls` that they
    pass, and `arrows`: from a room, to a room, how many calls."""
    python = repository / ".venv" / "bin" / "python"
    run = subprocess.run([python, "-c", _PASSED], cwd=repository, capture_output=True, text=True, check=True)
    ways: list[dict[str, Any]] = json.loads(run.stdout)
    return ways


def picture(arrows: list[tuple[str, str, int]]) -> str:
    """The rooms of a way as a Mermaid flowchart, each arrow with its calls; dotted where calls go both ways."""
    pairs = {(start, end) for start, end, _ in arrows}
    lines = []
    for start, end, many in sorted(arrows):
        tail, head = ("-.", ".->") if (end, start) in pairs else ("--", "-->")
        lines.append(f"    {start} {tail} {many} {head} {end}")
    return "\n".join(["flowchart LR", *lines])


def figures(repository: Path) -> dict[str, str]:
    """The table: what is measured and its value."""
    package = repository / "src" / "groundgraph"
    sources = [path.read_text("utf-8") for path in modules_of(package)]
    tests = [path.read_text("utf-8") for path in modules_of(repository / "tests")]
    sizes, each = [sloc(source) for source in sources], [one for source in sources for one in functions(source)]
    lengths = sorted(length for length, _, _ in each)
    complex_ones = sum(complexity > COMPLEX for _, _, complexity in each)
    question, document = passed(repository)
    return {
        "files of the product": f"{len(sources):,}",
        "SLOC of the product": f"{sum(sizes):,}",
        "SLOC of a file, median and most": f"{statistics.median(sizes):.0f}, {max(sizes)}",
        "SLOC of the tests": f"{sum(map(sloc, tests)):,}",
        "functions": f"{len(each):,}",
        "SLOC of a function, median and 90 %": f"{statistics.median(lengths):.0f}, {lengths[len(lengths) * 9 // 10]}",
        f"functions over {LONG_FUNCTION} SLOC": str(sum(length > LONG_FUNCTION for length in lengths)),
        f"functions over {MANY_ARGUMENTS} arguments": str(sum(given > MANY_ARGUMENTS for _, given, _ in each)),
        f"functions over complexity {COMPLEX}": f"{complex_ones} ({complex_ones / len(each):.1%})",
        "circles of modules": str(circles(package)),
        "files and calls of a warm turn": f"{question['files']}, {question['calls']:,}",
        "files and calls of one document": f"{document['files']}, {document['calls']:,}",
    }


def main(repositories: list[Path]) -> None:
    """One column for each repository."""
    columns = [figures(repository) for repository in repositories]
    print(f"| | {' | '.join(repository.name for repository in repositories)} |")
    print("|---|" + "---|" * len(columns))
    for name in columns[0]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


if __name__ == "__main__":
    places = [Path(name).resolve() for name in sys.argv[1:] if name != "--ways"] or [ROOT]
    if "--ways" in sys.argv:
        print("\n\n".join(picture(way["arrows"]) for place in places for way in passed(place)))
    else:
        main(places)
