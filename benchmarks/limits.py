"""Which module measures which limit."""

from __future__ import annotations

LIMITS = {
    "L1": "l01_turn_cpu",
    "L2": "l02_sqlite_saver",
    "L3": "l03_parallel_sources",
    "L4": "l04_hanging_source",
    "L8": "l08_checkpoint_bytes",
    "L9": "l09_long_thread",
    "L10": "l10_start",
    "L13": "l13_streaming",
    "L16": "l16_suite",
}
