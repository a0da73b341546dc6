"""How many texts hold a word, out of what a server's BM25 scores the best of them for that word alone.

A server that counts them reads all of them; its score tells the same in a millisecond.
"""

from __future__ import annotations

import math


def frequency_of(weight: float, texts: int) -> int:
    """The n of `texts` that hold a word whose idf is `weight`: ln(1 + (N - n + 0.5) / (n + 0.5)) solved for n."""
    return max(1, min(texts, round((texts + 1) / math.exp(weight) - 0.5)))
