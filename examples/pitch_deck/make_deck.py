"""Writes `deck.pdf`, the deck of a company that does not exist; needs `pip install reportlab`."""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.pagesizes import A4, landscape
from reportlab.pdfgen.canvas import Canvas

FOOTER = "Wardline - series b - software for hospitals"
PAGES = [
    ["The problem", "Shifts on a ward are planned on paper.", "Nurses swap them by telephone, in the evening."],
    ["Our solution", "One plan that everybody sees.", "Whoever wants to swap asks the plan."],
    ["How we get to hospitals", "Leads, demos, trials, deals.", "Our funnel converts at 4 percent."],
    ["Growth", "Revenue tripled in two years.", "61 hospitals in five countries."],
    ["What we are raising", "20 million euros.", "Half product, a third sales, the rest operations."],
    ["Thank you"],
]


def write_deck(path: Path) -> None:
    """Write the deck to `path`, a page for each of `PAGES`; the same bytes each time."""
    canvas = Canvas(str(path), pagesize=landscape(A4), invariant=1)
    canvas.setTitle("Wardline")
    for title, *lines in PAGES:
        canvas.setFont("Helvetica-Bold", 32)
        canvas.drawString(60, 480, title)
        canvas.setFont("Helvetica", 22)
        for number, line in enumerate(lines):
            canvas.drawString(60, 400 - 50 * number, line)
        canvas.setFont("Helvetica", 12)
        canvas.drawString(60, 40, FOOTER)
        canvas.showPage()
    canvas.save()


if __name__ == "__main__":
    write_deck(Path(__file__).parent / "deck.pdf")
