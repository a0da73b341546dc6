"""Whether a page of a PDF is ruled as tables are, by what pdfium tells; callers hold its lock."""

from __future__ import annotations

from collections import Counter
from typing import Any

from groundgraph.ingest.read_file import optional_package

# Fewer strokes rule no table of two rows and two columns.
_FEWEST_STROKES = 4


def is_ruled(page: Any) -> bool:
    """Whether a page has the strokes of a table, and stands upright in its own corner, as cells are measured."""
    raw = optional_package("pypdfium2.raw", "a PDF")
    box = page.get_mediabox()
    if page.get_rotation() or tuple(box[:2]) != (0, 0) or page.get_cropbox() != box:
        return False
    objects = (raw.FPDFPage_GetObject(page, number) for number in range(raw.FPDFPage_CountObjects(page)))
    kinds = Counter(map(raw.FPDFPageObj_GetType, objects))
    return kinds[raw.FPDF_PAGEOBJ_PATH] >= _FEWEST_STROKES or kinds[raw.FPDF_PAGEOBJ_FORM] > 0


def may_be_ruled(page: Any) -> bool:
    """As `is_ruled`, and True where that fails: whoever reads the tables tells why."""
    try:
        return is_ruled(page)
    except Exception:  # whatever a damaged page gives in place of its boxes
        return True
