"""Two users of two companies, whose documents stand in one base."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

SETTINGS = {
    "knowledge_base": {"fields": {"tenant": {"type": "string"}}},
    "retrieval": {"scope_filters": {"knowledge_base": {"tenant": "user.tenant"}}},
}
PUMP = "---\ntenant: {}\n---\n# Pump\n\nThe pump of {} is serviced every {} days.\n"
DOCUMENTS = {
    "acme.md": PUMP.format("acme", "acme", 30),
    "globex.md": PUMP.format("globex", "globex", 60),
    "valves.md": "# Valves\n\nValves are opened by hand.\n",
}


def users_file(folder: Path) -> Path:
    def hashed(name: str) -> str:
        return hashlib.sha256(f"{name}-token".encode()).hexdigest()

    table = {"alice": "acme", "bob": "globex"}
    written = {name: {"token_sha256": hashed(name), "tenant": tenant} for name, tenant in table.items()}
    file = folder / "users.json"
    file.write_text(json.dumps(written))
    return file
