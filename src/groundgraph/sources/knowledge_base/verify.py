"""Is every chunk of a base in one file there, and what the text of its document has at its place?"""

from __future__ import annotations

import sqlite3

from groundgraph.core.knowledge_store import Verified

_LOST = """
SELECT name FROM documents WHERE chunks <> (SELECT count(*) FROM chunks WHERE document_id = documents.id)
UNION SELECT name FROM chunks JOIN documents ON documents.id = document_id
    WHERE chunks.id NOT IN (SELECT chunk_id FROM texts)
UNION SELECT name FROM texts JOIN documents ON documents.id = document_id
    WHERE texts.id NOT IN (SELECT id FROM text_stems_docsize)
ORDER BY name
"""


def look(connection: sqlite3.Connection) -> Verified:
    """What is wrong; nothing is changed. What a model wrote stands in no text, so only its presence can be told."""
    found = Verified()
    found.incomplete = [name for (name,) in connection.execute(_LOST)]
    for number, name, text in connection.execute("SELECT id, name, text FROM documents ORDER BY name"):
        found.documents += 1
        is_altered = False
        own = connection.execute('SELECT start, "end", derived, text FROM chunks WHERE document_id = ?', (number,))
        for start, end, derived, chunk in own:
            found.chunks += 1
            is_altered |= not derived and text[start:end] != chunk
        if is_altered and name not in found.incomplete:
            found.altered.append(name)
    return found
