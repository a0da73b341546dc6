"""`knowledge_base`: where it is kept, and what goes into it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PositiveInt

from groundgraph.core.document_settings import ChunkerSettings, CustomSchemaSettings, MetadataSettings, ReaderSettings
from groundgraph.core.model_settings import EmbeddingSettings
from groundgraph.core.section import Section
from groundgraph.core.topic_settings import OptionalTopicIndex
from groundgraph.core.weaviate_settings import WeaviateSettings
from groundgraph.core.web_settings import WebSettings


class KnowledgeBaseSettings(Section):
    """The knowledge base (R5), embedded or in Weaviate. Paths start at the folder of the configuration file."""

    path: Path | None = Field(None, description="the documents that `groundgraph ingest` takes in by default")
    follow_links: bool = Field(False, description="links that lead out of a given folder, to files and folders alike")
    backend: Literal["embedded", "weaviate"] = Field("embedded", description="one file, or a server for many machines")
    file: Path = Field(Path(".groundgraph/knowledge_base.sqlite"), description="that of the embedded base")
    weaviate: WeaviateSettings = WeaviateSettings()
    chunker: ChunkerSettings = ChunkerSettings()
    embeddings: EmbeddingSettings | None = Field(None, description="those of the top level when absent")
    vector_weight: float = Field(0.5, ge=0, le=1, description="share of the vectors where words and vectors are fused")
    fields: dict[str, dict[str, Any]] = Field({})
    metadata: MetadataSettings = MetadataSettings()
    schemas: dict[str, CustomSchemaSettings] = Field({})
    web: WebSettings = WebSettings()
    concurrency: PositiveInt = Field(4, le=64, description="documents that are processed at once")
    passwords: dict[str, str] = Field({}, description="passwords of PDF files by a glob over their names")
    reader: ReaderSettings = ReaderSettings()
    topic_index: OptionalTopicIndex = Field(
        None, description="search by topics; for knowledge bases among the sources that have no own"
    )
