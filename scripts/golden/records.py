"""What the recordings search: texts by id, and for the small ones the fields by which they are filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden.vectors import FixedVectors


@dataclass(frozen=True)
class Records:
    """What one source is filled with.

    Attributes:
        name: of tables, files and collections; letters and `_`.
        rows: mappings with `id`, `body` and the fields.
        fields: specifications by name, as in `SourceSchema.fields`.
        vectors: the embedding model; None where nothing is embedded.
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vectors: FixedVectors | None = None

    def file(self, kind: str, ending: str) -> Path:
        """Where a source of this kind keeps them, below the working directory."""
        return Path(f"{kind}_{self.name}{'_vectors' if self.vectors else ''}.{ending}")


FIELDS: dict[str, dict[str, Any]] = {
    "severity": {"type": "string", "enum": ["critical", "minor", "none"]},
    "hall": {"type": "string"},
    "day": {"type": "date"},
    "year": {"type": "integer"},
    "cost": {"type": "number"},
    "open": {"type": "boolean"},
}

# id, severity, hall, day, cost, open, text.
_INCIDENTS = [
    ("i01", "critical", "north", "2024-01-15", 120.5, True, "Pump 17 leaked oil; its seal was replaced at night."),
    ("i02", "minor", "north", "2024-02-02", 15.0, False, "The seal of pump 17 was inspected and found dry."),
    ("i03", "none", "south", "2024-02-28", 0.0, False, "Pump 18 is serviced every 90 days by two technicians."),
    ("i04", "critical", "south", "2024-03-31", 980.0, True, "Pump 3 overheated: its coolant filter was clogged."),
    ("i05", "minor", "south", "2024-04-01", 44.25, False, "The coolant filter of pump 3 was cleaned."),
    ("i06", "none", "north", "2024-06-30", 0.0, False, "The drive belt is replaced after 2000 hours under full load."),
    ("i07", "critical", "east", "2024-09-09", 310.0, True, "Uneven wear of the drive belt stopped conveyor 4."),
    ("i08", "minor", "east", "2024-11-20", 27.8, True, "A lamp above conveyor 4 was replaced."),
    ("i09", "none", "east", "2025-01-01", 0.0, False, "Conveyor 4 runs at 1.5 metres a second."),
    ("i10", "critical", "north", "2025-02-14", 510.0, False, "The pressure valve of boiler 2 failed; steam escaped."),
    ("i11", "minor", "north", "2025-03-03", 61.0, True, "Boiler 2 lost pressure; the valve was adjusted."),
    ("i12", "none", "south", "2025-03-15", 0.0, False, "Pressure valves are tested with steam once a year."),
    ("i13", "critical", "O'Brien's", "2025-05-05", 77.0, True, "A technician slipped on oil beside pump 17."),
    ("i14", "minor", "O'Brien's", "2025-06-18", 9.99, False, "Oil stains beside pump 17 were removed."),
    ("i15", "none", "south", "2025-07-07", 0.0, False, "Oil is stored in room four and ordered every quarter."),
    ("i16", "critical", "север", "2025-08-08", 240.0, True, "Насос 17 протекает: заменено уплотнение насоса."),
    ("i17", "minor", "север", "2025-08-21", 33.0, False, "Уплотнение насоса осмотрено, течи нет."),
    ("i18", "none", "север", "2025-09-01", 0.0, False, "Насосы обслуживаются каждые девяносто дней."),
    ("i19", "critical", "east", "2025-10-10", 150.0, True, "Sensor X-200 reported 85 °C; the motor was shut down."),
    ("i20", "minor", "east", "2025-10-11", 12.0, False, "Sensor X-200 was calibrated."),
    ("i21", "none", "north", "2025-12-24", 0.0, False, "Seals, filters and belts are kept in store room four."),
    ("i22", "minor", "south", "2025-12-31", 5.5, True, "The door of store room four does not close."),
]  # fmt: skip


def incidents(vectors: FixedVectors | None = None) -> Records:
    """Twenty-two incidents of a plant, in two languages, with fields of every type that all sources know."""
    rows = [
        {"id": key, "body": body, "severity": severity, "hall": hall, "day": day, "year": int(day[:4]), "cost": cost,
         "open": is_open}
        for key, severity, hall, day, cost, is_open, body in _INCIDENTS
    ]  # fmt: skip
    return Records("incidents", rows, FIELDS, vectors)


QUESTIONS = [
    "Why did pump 17 leak?",
    "What was replaced, and when is the drive belt replaced?",
    "coolant filter",
    "How often are pumps serviced?",
    "Что случилось с насосом 17?",
    "pressure valve of boiler 2",
    "X-200",
    "Who won the regatta?",
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"severity": "critical"},
    {"severity": ["minor", "none"]},
    {"severity": {"not": "critical"}},
    {"hall": "O'Brien's"},
    {"hall": {"contains": "ort"}},
    {"day": {"gte": "2024-03-31", "lt": "2025-03-03"}},
    {"day": {"gt": "2025-03-03"}},
    {"year": 2024},
    {"year": {"gte": 2025}, "severity": "minor"},
    {"cost": {"gt": 50, "lte": 310}},
    {"open": True},
    {"open": False, "hall": ["north", "север"]},
    {"hall": "west"},
]
