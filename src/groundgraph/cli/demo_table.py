"""The table of the demo: one row for each package that groundgraph needs."""

from __future__ import annotations

from importlib.metadata import Distribution
from typing import TYPE_CHECKING, Any

from groundgraph.cli.demo_packages import needed_packages

if TYPE_CHECKING:
    from groundgraph.sources.sql import SqlSource

TABLE = "distributions"


def package_table() -> SqlSource:
    """Name, version, licence, summary, number and size of files, and requirements of the installed packages."""
    from groundgraph.sources.sql import SqlSource

    return SqlSource.from_records(
        [_row(package) for package in needed_packages()],
        name=TABLE,
        table=TABLE,
        description="The installed packages that groundgraph needs.",
    )


def _row(package: Distribution) -> dict[str, Any]:
    metadata = package.metadata
    files = package.files or []
    return {
        "name": str(metadata["Name"]),
        "version": package.version,
        "licence": _licence(package),
        "summary": str(metadata["Summary"] or ""),
        "files": len(files),
        "kilobytes": round(sum(file.size or 0 for file in files) / 1000),
        "requirements": sum("extra ==" not in requirement for requirement in package.requires or []),
    }


def _licence(package: Distribution) -> str:
    metadata = package.metadata
    named = metadata["License-Expression"] or metadata["License"]
    if named and "\n" not in named and len(named) < 40:
        return str(named)
    kinds = [kind for kind in metadata.get_all("Classifier") or [] if kind.startswith("License ::")]
    return kinds[0].rpartition(" :: ")[2] if kinds else "not stated"
