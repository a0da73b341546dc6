"""Draws the curves of a run, one picture a work; reads the figures from its standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

mpl.rcParams.update({"svg.hashsalt": "groundgraph", "svg.fonttype": "none", "font.family": "sans-serif"})


def draw(work: str, title: str, figures: list[dict[str, Any]], folder: Path) -> None:
    """CPU of a turn by size, both by powers of ten."""
    picture, axes = plt.subplots(figsize=(7, 4))
    for label in dict.fromkeys(figure["label"] for figure in figures):
        own = [figure for figure in figures if figure["label"] == label]
        thick = 2.5 if label.startswith("groundgraph") else 1.2
        axes.plot(
            [figure["size"] for figure in own], [figure["cpu_ms"] for figure in own], "o-", label=label, linewidth=thick
        )
    axes.set(xscale="log", yscale="log", ylabel="CPU, ms")
    axes.set_title(title, fontsize=9, wrap=True)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    picture.tight_layout()
    picture.savefig(folder / f"{work.replace(' ', '_')}.svg", metadata={"Date": None})


told = json.load(sys.stdin)
folder = Path(told["folder"])
folder.mkdir(parents=True, exist_ok=True)
for work, title in told["titles"].items():
    figures = [figure for figure in told["figures"] if figure["work"] == work]
    if figures:
        draw(work, title, figures, folder)
