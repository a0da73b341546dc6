"""How many examples a property test takes: a few in `make test`, all in the tier behind it."""

from __future__ import annotations

import os

ALL = "GROUNDGRAPH_ALL_EXAMPLES"


def examples(every: int, *, quick: int) -> int:
    """`every` in a run that looks for new examples too, `quick` in others; for tests of which both tiers have some."""
    return every if os.environ.get(ALL) else quick
