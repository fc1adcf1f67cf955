# Commands for developers. They need Python 3.11+, make and a package registry, nothing else.
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of processes: none should compile what another has compiled before.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check bench schema

help: ## show these commands
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1	\2/'

run: .venv/ready ## ingest the sample library through every phase, and search it
	$(BIN)/python examples/tour.py

test: .venv/ready ## run every test (set HOLDFAST_TEST_DATABASE_URL to run them on that server too)
	$(BIN)/pytest -n 3

check: .venv/ready ## format, lint, types, layers, then every test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

schema: .venv/ready ## write the schema's dump anew, to be reviewed with the change that made it differ
	HOLDFAST_WRITE_SCHEMA=1 $(BIN)/pytest tests/engine/test_schema_dump.py

bench: .venv/ready ## measure speed, printed as ratios
	$(BIN)/python -m bench

.venv/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[ocr,audio,mcp,otel,dashboard]' --group dev
	touch $@
