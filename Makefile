# Everything needs only Python 3.11 to 3.13 and make; the rest is installed into .venv from the lock file.
PYTHON ?= python3
BIN := .venv/bin
export LANGGRAPH_STRICT_MSGPACK := true
export LANGSMITH_TRACING := false
# Compiled modules are kept whatever the environment says: the tests start the command line many hundred times.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-live test-slow test-long lint format docs bench studio setup clean

demo: .venv/ready
	$(BIN)/groundgraph demo

test: .venv/ready
	$(BIN)/pytest -q -n auto --dist loadfile --durations=15 --durations-min=5

test-live: .venv/ready
	$(BIN)/pytest -q -n auto --dist loadfile --durations=15 --durations-min=5 -m "live and not slow"

# Behind the slow tests a minute in all of new examples for the property tests of what guards: others for each commit,
# the same for one commit, so that a run which failed can be repeated.
GUARDS = $(shell grep -rl "mark.guard" tests)
SEED = $(shell printf '%d' 0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0))
test-slow: .venv/ready
	$(BIN)/pytest -q -n auto --dist loadfile --durations=15 --durations-min=5 -m slow
	$(BIN)/pytest -q $(GUARDS) -m "guard and not live" --hypothesis-profile=explore --explore-seconds=60 \
		--explore-seed=$(SEED)

# By hand, since it takes longer than five minutes: ten minutes of new examples.
test-long: .venv/ready
	$(BIN)/pytest -q $(GUARDS) -m "guard and not live" --hypothesis-profile=explore --explore-seconds=600

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
