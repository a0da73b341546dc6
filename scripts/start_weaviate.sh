#!/usr/bin/env bash
# Starts the Weaviate server of the tests by hand, in the foreground, on loopback; Ctrl-C ends it.
#
#   scripts/start_weaviate.sh [FOLDER_FOR_DATA] [HTTP_PORT] [GRPC_PORT]
#
# The defaults are .groundgraph/weaviate, 8080 and 50051. Weaviate cannot bind gRPC and its cluster's data port to
# loopback: where others reach this machine, keep them out with a firewall.
set -euo pipefail
data=$(realpath -m "${1:-.groundgraph/weaviate}")
http=${2:-8080}
grpc=${3:-50051}
cache=${GROUNDGRAPH_CACHE:-$HOME/.cache/groundgraph-weaviate}
server=${GROUNDGRAPH_WEAVIATE:-$cache/weaviate-server}
if [ ! -x "$server" ]; then
    echo "$server is not there; run scripts/install_services.sh weaviate" >&2
    exit 1
fi
mkdir -p "$data"
export PERSISTENCE_DATA_PATH=$data GRPC_PORT=$grpc
export AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true DISABLE_TELEMETRY=true API_BASED_MODULES_DISABLED=true
# With auto-schema, a write to a node that is still starting may make a collection anew. With synchronous indexing,
# `kill -9` loses vectors that were acknowledged.
export AUTOSCHEMA_ENABLED=false ASYNC_INDEXING=true GO_PROFILING_DISABLE=true LOG_LEVEL=${LOG_LEVEL:-warning}
export CLUSTER_HOSTNAME=node1 CLUSTER_IN_LOCALHOST=true CLUSTER_ADVERTISE_ADDR=127.0.0.1 CLUSTER_BIND_ADDR=127.0.0.1
export RAFT_BOOTSTRAP_EXPECT=1 RAFT_HEARTBEAT_TIMEOUT=1 RAFT_ELECTION_TIMEOUT=1 RAFT_LEADER_LEASE_TIMEOUT=1
export CLUSTER_GOSSIP_BIND_PORT=$((http + 1)) CLUSTER_DATA_BIND_PORT=$((http + 2))
export RAFT_PORT=$((http + 3)) RAFT_INTERNAL_RPC_PORT=$((http + 4))
echo "Weaviate: http://127.0.0.1:$http, gRPC port $grpc, data in $data" >&2
exec "$server" --scheme http --host 127.0.0.1 --port "$http"
