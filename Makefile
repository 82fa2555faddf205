# The only entry for people and CI. `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo format lint types layers test check example wheel bench eval clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with memoria and the tools

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev --editable .
	@touch $@

demo: $(READY) ## Ingest the sample notes into a temporary brain, and search them
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo.sh

format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --quiet .

lint: $(READY) ## Check the code's form
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY) ## Check the types
	$(BIN)/mypy

layers: $(READY) ## Check who imports whom
	$(BIN)/lint-imports

test: $(READY) ## Run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal

check: lint types layers test ## Everything that CI runs

example: $(READY) ## Rewrite mirrored_brain.example from the sample notes
	rm -rf mirrored_brain.example .example
	MEMORIA_BRAIN=.example $(BIN)/memoria ingest --quiet fixtures/notes
	mv .example/mirrored_brain mirrored_brain.example
	rm -rf .example mirrored_brain.example/.memoria-mirror.lock
	: > mirrored_brain.example/.memoria-mirror

wheel: $(READY) ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build --outdir dist

bench: $(READY) ## Measure speed beside SQLite FTS5 and ripgrep: make bench [CORPUS=folder]
	$(BIN)/python -m benchmarks $(CORPUS)
	$(BIN)/python -m benchmarks.dreaming

eval: $(READY) ## Measure quality: search on question sets, auto-tags, mentions: make eval [SETS=folder]
	$(BIN)/python -m benchmarks.quality $(SETS)
	$(BIN)/python -m benchmarks.tagging $(SETS)
	$(BIN)/python -m benchmarks.mentions

clean: ## Remove what was made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
