# The index of what can be done here. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml requirements.lock
	@echo "Making the environment in $(VENV). torch and what it brings take 6 GB on disk, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps -e .
	@touch $@

.PHONY: install
install: $(STAMP) ## make the environment from the lock file

include demo.mk
include kafka.mk
include compose.mk
include evaluate.mk
include bench.mk
include verify.mk
include hostile.mk
include chaos.mk
include memory.mk

.PHONY: test
test: $(STAMP) kafka-jars ## every test: unit, mock_cluster, kafka; gpu where there is one
	$(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: unit
unit: $(STAMP) ## the fast tests: no Kafka, no torch, no waiting
	$(BIN)/python -m pytest tests/unit

.PHONY: redis-matrix
redis-matrix: $(STAMP) ## what each fault of Redis does to scores, records and time: a line each
	$(BIN)/python -m tests.redis.matrix

.PHONY: lint
lint: $(STAMP) ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

.PHONY: mutants
mutants: $(STAMP) kafka-jars ## one-line bugs, one by one: each must turn a named test red
	$(BIN)/python -m tests.mutants.run

.PHONY: show-check
show-check: $(STAMP) ## five mistakes at once, and what `consumer check` says of them
	$(BIN)/python scripts/show_check.py

.PHONY: show-score
show-score: $(STAMP) ## 1,000 lines, hostile ones among them: one answer for each
	$(BIN)/python scripts/show_score.py

.PHONY: docs
docs: $(STAMP) ## write the generated pages of docs/ anew
	$(BIN)/python -m consumer.settings_docs > docs/configuration.md
	$(BIN)/python -m consumer.ops.metrics_doc > docs/metrics.md

.PHONY: lock
lock: ## resolve the ranges of pyproject.toml into requirements.lock (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet --output-file requirements.lock

.PHONY: clean
clean: ## remove the environment and everything generated
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/kafka/lib
