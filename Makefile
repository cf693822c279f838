# Python that makes the environment; everything else happens inside of .venv.
PYTHON ?= python3
BIN    := .venv/bin
STAMP  := .venv/.installed

.PHONY: setup test lint types contract

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/swath/runtime/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt scikit-build-core nanobind numpy ninja cmake
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[torch,dev,bench]'
	touch $(STAMP)

test: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/pyright

contract: setup
	$(BIN)/lint-imports
