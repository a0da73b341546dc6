"""Every feature and every fault that is built is proven by a test that names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# How many features each letter of the feature list has.
COUNTS = {"T": 9, "I": 11, "R": 15, "X": 6, "P": 10, "S": 8, "V": 3, "K": 12, "C": 8, "Q": 5, "U": 7}
FEATURES = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
FAULTS = range(1, 81)


def _tests() -> Iterator[str]:
    """The name of each test as words, and behind it its docstring."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield f"{node.name.replace('_', ' ')} {ast.get_docstring(node) or ''}".lower()


@pytest.fixture(scope="module")
def told() -> str:
    return "\n".join(_tests())


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_is_named_by_a_test(told: str, feature: str) -> None:
    assert re.search(rf"\b{feature.lower()}\b", told)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_named_by_a_test(told: str, fault: int) -> None:
    assert re.search(rf"\bfaults? 0*{fault}\b", told)
