"""Records that somebody made to harm the reader of a report, or its size (fault 65)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAYLOADS = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "</style></title></template></textarea><script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "' onmouseover='window.pwned=1' x='",
    '"><svg/onload=window.pwned=1><a href="javascript:window.pwned=1">click</a>',
    "[click](javascript:window.pwned=1) ![x](http://outside.example/x.png) <http://outside.example>",
    "--><!--<iframe srcdoc='<script>top.pwned=1</script>'></iframe><![CDATA[<script>window.pwned=1</script>]]>",
    '<meta http-equiv="refresh" content="0;url=http://outside.example/"><base href="http://outside.example/">',
    '<link rel=stylesheet href="//outside.example/x.css"><style>@import url(http://outside.example/)</style>',
    "{{ cycler.__init__.__globals__ }}{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "\u202egnp.exe \u2066right to left\u2069 \u200bhidden \U000e0041\U000e0042 \x1b[2J \x00 \x9b",
    "&lt;script&gt; &#x3c;script&#x3e; &colon; \ud800",
    "data:text/html,<script>window.pwned=1</script> vbscript:x \\\\outside\\share file:///etc/passwd",
)
# What the code itself compares, and what a store's key holds.
_STRUCTURE = {"status", "kind", "outcome", "used", "mode", "source_type", "finish"}


def poisoned(value: Any, name: str = "", count: list[int] | None = None) -> Any:
    """`value` with a payload behind every text in it, in names as well, all payloads in turn."""
    count = [0] if count is None else count
    if isinstance(value, str) and name not in _STRUCTURE:
        count[0] += 1
        return f"{value} {PAYLOADS[count[0] % len(PAYLOADS)]}"
    if isinstance(value, Mapping):
        return {key: poisoned(item, key, count) for key, item in value.items()}
    return [poisoned(item, name, count) for item in value] if isinstance(value, list) else value


def with_poisoned_names(record: dict[str, Any]) -> dict[str, Any]:
    """`record` poisoned, and its sources, fields and kinds called by payloads as well."""
    payload = PAYLOADS[3]
    made = poisoned(record)
    source = {**next(iter(made["sources"].values())), "status": payload, "dropped": {payload: 3}, "error": payload}
    return {
        **made,
        "outcome": payload,
        "style": {"used": payload, "asked": payload},
        "sources": {**made["sources"], payload: source},
        "strategies": {payload: {payload: payload}},
        "timings_ms": {**made["timings_ms"], payload: 1.5},
        "intent": {
            **made["intent"],
            "mode": payload,
            "filters": {payload: {payload: [payload]}},
            "raw_data": {payload: payload},
            "dropped": [{"field": payload, "value": payload, "kind": payload, "reason": payload}],
            "categories": [payload],
        },
        "models": [{"role": payload, "model": payload, "error": payload}],
    }


def huge(record: dict[str, Any], passages: int = 200, characters: int = 20_000) -> dict[str, Any]:
    """`record` with many long passages, all of them of characters that take much room in a page."""
    filler = ("\"<&'\u202e" * (characters // 5))[:characters]
    row = record["results"][0]
    metadata = {**row["metadata"], "title": filler, "section": filler, "url": filler, "document": filler}
    rows = [
        {**row, "label": label, "source_id": f"{label}{filler}", "metadata": {**metadata, "start": 0},
         "text": f"{filler}The quote {label} stands here.{filler}"}
        for label in range(1, passages + 1)
    ]  # fmt: skip
    start, end = len(filler), len(filler) + len("The quote 1 stands here.")
    citation = {**record["citations"][0], "quote": "The quote 1 stands here.", "start": start, "end": end}
    citations = [
        {**citation, "label": label, "quote": f"The quote {label} stands here.", "end": end - 1 + len(str(label))}
        for label in range(1, passages // 2)
    ]
    answer = "".join(f"- The quote {label} stands here [{label}]. {filler[:500]}\n" for label in range(1, passages))
    flags = [{"kind": filler, "sentence": filler, "detail": filler}] * 50
    return {
        **record,
        "question": filler * 4,
        "answer": answer,
        "written": len(answer),
        "results": rows,
        "results_by_source": {f"{at}{filler}": rows[at : at + 9] for at in range(0, passages, 9)},
        "citations": citations,
        "citation_check": {**record["citation_check"], "flags": flags, "quotes": []},
        "notes": [filler] * 500,
        "sources": {
            f"{at}{filler}": {"status": filler, "queries": [filler] * 9, "error": filler, "found": 1, "kept": 1,
                              "dropped": {f"{at}{filler}": 1 for at in range(99)},
                              "degraded": [{"part": filler, "reason": filler}]}
            for at in range(99)
        },
        "strategies": {f"{at}{filler}": filler for at in range(99)},
        "timings_ms": {f"{at}{filler}": 1.0 for at in range(99)},
        "models": [{"role": filler, "model": filler, "error": filler}] * 99,
        "intent": {
            "mode": filler,
            "scope": filler,
            "text_queries": [filler] * 99,
            "filters": {f"{at}{filler}": {filler: filler} for at in range(99)},
            "raw_data": {f"{at}{filler}": filler for at in range(99)},
            "categories": [filler] * 99,
            "dropped": [{"field": filler, "value": filler, "kind": "unsaid", "reason": filler}] * 99,
        },
    }  # fmt: skip
