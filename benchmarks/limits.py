"""Which module measures which limit."""

from __future__ import annotations

LIMITS = {
    "L1": "l01_turn_cpu",
    "L2": "l02_sqlite_saver",
    "L3": "l03_parallel_sources",
    "L4": "l04_hanging_source",
    "L5": "l05_sql_tables",
    "L6": "l06_knowledge_base",
    "L8": "l08_checkpoint_bytes",
    "L9": "l09_long_thread",
    "L10": "l10_start",
    "L11": "l11_ingest",
    "L12": "l12_ingest_memory",
    "L13": "l13_streaming",
    "L15": "l15_citation_check",
    "L16": "l16_suite",
}
# Measured only when they are named: they need a server, the public data, or many minutes.
BY_NAME_ONLY = {
    "L6-million": "l06_million",
    "L7": "l07_weaviate",
    "L9-5000": "l09_thread_of_5000",
    "L17": "l17_quotes",
    "L18": "l18_outcomes",
    "L19": "l19_ingest_workers",
}
