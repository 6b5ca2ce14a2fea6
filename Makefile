# aggro: everything a person needs, by name. Each target makes what it depends on.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(wildcard core/*.hpp core/*.cpp core/bind/*)
# libstdc++ too: the sanitizer must find it at start to follow exceptions
ASAN   := $(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)
SANITIZED_TESTS := tests/test_bad_input.py tests/test_extremes.py tests/test_twin.py

.DEFAULT_GOAL := help
.PHONY: help demo test dev lint unit sanitize format stubs bench bench-quick tuning defaults papers clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/core  ## learn from built-in data, show how it goes, draw a picture
	@$(BIN)/python -m aggro.demo

test: lint unit sanitize  ## everything that must pass: lint, tests, sanitizers

dev: $(VENV)/core  ## make .venv with the compiled core and all tools

lint: $(VENV)/core  ## ruff, mypy, clang-format; the core compiles without a warning
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CORE)

unit: $(VENV)/core  ## the tests
	$(BIN)/python -m pytest -n 2

sanitize: $(VENV)/core  ## the core under the address and undefined-behaviour sanitizers
	LD_PRELOAD="$(ASAN)" ASAN_OPTIONS=detect_leaks=0 AGGRO_LEVEL=sanitized \
	  $(BIN)/python -m pytest -p no:cacheprovider $(SANITIZED_TESTS)

format: $(VENV)/core  ## put the code in its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE)

stubs: $(VENV)/core  ## write the type stubs of the compiled core anew
	$(BIN)/python -m nanobind.stubgen -q -P -m aggro._core_baseline -o src/aggro/_core.pyi

bench: $(VENV)/peers  ## aggro beside its peers and the floor; under ten minutes
	$(BIN)/python -m benchmarks --json build/benchmark.json --plot docs/images/benchmark.png \
	  --docs docs/performance.md

bench-quick: $(VENV)/peers  ## the same in about a minute
	$(BIN)/python -m benchmarks --quick

tuning: $(VENV)/peers  ## C="auto" and the peers on real data (set AGGRO_DATA)
	$(BIN)/python -m tuning

defaults: $(VENV)/peers  ## aggro's defaults against scikit-learn's on real data (set AGGRO_DATA)
	$(BIN)/python -m tuning.defaults

papers: $(VENV)/core  ## reproduce the five papers (set AGGRO_DATA); under an hour on two cores
	$(BIN)/python -m papers

clean:  ## remove all that was made
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/peers: $(VENV)/core
	$(BIN)/python -m pip install -q --group bench
	@touch $@

$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q --group build
	@touch $@

$(VENV)/core: $(VENV)/tools CMakeLists.txt $(CORE)
	$(BIN)/python -m pip install -q --no-build-isolation --no-deps -e . \
	  -Cbuild-dir=build/dev -Ccmake.define.AGGRO_WERROR=ON -Ccmake.define.AGGRO_SANITIZE=ON
	$(BIN)/python -m pip install -q --group lint --group test
	@touch $@
