"""The tables of a comparison, as the documentation has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.peers.comparison import Figure


def as_markdown(figures: Sequence[Figure], titles: Mapping[str, str]) -> str:
    """A table for each work: CPU of a turn at each size, in milliseconds, with the wall time in brackets."""
    works = dict.fromkeys(figure.work for figure in figures)
    return "\n\n".join(_table(titles[work], [figure for figure in figures if figure.work == work]) for work in works)


def _table(title: str, figures: Sequence[Figure]) -> str:
    sizes = sorted({figure.size for figure in figures})
    cells = {(figure.label, figure.size): f"{figure.cpu_ms:.3g} ({figure.wall_ms:.3g})" for figure in figures}
    lines = [f"| {title} | " + " | ".join(f"{size:,}" for size in sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for label in dict.fromkeys(figure.label for figure in figures):
        lines.append(f"| {label} | " + " | ".join(cells.get((label, size), "") for size in sizes) + " |")
    return "\n".join(lines)
