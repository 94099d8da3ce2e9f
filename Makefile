# `make run` and `make test` set up everything they need in ./.venv; PYTHON may name another interpreter (>= 3.11).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test check unit wheel clean

run: $(STAMP)
	$(BIN)/verification-pipeline run --out out/sample

test: check unit wheel

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n 2

wheel: $(STAMP)
	PYTHON=$(PYTHON) $(BIN)/python tests/wheel_smoke.py

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=/path/to/it") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) out dist build .pytest_cache .mypy_cache .ruff_cache
