# Every target does its own set-up: a Python of at least 3.11 is all that must be there.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# PYTHON=… chooses the interpreter that .venv is made from; it is looked for otherwise.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Tests start hundreds of processes: each is faster if Python keeps compiled files.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test test-slow test-oldest test-spark bench coverage docs release-notes web chromium clean

help: ## list what there is
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: $(READY) ## design, verify and draw a made-up federation of 2000 brokers
	@$(BIN)/python -m meshwright demo --out out/demo

test: $(READY) chromium ## style, types, import contract, then unit, property and doc tests
	@echo "== ruff" && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "== mypy --strict" && $(BIN)/mypy --strict
	@echo "== import contract" && $(BIN)/lint-imports --no-logo
	@echo "== pytest" && $(BIN)/python -m pytest --numprocesses 2 --dist loadgroup --no-loadscope-reorder

LAWS := tests/greedy tests/designs tests/bounds tests/search tests/dynamic tests/churn tests/routes tests/filters

test-slow: $(READY) chromium ## the tests that take minutes, and the laws of the engine on ten times the examples
	@$(BIN)/python -m pytest -m slow
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup --hypothesis-profile thorough $(LAWS)
	@$(MAKE) --no-print-directory test-spark

# SPARKS=3.5 chooses one version. Each has an environment of its own under build/.
SPARKS ?= 3.5 4.0 4.1
# These versions of PySpark leave the sockets of their jobs to the garbage collector; 3.5 uses distutils.
ALLOWED := -W ignore::DeprecationWarning -W ignore::pytest.PytestUnraisableExceptionWarning

test-spark: $(SPARKS:%=test-spark-%) ## the tests of the pipeline, on each version of Spark that is supported

test-spark-%: build/spark-%/.ready
	@echo "== Spark $*" && build/spark-$*/bin/python -m pytest $(ALLOWED) tests/pipeline

.PRECIOUS: build/spark-%/.ready
build/spark-%/.ready: $(READY)
	@echo "setting up build/spark-$* (once; a download of up to 450 MB)"
	@$(BIN)/python -m venv --clear build/spark-$*
	@build/spark-$*/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev]' 'pyspark[connect]==$*.*' setuptools
	@touch $@

test-oldest: ## the tests with the oldest dependencies that are allowed, in .venv-oldest
	@PIP_CONSTRAINT=$(CURDIR)/tests/oldest.txt $(MAKE) --no-print-directory VENV=.venv-oldest .venv-oldest/.ready
	@.venv-oldest/bin/python -m pytest --numprocesses 2 --dist loadgroup --no-loadscope-reorder

bench: $(READY) ## measure speed and memory on this machine, into benchmarks/RESULTS.md
	@$(BIN)/python -m meshwright bench

coverage: $(READY) ## branch coverage of the engine, kernels included, with the JIT off
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/greedy \
	    --cov=meshwright.greedy --cov-branch --cov-report=term-missing

docs: $(READY) ## build the site with its generated parts: commands, Python, designs, files
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[docs]'
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env -q docs docs/_build && echo "open docs/_build/index.html"

release-notes: ## print what the changelog says of the newest version
	@awk '/^## / { if (seen++) exit; next } seen' CHANGELOG.md

web: ## build the graph view of reports with npm, into src/meshwright/report/assets
	@command -v npm >/dev/null || { echo "make: error: no npm found: install Node.js 20 or newer" >&2; exit 1; }
	@cd web && npm ci --no-audit --no-fund --silent && npm run --silent build

chromium: # where root can install it, tests of pages need not be skipped
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	    { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update >/dev/null 2>&1 && \
	      DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium >/dev/null 2>&1; } || \
	    echo "no Chromium to be had: tests of pages in a browser are skipped"

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) .venv-oldest build dist out docs/_build docs/designs web/node_modules src/*.egg-info htmlcov .coverage .coverage.*
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@set -e; \
	if ! $(BIN)/python -c 'import pip' 2>/dev/null; then \
	    for candidate in $(PYTHON) python3 python python3.14 python3.13 python3.12 python3.11 none; do \
	        if [ $$candidate = none ]; then \
	            echo "make: error: no Python of at least 3.11 with venv found: install one (on Debian: python3-venv), or say make PYTHON=/path/to/python3" >&2; \
	            exit 1; \
	        fi; \
	        if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	    done; \
	    echo "setting up $(VENV) with $$($$candidate -V) (once; takes a minute)"; \
	    $$candidate -m venv --clear $(VENV); \
	fi; \
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'; \
	touch $@
