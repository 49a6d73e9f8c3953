# Every command a person needs. `make help` lists them.
PYTHON ?= python3
CONSTRAINTS ?= -c constraints.txt
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test check format lint types contract bench faults clean

help:  ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | \
	  while IFS='|' read -r name text; do printf '  \033[36mmake %-10s\033[0m %s\n' "$$name" "$$text"; done

.venv/bin/python:
	$(PYTHON) -m venv .venv

# One stamp a set of dependencies: an install runs again when what it depends on has changed.
.venv/.installed-%: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[$*]' $(CONSTRAINTS)
	@touch $@

.venv/.installed: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --editable . $(CONSTRAINTS)
	@touch $@

install: .venv/.installed  ## Make .venv and install memshare into it

demo: install  ## Watch 54 tasks become answers, grades and shared memories
	@$(BIN)/memshare demo

test: .venv/.installed-test  ## Install what the tests need and run them all
	$(BIN)/pytest

check: format lint types contract test  ## Format, lint, types, import contract and tests

format: .venv/.installed-dev
	$(BIN)/ruff format --check .

lint: .venv/.installed-dev
	$(BIN)/ruff check .

types: .venv/.installed-dev
	$(BIN)/mypy

contract: .venv/.installed-test
	$(BIN)/lint-imports

bench: .venv/.installed-bench  ## Run every benchmark
	@for name in journey recall peers retriever credibility knowledge; do $(BIN)/python -m benchmarks.$$name || exit 1; done

faults: .venv/.installed-test  ## Break everything on purpose with 1,000 tasks in flight, and count what became of them
	$(BIN)/python -m tests.faults
	$(BIN)/python -m tests.faults.poison

clean:  ## Remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist *.egg-info
