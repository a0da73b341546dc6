"""`checkpointer` and `store`: where threads and evidence are kept."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from groundgraph.core.section import Section


class SaverSettings(Section):
    """Where checkpoints, or the store's items, are kept: in memory, in a SQLite file at `path`, or with `postgres` at
    `url` (`postgresql://user@host/database`), over at most `pool_size` connections."""

    type: Literal["memory", "sqlite", "postgres"] = "sqlite"
    path: Path
    url: str = ""
    pool_size: Annotated[int, Field(ge=2)] = 10

    @model_validator(mode="after")
    def _url_belongs_to_postgres(self) -> Self:
        if self.type == "postgres" and not self.url.startswith(("postgresql://", "postgres://")):
            raise ValueError("type 'postgres' needs `url`: postgresql://user@host/database")
        if self.type != "postgres" and self.url:
            raise ValueError(f"`url` belongs to type 'postgres', but the type is '{self.type}'")
        return self


class CheckpointerSettings(SaverSettings):
    """Where `open_graph` keeps checkpoints."""

    path: Path = Path(".groundgraph/threads.sqlite")


class StoreSettings(SaverSettings):
    """Where `open_graph` keeps evidence and provenance records."""

    path: Path = Path(".groundgraph/evidence.sqlite")
