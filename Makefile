# Everything needs only Python 3.11 to 3.13 and make; the rest is installed into .venv from the lock file.
PYTHON ?= python3
BIN := .venv/bin
export LANGGRAPH_STRICT_MSGPACK := true
export LANGSMITH_TRACING := false
# Compiled modules are kept whatever the environment says: the tests start the command line many hundred times.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo page test test-live test-slow test-live-slow test-long lint format docs site bench studio setup clean

demo: .venv/ready
	$(BIN)/groundgraph demo

# A page over the documents of the demo, on loopback.
page: .venv/ready
	$(BIN)/groundgraph demo --to build/demo
	$(BIN)/groundgraph serve build/demo

# The processes take whole files, in the order of tests/conftest.py: the long ones first.
PYTEST := $(BIN)/pytest -q --dist loadfile --no-loadscope-reorder --durations=15 --durations-min=5
# Tests wait for servers, processes and the disk: half as many processes again as there are cores.
MANY = -n $(shell $(PYTHON) -c "import os; print(os.cpu_count() * 3 // 2)")
# Property tests of what guards look for new examples: others for each commit, the same for one commit, so that a run
# which failed can be repeated.
EXPLORE = --explore-seed=$(shell printf '%d' 0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0))

test: .venv/ready
	$(PYTEST) $(MANY)

test-live: .venv/ready
	$(PYTEST) $(MANY) -m "live and not slow"

test-slow: .venv/ready
	$(PYTEST) $(MANY) -m "slow or (guard and not live)" --explore-runs=1 $(EXPLORE)

# The tiers behind `make test` in one run: collected once, and no process idles while another ends a tier.
test-live-slow: .venv/ready
	$(PYTEST) $(MANY) -m "live or slow or guard" --explore-runs=1 $(EXPLORE)

# By hand, fifty minutes: ten of new examples; then a hundred conversations at once on the page, over the graph with files
# and over it with servers, readers beside a writer, a thousand turns of one process, all public sets in servers, and pip in a newcomer's place of uv.
test-long: .venv/ready
	$(PYTEST) -n auto $(shell grep -rl "mark.guard" tests) -m "guard and not live" --explore-runs=20
	$(PYTEST) tests/serve/test_serve_load.py tests/graph/test_load.py tests/graph/test_many_turns.py \
		tests/sources/knowledge_base/test_words_endurance.py tests/sources/knowledge_base/test_quality.py \
		tests/evals/test_corpora_elsewhere.py tests/test_readme.py \
		-m long -o faulthandler_timeout=3600

# A LangGraph Server on loopback, without a key; LangGraph Studio connects to it.
studio: .venv/ready
	LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true $(BIN)/langgraph dev --no-browser

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/ready
	$(BIN)/python tests/support/pictures.py
	$(BIN)/python tests/support/page_states.py
	$(BIN)/python tests/support/checked_models.py

# The documentation with a reference of settings, prompts and names, in build/site.
site: .venv/ready
	$(BIN)/python scripts/site/build.py

bench: .venv/ready
	$(BIN)/python -m benchmarks

setup: .venv/ready

# uv is used from the path when it is there; otherwise it is installed into an environment of its own.
.venv/ready: pyproject.toml uv.lock
	@command -v uv >/dev/null 2>&1 || test -x .venv-uv/bin/uv || \
		($(PYTHON) -m venv .venv-uv && .venv-uv/bin/pip install -q uv)
	@if command -v uv >/dev/null 2>&1; then uv sync -q --frozen; \
		else .venv-uv/bin/uv sync -q --frozen; fi
	@touch $@

clean:
	rm -rf .venv .venv-uv build dist src/*.egg-info
