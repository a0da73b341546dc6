"""A small shop: customers, orders of theirs, and a table that no source is told of."""

from __future__ import annotations

from pathlib import Path

from plant_database import fill

_SCRIPT = """
create table customers(id integer primary key, name text, city text);
create table orders(id integer primary key, customer integer references customers(id), buyer_id integer,
    amount real, pieces integer, status text, opened date, shipped date);
create table secrets(id integer primary key, word text);
"""
CUSTOMERS = [(101, "Acme", "Oslo"), (102, "Bolt", "Rome"), (300, "Core", "Oslo")]
ORDERS = [
    (1, 101, 7, 10.0, 3, "open", "2026-03-01", "2026-04-01"),
    (2, 102, 8, 20.0, 1, "open", "2026-03-05", None),
    (3, 300, 9, 70.0, 2, "closed", "2026-05-05", "2026-05-06"),
    (4, 102, 9, 50.0, 2, "closed", "2025-03-05", "2025-05-06"),
]
RELATIONS = ["orders.customer = customers.id"]
SECRET = "swordfish"


def shop(folder: Path) -> Path:
    return fill(folder / "shop.sqlite", _SCRIPT, customers=CUSTOMERS, orders=ORDERS, secrets=[(1, SECRET)])
