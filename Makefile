# Python that makes the environment; everything else happens inside of .venv.
PYTHON ?= python3
BIN    := .venv/bin
STAMP  := .venv/.installed

.PHONY: setup test lint types contract demo bench agreement

# Modules are compiled when they are first imported (--no-compile), not all of torch now: that takes
# half of the time of the installation.
setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/swath/runtime/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt scikit-build-core nanobind numpy ninja cmake
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --no-build-isolation --editable '.[torch,dev,bench]'
	touch $(STAMP)

test: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/swath/runtime/*/*.[ch]* examples/*.cpp

types: setup
	$(BIN)/pyright

contract: setup
	$(BIN)/lint-imports

# Trains DeepFM on MovieLens 100K, compiles it, compares it with eager and benches it.
demo: $(STAMP).zentorch
	$(BIN)/python -u -m examples.demo

# Every model of the suite against every peer; writes docs/benchmarks.md. Two hours or so.
bench: $(STAMP).zentorch
	$(BIN)/python -u -m benchmarks.speed
	$(BIN)/python -u -m benchmarks.speed --keep --threads 2 --batches 1024 --peers swath,eager,aot_inductor,onnxruntime,openvino,zentorch

# Whether every model of the suite agrees with eager; writes docs/agreement.md.
agreement: setup
	$(BIN)/python -u -m benchmarks.agreement

# AMD's back end comes for Linux on x86-64 only; elsewhere the bench shows it as not installed.
$(STAMP).zentorch: $(STAMP)
	-$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt zentorch
	touch $@
