"""`knowledge_base`: where it is kept, what goes into it, how pages are fetched; and `chains`, which prepare it."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
)

from groundgraph.settings.section import Section
from groundgraph.settings.services import EmbeddingSettings
from groundgraph.settings.topics import OptionalTopicIndex

# `knowledge_base.weaviate`: the server that holds a knowledge base.


class WeaviateSettings(Section):
    """The server that holds the knowledge base with `backend: weaviate`."""

    url: str = Field("http://127.0.0.1:8080", description="the address of the server")
    grpc_host: str = Field("", description="where gRPC is when it is not on the host of `url`")
    grpc_port: int = Field(50051, ge=1, le=65_535, description="the port of gRPC")
    api_key: SecretStr | None = Field(None, description="from the environment only")
    headers: dict[str, str] = Field({}, description="sent with every request")
    prefix: str = Field("Groundgraph", description="what the names of the collections begin with")
    consistency: Literal["one", "quorum", "all"] | None = Field(None, description="how many replicas must agree")
    replicas: PositiveInt = Field(1, description="on how many nodes each object is kept, when the base is made")
    tenant_from: str = Field(
        "", description="a text field: records that have it are kept apart by its value, in a tenant of Weaviate"
    )
    request_timeout: PositiveFloat = Field(30, description="seconds for one request")


# `knowledge_base.web`: how web pages are fetched.


class WebSettings(Section):
    """How web pages are fetched."""

    max_bytes: PositiveInt = Field(5_000_000, description="the largest page")
    timeout: PositiveFloat = Field(20, description="seconds for one page with all its redirects")
    max_redirects: NonNegativeInt = Field(5, description="how many are followed")
    user_agent: str = Field("groundgraph", description="the name that servers are told")
    obey_robots: bool = Field(True, description="leave out what `robots.txt` forbids")
    allow_private: bool = Field(
        False,
        description="fetch from this machine and from private networks too; "
        "link-local and metadata addresses stay refused",
    )


# What is known of documents and records before they are read: chunks, metadata, fields.


class ChunkerSettings(Section):
    """How documents are cut into chunks."""

    strategy: Literal["markdown"] = Field("markdown", description="by headings and paragraphs; the only one")
    max_chunk_size: int = Field(800, ge=100, le=20_000, description="characters")


class ReaderSettings(Section):
    """The limits of the processes that read documents, one for each core: a file that passes one is not taken in."""

    memory: ByteSize = Field(ByteSize(1_000_000_000), ge=100_000_000, description="of each process, such as 1GB")
    seconds: PositiveFloat = Field(60, le=86_400, description="for one file")


class PathRule(Section):
    """Metadata for the documents whose name matches a pattern."""

    path: str = Field(description="a glob over document names: * within a folder, ** across folders")
    set: dict[str, Any] = Field(description="the fields and their values")


class MetadataSettings(Section):
    """Where the fields of documents come from beside their front matter, which wins over both."""

    rules: list[PathRule] = Field([])
    sidecar: str | None = Field(
        "metadata.yaml", description="a file in a folder of documents that maps names below it to fields"
    )


class CustomSchemaSettings(Section):
    """A kind of data of one's own: records that Python or a larger graph writes."""

    fields: dict[str, dict[str, Any]] = Field(description="its fields by name, with their type")
    content: list[str] = Field([], description="the fields that make the text, in order; all of them when empty")
    id: str | None = Field(None, description="the field that identifies a record; a hash of its content when absent")
    description: str = Field("", description="what the records are, in a sentence")


# `chains`: the chains by kind of data, and those of a query.

# A chain by its name, or a mapping with `name` and the options of that chain.
ChainChoice = str | dict[str, Any]


class KindChains(Section):
    """The ingest chains of one kind of data."""

    chunker: ChainChoice = Field("document", description="cuts a document into chunks")
    matching_text: ChainChoice = Field("content", description="writes the texts by which a chunk is found")
    qualifying_text: ChainChoice = Field("document", description="writes what a chunk is about, for models and readers")


class QueryChainSettings(Section):
    """The query chains, which the whole base shares."""

    transformer: ChainChoice = Field("identity", description="rewrites a query")
    reranker: ChainChoice = Field("identity", description="judges the matches")
    filter: ChainChoice = Field("basic", description="drops matches with low scores")
    candidates_count: PositiveInt = Field(30, le=1000, description="how many matches are judged")
    keep: PositiveInt | None = Field(None, description="an upper bound for top_k")
    match_cutoff: float = Field(0.5, ge=0, le=1, description="the least score of a match")
    rerank_cutoff: float = Field(0.5, ge=0, le=1, description="the least score by the reranker")


class ChainSettings(BaseModel):
    """The chains by kind of data; keys beside these are custom schemas."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, KindChains]

    documents: KindChains = KindChains()
    web_pages: KindChains = KindChains()
    query: QueryChainSettings = QueryChainSettings()

    @property
    def own_prompts(self) -> frozenset[str]:
        """The prompts that options of the chains name; those that are not shipped are files of the user's."""
        sections = (self.documents, self.web_pages, self.query, *(self.model_extra or {}).values())
        choices = [choice for section in sections for _, choice in section if isinstance(choice, dict)]
        return frozenset(str(choice["prompt"]) for choice in choices if choice.get("prompt"))

    def of_kind(self, kind: str) -> KindChains:
        """The chains of `kind`; those of `documents` unless it has its own."""
        own = {"documents": self.documents, "web_pages": self.web_pages, **(self.model_extra or {})}
        found: KindChains = own.get(kind, self.documents)
        return found


def known_encoding(name: str) -> str:
    """`name` itself.

    Raises:
        ValueError: Python knows no encoding of text by that name.
    """
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        raise ValueError(f"there is no encoding '{name}'; cp1251 and latin-1 are some") from None
    return name


class KnowledgeBaseSettings(Section):
    """The knowledge base, embedded or in Weaviate. Paths start at the folder of the configuration file."""

    path: Path | None = Field(None, description="the documents that `groundgraph ingest` takes in by default")
    follow_links: bool = Field(False, description="links that lead out of a given folder, to files and folders alike")
    backend: Literal["embedded", "weaviate"] = Field("embedded", description="one file, or a server for many machines")
    file: Path = Field(Path(".groundgraph/knowledge_base.sqlite"), description="that of the embedded base")
    weaviate: WeaviateSettings = WeaviateSettings()
    chunker: ChunkerSettings = ChunkerSettings()
    embeddings: EmbeddingSettings | None = Field(None, description="those of the top level when absent")
    vector_weight: float = Field(0.5, ge=0, le=1, description="share of the vectors where words and vectors are fused")
    fields: dict[str, dict[str, Any]] = Field(
        {},
        description="fields of documents that filters may name, by name with their type",
    )
    metadata: MetadataSettings = MetadataSettings()
    schemas: dict[str, CustomSchemaSettings] = Field({}, description="kinds of records of your own, by name")
    web: WebSettings = WebSettings()
    concurrency: PositiveInt = Field(4, le=64, description="documents that are processed at once")
    passwords: dict[str, str] = Field({}, description="passwords of PDF files by a glob over their names")
    encodings: dict[str, Annotated[str, AfterValidator(known_encoding)]] = Field(
        {}, description="encodings of text files without a byte order mark by a glob over their names"
    )
    reader: ReaderSettings = ReaderSettings()
    topic_index: OptionalTopicIndex = Field(
        None, description="search by topics; for knowledge bases among the sources that have no own"
    )
