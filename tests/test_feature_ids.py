"""Every feature and every fault that is built is proven by a test that names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FEATURES = [
    *(f"K{number}" for number in range(1, 13)),
    *("R5", "R6", "R9", "R12"),
    *(f"P{number}" for number in range(1, 11)),
    *("S7", "V1"),
]
FAULTS = [27, 28, 39, 40, *range(48, 58), 61, 62, 63]


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
    assert re.search(rf"\bfaults? {fault}\b", told)
