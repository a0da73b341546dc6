"""Checks that a source keeps the contract, for anybody's source and without a test framework.

::

    report = await check_source(MySource(...), query="a question that it answers")
    report.raise_for_failures()
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundgraph.core.deadline import within
from groundgraph.core.errors import SourceContractBroken
from groundgraph.sources.conformance_checks import CHECKS, Broken, Check, DoesNotApply, Probe
from groundgraph.sources.contract import GroundedSource


@dataclass(frozen=True)
class CheckOutcome:
    """What one check found.

    Attributes:
        id: the name of the check, stable between versions.
        passed: whether the source keeps that part of the contract; true when the check does not apply.
        detail: what was wrong, or why the check does not apply; else empty.
    """

    id: str
    passed: bool
    detail: str = ""

    def __str__(self) -> str:
        return f"{'ok' if self.passed else 'FAILED'}  {self.id}{': ' if self.detail else ''}{self.detail}"


@dataclass(frozen=True)
class ConformanceReport:
    """The outcomes of all checks on one source, in order."""

    source_name: str
    checks: list[CheckOutcome]

    @property
    def failures(self) -> list[CheckOutcome]:
        """The checks that failed."""
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise `SourceContractBroken`, naming every failed check, when there is one."""
        if self.failures:
            lines = "\n".join(f"  {check.id}: {check.detail}" for check in self.failures)
            raise SourceContractBroken(f"The source '{self.source_name}' breaks its contract:\n{lines}")


async def check_source(
    source: GroundedSource,
    *,
    query: str,
    filters: Mapping[str, Any] | None = None,
    timeout: float = 30.0,
) -> ConformanceReport:
    """Run every check on `source`; the last one closes it.

    Args:
        source: the source, which must not change meanwhile.
        query: a text query for which the source has at least two results.
        filters: conditions on the source's declared fields that at least one result of `query` satisfies;
            needed when the source has required fields. Without them the conditions are made from the declared
            fields and the metadata of the results.
        timeout: the longest that one check may take, in seconds.
    """
    probe = Probe(source, query, dict(filters or {}))
    outcomes = [await _outcome(name, check, probe, timeout) for name, check in CHECKS.items()]
    return ConformanceReport(str(source.name), outcomes)


async def _outcome(name: str, check: Check, probe: Probe, timeout: float) -> CheckOutcome:
    try:
        await within(timeout, _run(check, probe))
    except Broken as broken:
        return CheckOutcome(name, False, str(broken))
    except DoesNotApply as reason:
        return CheckOutcome(name, True, f"does not apply: {reason}")
    except TimeoutError:
        return CheckOutcome(name, False, f"took longer than {timeout:g} s")
    except Exception as error:
        return CheckOutcome(name, False, f"raised {type(error).__name__}: {error}")
    return CheckOutcome(name, True)


async def _run(check: Check, probe: Probe) -> None:
    await check(probe)
