# Everything runs in a virtual environment that these targets create: nothing else needs to be installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
MADE := $(VENV)/.made
READY_DEMO := $(VENV)/.ready-demo
READY := $(VENV)/.ready
READY_DOCS := $(VENV)/.ready-docs
SPARK := .venv-spark
READY_SPARK := $(SPARK)/.ready
FLOWER := .venv-flower
READY_FLOWER := $(FLOWER)/.ready
# Compiled modules are kept, whatever the machine says: pytest rewrites every test file, and hundreds of tests start hush.
export PYTHONDONTWRITEBYTECODE :=
LOWEST := .venv-lowest
READY_LOWEST := $(LOWEST)/.ready
OLDEST ?= python3.11
# What the tests on Spark and with Flower need besides those; dev would bring everything.
TESTING := 'hypothesis>=6.108' 'pytest>=8.3' 'pytest-timeout>=2.3.1'
PYTEST := python -m pytest -n auto --dist worksteal --durations=12 --durations-min=5
# Archives have the time of the last commit, so that building them again gives the same bytes.
EPOCH := SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)
READY_WEB := web/node_modules/.ready
# The client in Go needs the standard library alone: nothing is downloaded.
GO := cd clients/go && GOFLAGS= GOWORK=off GOPROXY=off GOTOOLCHAIN=local
# Tests for arm64, where compilers fuse what must not be fused. An arm64 machine has run them already.
QEMU := $(firstword $(shell command -v qemu-aarch64-static qemu-aarch64))

.PHONY: plans help theory learning demo test test-slow test-all coverage lowest lowest-tests check bench limit docs vectors stopwatch mutants spark flower web go go-tests notices screenshots reproduce dist versions clean

help:  ## Show these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(MADE): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hush needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(READY_DEMO): $(MADE)
	@echo "Installing what the demo needs into $(VENV) ..."
	$(INSTALL) '.[demo]'
	@touch $@

$(READY): $(MADE)
	$(INSTALL) '.[dev]'
	@touch $(READY_DEMO) $@  # all that the demo needs is among it

$(READY_DOCS): $(READY)
	$(INSTALL) '.[docs]'
	@touch $@

$(READY_SPARK): pyproject.toml
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[duckdb,spark]' $(TESTING)
	@touch $@

$(READY_FLOWER): pyproject.toml
	$(PYTHON) -m venv $(FLOWER)
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[batch,flower]' 'flwr[simulation]' $(TESTING)
	@touch $@

$(READY_LOWEST): $(READY) pyproject.toml tests/release/lowest.py
	$(OLDEST) -m venv --clear $(LOWEST)
	$(BIN)/python tests/release/lowest.py $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/lowest.txt --editable '.[dev]'
	@touch $@

$(READY_WEB): web/package.json web/package-lock.json
	cd web && npm ci --silent --ignore-scripts
	@touch $@

demo: $(READY_DEMO)  ## A collector, a million made-up people who answer it, truth beside estimate (OPTIONS=--help)
	@$(BIN)/python -m hush.demo $(OPTIONS)

test: $(READY)  ## Run the tests that take little time: privacy, vectors, one or more of every capability (3 to 4 minutes)
	$(BIN)/$(PYTEST) -m 'not slow'

test-slow: $(READY)  ## Run the other tests: experiments, documents, storms, long statistics, browsers (tests/slow.py lists them)
	$(BIN)/$(PYTEST) -m slow

test-all: test test-slow  ## Run all tests

coverage: $(READY)  ## Run the tests of make test, and say which lines they reach: the total, and the ten files with the fewest
	$(BIN)/$(PYTEST) -q -m 'not slow' --cov --cov-report=
	@$(BIN)/python -m coverage report --sort=cover | sed -n '1,12p;$$p'

lowest:  ## Run the tests of make test with the oldest versions of all libraries that pyproject.toml allows; needs Python 3.11
	@if command -v $(OLDEST) >/dev/null; then $(MAKE) --no-print-directory lowest-tests; \
	else echo "SKIPPED: the oldest versions are not tested, as there is no $(OLDEST) here"; fi

lowest-tests: $(READY_LOWEST)
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/$(PYTEST) -m 'not slow'

spark: $(READY_SPARK)  ## Test on Spark, in an environment of its own (400 MB); needs Java 17
	$(SPARK)/bin/python -m pytest -q tests/engines/test_spark.py

flower: $(READY_FLOWER)  ## Test with real clients of Flower, in an environment of its own (900 MB)
	$(FLOWER)/bin/python -m pytest -q tests/learn/test_flower.py

check: $(READY)  ## Format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

web: $(READY_WEB)  ## Build the browser client and the pages into src/hush/collector/static; needs Node
	cd web && npm run --silent build

go:  ## Test the client in Go, on an emulated arm64 too if there is qemu-user; needs Go
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory go-tests; \
	else echo "SKIPPED: the client in Go is not tested, as there is no Go here"; fi

go-tests:
	@$(GO) && unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then echo "gofmt would change $$unformatted"; exit 1; fi
	$(GO) go vet ./...
	$(GO) go test ./...
	@if [ "$$(go env GOARCH)" = arm64 ]; then echo "arm64 is what the tests ran on"; \
	elif [ -z "$(QEMU)" ]; then echo "SKIPPED: the client in Go is not tested on arm64, as there is no qemu-user here"; \
	else set -x; $(GO) GOARCH=arm64 CGO_ENABLED=0 go test -short -exec $(QEMU) ./...; fi

notices: $(READY)  ## Write anew the licences of the charts that collectors serve; needs Node (then make web)
	cd web && node notices.mjs $$(../$(BIN)/python -c 'import vl_convert as v; print(*v.__path__, v.__version__)')

screenshots: $(READY) $(READY_WEB)  ## Test the pages in Chromium, and keep the pictures for the documents
	HUSH_SCREENSHOTS=docs/images $(BIN)/python -m pytest -q tests/browser

# What is kept for the documents goes up to 10^8 values and 4 million people; a look at the speed does without.
bench: $(READY)  ## Measure speed, as ratios within one run (minutes; KEEP=--keep: for the documents, with the largest sizes)
	$(BIN)/python benchmarks/scalar.py
	$(BIN)/python benchmarks/design.py
	$(BIN)/python benchmarks/cold.py $(KEEP)
	$(BIN)/python benchmarks/batch.py $(if $(KEEP),--full) $(KEEP)
	$(BIN)/python benchmarks/stages.py $(KEEP)
	$(BIN)/python benchmarks/peers.py $(KEEP)
	$(BIN)/python benchmarks/learn.py $(if $(KEEP),--full) $(KEEP)
	$(BIN)/python benchmarks/live.py $(KEEP)
	$(BIN)/python benchmarks/collector.py $(KEEP)
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python docs/speed_targets.py

limit: $(READY)  ## Compute the least variance that any unbiased mechanism can have (minutes)
	$(BIN)/python experiments/limit.py

mutants: $(READY)  ## Break the source in small ways: do tests notice? (an hour or two; OPTIONS='MODULE --survivors' or --keep)
	$(BIN)/python -m tests.mutants $(OPTIONS)

stopwatch: $(READY)  ## Measure what times of reports give away, on the worst plans (minutes; KEEP=--keep: for the documents)
	$(BIN)/python -m tests.statistical.stopwatch $(KEEP)

vectors: $(READY)  ## Write spec/vectors anew
	$(BIN)/python -m spec.generate

plans: $(READY)  ## Try N=5000 made-up plans on every surface; run it again to go on (what it finds: .plans.jsonl)
	$(BIN)/python -m tests.everything.surfaces.search --plans $(or $(N),5000) --output .plans.jsonl

theory: $(READY)  ## Recompute the paper's theory, with pictures
	$(BIN)/python experiments/theory.py

reproduce: $(READY)  ## Compute the figures of the paper anew (an hour or two; OPTIONS=--quick; DATA=FOLDER)
	$(BIN)/python -m experiments.reproduce $(OPTIONS) $(if $(DATA),--data $(DATA))

learning: $(READY)  ## Compare ways of learning from people (20 minutes; DATA=FOLDER: on real microdata too)
	$(BIN)/python -m experiments.learning $(if $(DATA),--data $(DATA))
	$(BIN)/python -m experiments.targets --everybody $(if $(DATA),--data $(DATA))
	$(BIN)/python -m experiments.remainder --keep
	$(BIN)/python -m experiments.paths --keep

dist: $(READY)  ## Build the source archive and the wheel into dist/, and try them
	rm -rf dist
	$(EPOCH) $(BIN)/python -m build --outdir dist
	$(EPOCH) $(BIN)/python tests/release/check.py dist

versions: $(MADE)  ## Run tests on every supported Python that is here (PYTHONS="python3.12 ..."; OPTIONS=--fast)
	$(BIN)/python tests/release/versions.py $(OPTIONS) $(PYTHONS)

docs: $(READY_DOCS)  ## Build the documentation into docs/_build; warnings are errors
	$(BIN)/python docs/tables.py
	$(BIN)/python docs/pictures.py
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

clean:  ## Remove everything that these targets made
	rm -rf demo .mutants clients/go/hush-answer clients/go/*.test web/node_modules web/dist $(VENV) $(SPARK) $(FLOWER) $(LOWEST) .venv-peers .coverage .venv-versions docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
