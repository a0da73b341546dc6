"""The list of features, faults and limits and the tests that prove them name the same ids."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
_ROWS = re.findall(r"^\| ([A-Z]?\d+) \|", (TESTS.parent / "docs" / "features.md").read_text("utf-8"), re.MULTILINE)
LISTED = frozenset(f"fault {row}" if row.isdigit() else row for row in _ROWS)
# Figures are reached in `benchmarks/`; only some of them have tests.
LIMITS = frozenset(one for one in LISTED if one.startswith("L"))
# Findings of reviews, by the letters of their pages; the changelog tells what became of them.
FINDING = re.compile(r"[ABF]\d+")


def _markers() -> Iterator[str]:
    """Each id that a test carries as a marker."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.covers":
                yield from (ast.literal_eval(argument) for argument in node.args)


@pytest.fixture(scope="module")
def marked() -> frozenset[str]:
    return frozenset(_markers())


def test_the_list_has_features_faults_and_limits() -> None:
    assert {one[0] for one in LISTED} == set("TIRXPSVKCQUfL")
    assert {f"fault {number}" for number in range(1, 106)} <= LISTED


def test_what_is_listed_is_proven_by_a_test(marked: frozenset[str]) -> None:
    assert LISTED - LIMITS - marked == set()


def test_what_a_test_says_it_proves_is_listed(marked: frozenset[str]) -> None:
    assert {one for one in marked if not FINDING.fullmatch(one)} <= LISTED


def test_the_package_itself_names_no_id_of_the_list() -> None:
    """Who reads the code need not have the list at hand."""
    named = re.compile(rf"\((?:features? )?(?:{'|'.join(sorted(LISTED, key=len, reverse=True))})(?:,| to|\))")
    package = TESTS.parent / "src" / "groundgraph"
    paths = [path for path in package.rglob("*") if path.suffix in (".py", ".yaml", ".jinja2", ".md")]
    assert paths
    found = [f"{path.relative_to(package)}: {told[0]}" for path in paths for told in named.finditer(path.read_text())]
    assert found == []
