# Every command a person needs. `make help` lists them.
PYTHON ?= python3
CONSTRAINTS ?= -c constraints.txt
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test quick check format lint types contract bench real evaluate faults soak images deploy-test pictures docs clean

help:  ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | \
	  while IFS='|' read -r name text; do printf '  \033[36mmake %-10s\033[0m %s\n' "$$name" "$$text"; done

.venv/bin/python:
	$(PYTHON) -m venv .venv

# One stamp a set of dependencies: an install runs again when what it depends on has changed.
# pip compiles 28,000 files on one processor, in a minute; here all compile. Some are templates, which are no Python.
.venv/.installed-%: pyproject.toml constraints.txt | .venv/bin/python
	@printf 'Installing memshare[$*] into .venv (2 to 4 minutes the first time) '; \
	  (while sleep 3; do printf .; done) & trap "kill $$!; echo" EXIT; trap 'exit 130' INT TERM; \
	  $(BIN)/pip install -qq --no-compile --editable '.[$*]' $(CONSTRAINTS) && \
	  { $(BIN)/python -m compileall -qq -j 0 .venv/lib || true; }
	@touch $@

# `evaluate` brings `local`: all that one machine can do.
install: .venv/.installed-evaluate  ## Make .venv and install memshare into it, with all that runs on one machine

demo: .venv/.installed-local  ## Measure in some minutes what a shared pool gives: no key needed
	@$(BIN)/memshare demo

# The tests of a file stay together, as they share what is slow to make. `tests/conftest.py` says how many processes.
# Files in the order that it gives them.
PYTEST = $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test: .venv/.installed-dev  ## Install what the tests need and run them all
	$(PYTEST)

quick: .venv/.installed-dev  ## Run unit tests for a minute: none with Redis, a pool, torch, processes or servers, or marked slow
	$(PYTEST) --quick tests/unit

# What takes a second first; types, which take one processor a minute, beside the tests.
check: format lint contract  ## Format, lint, import contract, types and all tests: what CI runs
	@$(MAKE) --no-print-directory --jobs 2 types test

format: .venv/.installed-dev
	$(BIN)/ruff format --check .

lint: .venv/.installed-dev
	$(BIN)/ruff check .

types: .venv/.installed-dev
	$(BIN)/mypy

contract: .venv/.installed-dev
	$(BIN)/lint-imports

# Texts of others do not lie in this tree: JSON lines in the folder DATA. What needs them is left out where there are none.
DATA ?= ../shared/data
PEOPLE = $(wildcard benchmarks/lists/*.jsonl $(foreach name,puns puzzles,$(DATA)/$(name).jsonl))

# Every module with an option --json, but for those that need a Qdrant server, a model, or texts of others.
APART := cluster scale credibility knowledge real stream
WITH_JSON = $(shell grep -l Option..--json benchmarks/*.py benchmarks/*/__main__.py)
BENCHMARKS = $(filter-out $(APART),$(notdir $(basename $(patsubst %/__main__.py,%,$(WITH_JSON)))))

bench: .venv/.installed-bench  ## Run every benchmark
	@for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name || exit 1; done
	@if command -v qdrant >/dev/null; then $(BIN)/python -m benchmarks.cluster && $(BIN)/python -m benchmarks.scale --sizes 100000; \
	  else echo "Left out: benchmarks.cluster and benchmarks.scale, for qdrant is not on the PATH."; fi
	@for one in credibility:scifact_pairs knowledge:webquestions; do \
	  file=$(DATA)/$${one#*:}.jsonl; name=$${one%:*}; \
	  if [ -f "$$file" ]; then $(BIN)/python -m benchmarks.$$name --data "$$file" || exit 1; \
	  else echo "Left out: benchmarks.$$name, for there is no $$file. DATA=FOLDER names another folder."; fi; done

real: .venv/.installed-local  ## Use a real model for all that one is used for: MODEL_URL=http://HOST:PORT/v1 MODEL=NAME
	$(BIN)/python -m benchmarks.real --url "$(MODEL_URL)" --model "$(MODEL)"

OUT ?= evaluation
ITEMS ?= 100
evaluate: install  ## Run every experiment on the plans and lists of this tree, and puns and puzzles of DATA, with MODELS (of the settings, if left out), and make a page in OUT
	$(BIN)/memshare evaluate all --yes $(if $(MODELS),--models $(MODELS)) --out $(OUT) --items $(ITEMS) --data benchmarks/plans.jsonl $(PEOPLE)
	$(BIN)/memshare report $(OUT)

faults: .venv/.installed-dev  ## Break everything on purpose with 1,000 tasks in flight, and count what became of them
	$(BIN)/python -m tests.faults
	$(BIN)/python -m tests.faults.poison
	$(BIN)/python -m tests.faults.attack

MINUTES ?= 20
soak: .venv/.installed-dev  ## Keep a whole deployment under load for MINUTES, restart its workers, and see what grows
	$(BIN)/python -m tests.faults.soak --minutes $(MINUTES)

IMAGE ?= memshare
ENGINE ?= docker
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
images:  ## Build the three images, tagged IMAGE:VERSION, with the options BUILD and the engine ENGINE
	$(ENGINE) build -f deploy/image/Dockerfile $(BUILD) --target light -t $(IMAGE):$(VERSION) .
	$(ENGINE) build -f deploy/image/Dockerfile $(BUILD) --target memory -t $(IMAGE):$(VERSION)-memory .
	$(ENGINE) build -f deploy/image/Dockerfile $(BUILD) --target full -t $(IMAGE):$(VERSION)-full .

deploy-test: .venv/.installed-dev  ## Build the images, run compose with an engine of its own, and break it: root alone, no registry
	$(BIN)/python -m tests.deploy

pictures: .venv/.installed-dev  ## Run the browser tests, which make the pictures of docs/pictures anew, but page-worth.png: that is of what the demo leaves
	mkdir -p docs/pictures
	PICTURES=docs/pictures $(BIN)/pytest tests/browser

# The variable silences an advertisement. With --quiet, --strict would let everything through.
docs: .venv/.installed-docs  ## Make the documentation in site/, which loads nothing from elsewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Read site/index.html. To search in it: $(BIN)/python -m http.server --directory site --bind 127.0.0.1 8000"

clean:  ## Remove .venv, site/ and caches
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache build dist *.egg-info
