# Commands for developers. They need Python 3.11+, make and a package registry, nothing else.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip
PYTHONS := 3.11 3.12 3.13
PLATFORMS := x86_64-manylinux_2_28 aarch64-manylinux_2_28 aarch64-apple-darwin
# The one package that is built from source on some of them: it has no wheels for Linux on aarch64.
BUILT := wordllama
# A Python that is named, and is not the one .venv was made of, gets a new .venv; python3 alone takes what is there.
VERSION := -c 'import sys; print(sys.version_info[:2])'
ifneq ($(origin PYTHON),file)
ifneq ($(wildcard $(BIN)/python),)
ifneq ($(shell $(PYTHON) $(VERSION)),$(shell $(BIN)/python $(VERSION)))
OTHER := another-python
endif
endif
endif
# Tests start hundreds of processes: none should compile what another has compiled before.
unexport PYTHONDONTWRITEBYTECODE

REFUSE_OLD := import sys; sys.version_info < (3, 11) and sys.exit("Holdfast needs Python 3.11 or newer, and %s is %d.%d: \
    name another with PYTHON=…" % ((sys.executable,) + sys.version_info[:2]))

.DEFAULT_GOAL := help
.PHONY: another-python help run test thorough sample check bench smoke schema upgrade

help: ## show these commands
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1	\2/'

run: .venv/ready ## ingest the sample library through every phase, and search it
	$(BIN)/python examples/tour.py

test: .venv/ready ## run the tests (set HOLDFAST_TEST_DATABASE_URL to run them on that server too)
	$(BIN)/pytest -n 3 -m 'not thorough'

thorough: .venv/ready ## run the tests that make test leaves out: a million rows, large files, outages of a minute
	$(BIN)/pytest -n 3 -m thorough --ignore tests/weather
	$(BIN)/pytest -n 5 -m thorough tests/weather  # these mostly wait

sample: .venv/ready ## run the tests of tests/sample.txt: some of every package, library and extra, in minutes
	$(BIN)/pytest -n 3 -m 'not thorough' $$(grep -v '^#' tests/sample.txt)

check: .venv/ready ## format, lint, types, layers, then make test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

schema: .venv/ready ## write the schema's dump anew, to be reviewed with the change that made it differ
	HOLDFAST_WRITE_SCHEMA=1 $(BIN)/pytest tests/engine/test_schema_dump.py

bench: .venv/ready ## measure speed, printed as ratios
	$(BIN)/python -m bench

smoke: .venv/ready ## start and end every benchmark, at sizes that prove nothing else
	$(BIN)/python -m bench --smoke

upgrade: .venv/ready ## lock the newest versions that pyproject.toml allows, for every Python and platform
	$(UV) compile --quiet --upgrade --universal --python-version $(firstword $(PYTHONS)) --generate-hashes \
	    --no-header --all-extras --group dev --output-file requirements.lock pyproject.toml
	for python in $(PYTHONS); do for platform in $(PLATFORMS); do \
	    MACOSX_DEPLOYMENT_TARGET=14.0 $(UV) compile --quiet --no-deps --only-binary :all: --no-binary $(BUILT) \
	        --python-version $$python --python-platform $$platform --output-file .venv/installable requirements.lock \
	        || exit 1; done; done
	$(MAKE) .venv/ready

another-python:

# Nothing is resolved: the lock names every version and its hashes. uv does in seconds what takes pip minutes; pip knows
# the registry that this machine is set up for, so it fetches uv, and all the rest where uv cannot.
.venv/ready: pyproject.toml requirements.lock $(OTHER)
	@test -x $(BIN)/python && test -z "$(OTHER)" || $(PYTHON) -c '$(REFUSE_OLD)'
	test -x $(BIN)/python && test -z "$(OTHER)" || $(PYTHON) -m venv --clear .venv
	sed -n '/^uv==/,/^    #/p' requirements.lock > .venv/uv.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement .venv/uv.txt
	$(UV) sync --quiet --python $(BIN)/python --require-hashes requirements.lock \
	    || $(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@
