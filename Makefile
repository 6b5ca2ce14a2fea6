# aggro: everything a person needs, by name. Each target makes what it depends on.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(wildcard core/*.hpp core/*.cpp core/bind/*)
# libstdc++ too: the sanitizer must find it at start to follow exceptions
ASAN   := $(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)
TSAN   := $(shell $(CXX) -print-file-name=libtsan.so)
SANITIZED_TESTS := tests/test_bad_input.py tests/test_extremes.py tests/test_twin.py tests/test_sizes.py
# NumPy's own threads were not compiled for the sanitizer, which would complain of them
THREAD_TESTS := tests/test_thread_safety.py tests/test_threads.py tests/test_together.py

.DEFAULT_GOAL := help
.PHONY: help demo test dev lint unit sanitize stress stress-minute mutants format stubs bench bench-quick tuning papers clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

sanitize: $(VENV)/core  ## the core under the address, undefined-behaviour and thread sanitizers
	LD_PRELOAD="$(ASAN)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 AGGRO_LEVEL=sanitized \
	  $(BIN)/python -m pytest -p no:cacheprovider $(SANITIZED_TESTS)
	OPENBLAS_NUM_THREADS=1 LD_PRELOAD="$(TSAN)" TSAN_OPTIONS=exitcode=66 AGGRO_LEVEL=tsan \
	  $(BIN)/python -m pytest -p no:cacheprovider $(THREAD_TESTS)

stress: $(VENV)/core  ## random settings, inputs and troubles for an hour: nothing may be found
	$(BIN)/python -m stress --minutes 60 --jobs 2

stress-minute: $(VENV)/core  ## about a minute of it, always the same cases
	$(BIN)/python -m stress --start 0 --cases 1000 --jobs 2

mutants: $(VENV)/core  ## small faults, one by one: do the tests notice? under two hours
	$(BIN)/python -m mutants --jobs 2

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
