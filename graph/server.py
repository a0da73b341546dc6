"""The graphs that `langgraph.json` names.

The server brings its own checkpointer and store, and refuses to start on a graph that was compiled with one. The
configuration is the file named by `GROUNDGRAPH_CONFIG`, else the nearest `groundgraph.yaml`, else the defaults.
"""

from __future__ import annotations

import os

from groundgraph.core.load_settings import find_settings_file, load_settings
from groundgraph.graph.retrieval import retrieval_graph
from groundgraph.graph.turn import turn_graph

settings = load_settings(os.environ.get("GROUNDGRAPH_CONFIG") or find_settings_file())
turn = turn_graph(settings)
retrieval = retrieval_graph(settings)
