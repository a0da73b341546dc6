#!/usr/bin/env bash
# Installs what is committed, without an extra, into a folder of its own, and prints what that takes.
set -euo pipefail
uv=$(command -v uv || echo "$PWD/.venv-uv/bin/uv")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tree"
# Without Git, what stands in the folder.
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then git archive HEAD; else tar -c --exclude=./.venv* .; fi |
  tar -x -C "$folder/tree"
"$uv" venv -q "$folder/plain"
before=$SECONDS
"$uv" pip install -q --python "$folder/plain/bin/python" "$folder/tree"
took=$((SECONDS - before))
packages=$("$uv" pip freeze -q --python "$folder/plain/bin/python" | wc -l)
"$folder/plain/bin/groundgraph" --version
echo "A plain install takes $took s, $packages packages, $(du -sm "$folder/plain" | cut -f1) MB."
