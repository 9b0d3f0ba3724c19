# make run     set up, then one test: a cluster, operations, network partitions, a verdict
# make test    set up with Docker and the test extras, then the whole suite
# make lint    only ruff, mypy and the import contracts
# make setup   only the set-up of `make run`

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Arguments of `python -m framework run`.
ARGS ?= --nemesis partition

# Three workers for two cores: one of them has most tests with clusters, another those with Spark.
# A group of tests stays in one worker, one after the other; tests/conftest.py says which are one,
# and puts the long ones first.
PYTEST_ARGS ?= -n 3 --dist loadgroup --no-loadscope-reorder --durations=25

# Byte code is kept, whatever the environment says: tests start hundreds of processes of our own.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test lint setup setup-test
help:
	@sed -n 's/^# //p' Makefile | head -n 3

run: setup
	$(BIN)/python -m framework run $(ARGS)

# While mypy has one core, the other compiles the byte code of all tests: else each of the workers does.
test: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 & $(BIN)/mypy; code=$$?; wait; exit $$code
	$(BIN)/lint-imports
	$(BIN)/pytest $(PYTEST_ARGS)

lint: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

setup:
	@PYTHON=$(PYTHON) VENV=$(VENV) scripts/setup.sh run

setup-test:
	@PYTHON=$(PYTHON) VENV=$(VENV) scripts/setup.sh test
