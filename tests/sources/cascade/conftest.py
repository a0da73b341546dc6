"""Knowledge files of a small shop, in two languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PRICING = """\
title: Pricing
description: What the plans cost.
sections:
  monthly_rate:
    title: Monthly rates
    keywords: [rate, price, how much]
    priority: 5
    facts:
      - The monthly rate is 990 roubles per cash desk.
      - Paid for a year, it is 790 roubles.
    urls:
      - {title: Price list, url: "https://example.org/prices"}
      - https://example.org/plans
  margin:
    keywords: [margin]
    facts: Our margin on a cash desk is 60 percent.
    sensitive: true
"""
FAQ = """\
category: faq
sections:
  trial:
    keywords: [free]
    facts: The trial lasts two weeks and asks for no card.
  ставка:
    keywords: [ставка]
    facts: Ставка за эквайринг от 1,7 процента.
  ёлка:
    facts: Под ёлкой лежат подарки для «новых» клиентов.
  support:
    priority: 1
    facts: Support answers within an hour, day and night.
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes files of knowledge into one folder and gives that."""
    folder = tmp_path / "knowledge"

    def write(**files: str) -> Path:
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text, "utf-8")
        return folder

    return write


@pytest.fixture
def shop(write: Callable[..., Path]) -> Path:
    """The folder of the shop's knowledge."""
    return write(pricing=PRICING, faq=FAQ)
