FROM langchain/langgraph-api:0.16.7-py3.11

ENV LANGGRAPH_STRICT_MSGPACK=true UV_NO_DEV=1

# -- Installing dependencies from uv.lock --
ADD pyproject.toml /tmp/uv_export/project/pyproject.toml
ADD uv.lock /tmp/uv_export/project/uv.lock
WORKDIR /tmp/uv_export/project
RUN uv export --package groundgraph --frozen --no-hashes --no-emit-project --no-emit-workspace -o uv_requirements.txt
RUN PYTHONDONTWRITEBYTECODE=1 uv pip install --system --no-cache-dir -c /api/constraints.txt -r uv_requirements.txt
RUN rm -rf /tmp/uv_export
# -- End of uv.lock dependencies install --

# -- Adding workspace package . --
ADD LICENSE /deps/workspace/LICENSE
ADD README.md /deps/workspace/README.md
ADD examples /deps/workspace/examples
ADD langgraph.json /deps/workspace/langgraph.json
ADD pyproject.toml /deps/workspace/pyproject.toml
ADD src /deps/workspace/src
ADD uv.lock /deps/workspace/uv.lock
WORKDIR /deps/workspace
RUN PYTHONDONTWRITEBYTECODE=1 uv pip install --system --no-cache-dir -c /api/constraints.txt --no-deps -e .
# -- End of workspace package . --

ENV LANGGRAPH_STORE='{"ttl": {"refresh_on_read": true, "default_ttl": 129600, "sweep_interval_minutes": 60}}'
ENV LANGGRAPH_HTTP='{"app": "groundgraph.serve.server_page:app"}'
ENV LANGGRAPH_CHECKPOINTER='{"ttl": {"strategy": "delete", "default_ttl": 43200, "sweep_interval_minutes": 60}, "serde": {"allowed_json_modules": null, "allowed_msgpack_modules": null, "pickle_fallback": false}}'
ENV LANGSERVE_GRAPHS='{"turn": {"path": "groundgraph.graph.server:turn", "description": "One turn of grounded question answering: intent, retrieval, answer, citation check, provenance."}, "retrieval": {"path": "groundgraph.graph.server:retrieval", "description": "Intent, retrieval and merging only: a context with labels, the evidence and its record, for an agent that writes the answer itself."}, "ingest": {"path": "groundgraph.graph.server:ingest", "description": "Documents into the knowledge base: load, chunk, qualifying and matching texts, embed, write; what did not change is left as it is."}, "ask": {"path": "groundgraph.graph.server:ask", "description": "Answers one question from the knowledge base, with citations that can be checked; it says so when the sources do not hold an answer."}}'

# -- Ensure user deps didn't inadvertently overwrite langgraph-api
RUN mkdir -p /api/langgraph_api /api/langgraph_runtime /api/langgraph_license && touch /api/langgraph_api/__init__.py /api/langgraph_runtime/__init__.py /api/langgraph_license/__init__.py
RUN PYTHONDONTWRITEBYTECODE=1 uv pip install --system --no-cache-dir --no-deps -e /api
# -- End of ensuring user deps didn't inadvertently overwrite langgraph-api --
# -- Removing build deps from the final image ~<:===~~~ --
RUN pip uninstall -y pip setuptools wheel
RUN rm -rf /usr/local/lib/python*/site-packages/pip* /usr/local/lib/python*/site-packages/setuptools* /usr/local/lib/python*/site-packages/wheel* && find /usr/local/bin -name "pip*" -delete || true
RUN rm -rf /usr/lib/python*/site-packages/pip* /usr/lib/python*/site-packages/setuptools* /usr/lib/python*/site-packages/wheel* && find /usr/bin -name "pip*" -delete || true
RUN uv pip uninstall --system pip setuptools wheel && rm /usr/bin/uv /usr/bin/uvx

WORKDIR /deps/workspace