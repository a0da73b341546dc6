"""`knowledge_base.weaviate`: the server that holds a knowledge base."""

from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt, SecretStr

from groundgraph.core.section import Section


class WeaviateSettings(Section):
    """The server that holds the knowledge base with `backend: weaviate`."""

    url: str = "http://127.0.0.1:8080"
    grpc_host: str = Field("", description="where gRPC is when it is not on the host of `url`")
    grpc_port: int = Field(50051, ge=1, le=65_535)
    api_key: SecretStr | None = Field(None, description="from the environment only")
    headers: dict[str, str] = Field({}, description="sent with every request")
    prefix: str = Field("Groundgraph", description="what the names of the collections begin with")
    consistency: Literal["one", "quorum", "all"] | None = Field(None, description="how many replicas must agree")
    replicas: PositiveInt = Field(1, description="on how many nodes each object is kept, when the base is made")
    tenant_from: str = Field(
        "", description="a text field: records that have it are kept apart by its value, in a tenant of Weaviate"
    )
    request_timeout: PositiveFloat = Field(30, description="seconds for one request")
