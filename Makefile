# Two commands do all the set-up: `make up` runs every engine, `make test` runs the tests.
PYTHON ?= python3
BIN := .venv/bin
TESTS = $(BIN)/python -m pytest -n 3 --dist loadfile --durations=20
FUZZ_RUNS ?= 1000000
BIOME := @biomejs/biome@2.6.7
PROTOS := $(wildcard proto/plyd/v1/*.proto)
PACKAGES := -p plyd.engines -p plyd.servers -p plyd.clients -p plyd.models -p plyd.protocols -p plyd.cluster
GENERATE = $(BIN)/python -m grpc_tools.protoc -Iproto --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy \
	--plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc

.PHONY: help up test test-slow test-cluster test-stutter test-kaggle fuzz check docs proto freeze bench dist course clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

up: .venv/up ## install if needed, then run every engine, each in its own daemon
	$(BIN)/plyd up

test: .venv/dev ## install if needed, then compile kernels and run the tests, three processes at a time
	$(BIN)/plyd warm
	$(TESTS)

test-slow: .venv/slow ## the tests that take longer
	$(BIN)/python -m pytest -m slow

test-cluster: .venv/dev ## the tests that start a Ray cluster on this machine
	$(BIN)/plyd warm
	$(BIN)/python -m pytest -m cluster --durations=12 tests/cluster

test-stutter: .venv/dev ## the tests while their processes are stopped for moments: none may need a quick machine
	$(BIN)/plyd warm
	$(BIN)/python -m tests.stutter -- $(TESTS)

test-kaggle: .venv-kaggle/up ## the tests in Kaggle's own environment
	.venv-kaggle/bin/python -m pytest -m kaggle tests/clients/hosts/test_kaggle.py

fuzz: .venv/fuzz ## throw inputs at every parser: make fuzz FUZZ_RUNS=10000000
	$(BIN)/python -m tests.fuzz.run --inputs $(FUZZ_RUNS)

check: .venv/dev docs ## lint, types, schema, generated code, the documentation and its links
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES)
	$(BIN)/buf lint proto
	$(BIN)/buf breaking proto --against proto/frozen.binpb
	@rm -rf .venv/fresh && mkdir -p .venv/fresh
	@$(GENERATE) --python_out=.venv/fresh --grpc_python_out=.venv/fresh --mypy_out=quiet:.venv/fresh --mypy_grpc_out=quiet:.venv/fresh $(PROTOS)
	@for f in $$(cd .venv/fresh && find . -name '*_pb2*'); do cmp -s .venv/fresh/$$f proto/$$f || { echo "stale: proto/$$f; run 'make proto'"; exit 1; }; done
	@if command -v npx > /dev/null; then npx --yes $(BIOME) lint --error-on-warnings; else echo "no npx here: the page's JavaScript is not linted"; fi
	$(BIN)/python -m pytest -q tests/test_architecture.py

docs: .venv/dev ## build the documentation in build/site; every link must lead somewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

proto: .venv/dev ## generate proto/plyd/v1/*_pb2* from the schema
	$(GENERATE) --python_out=proto --grpc_python_out=proto --mypy_out=quiet:proto --mypy_grpc_out=quiet:proto $(PROTOS)

freeze: .venv/dev ## take the schema as it is for what later changes must not break
	$(BIN)/buf build proto --exclude-source-info -o proto/frozen.binpb

bench: .venv/up ## speed figures
	$(BIN)/plyd bench

dist: .venv/slow ## build the wheels of plyd and plyd-client, and the source, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	cd clients && ../$(BIN)/python -m hatchling build -t wheel -d ../dist
	$(BIN)/twine check --strict dist/*

course: build/libplyd-course.so ## the course's C library, which plays through `plyd ugi connect4 --listen`

build/libplyd-course.so: clients/hosts/course/plyd_course.c clients/hosts/course/plyd_course.h clients/hosts/course/plyd_lines.h
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -Werror -fPIC -shared -std=c11 -o $@ $<

.venv/up: pyproject.toml clients/pyproject.toml hatch_build.py
	@echo "Installing plyd and what it needs in .venv: this happens once, and takes about a minute"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --editable ./clients --editable .
	@touch $@

.venv/dev: .venv/up
	$(BIN)/python -m pip install --quiet --editable ./clients --editable ".[dev]"
	@touch $@

.venv/slow: .venv/dev
	$(BIN)/python -m pip install --quiet --editable ./clients --editable ".[slow]"
	@touch $@

.venv/fuzz: .venv/dev
	$(BIN)/python -m pip install --quiet --editable ./clients --editable ".[fuzz]"
	@touch $@

.venv-kaggle/up: pyproject.toml clients/pyproject.toml hatch_build.py # of what kaggle-environments asks for, ConnectX needs but these two
	$(PYTHON) -m venv .venv-kaggle
	.venv-kaggle/bin/python -m pip install --quiet --editable ./clients --editable . pytest requests jsonschema
	.venv-kaggle/bin/python -m pip install --quiet --no-deps kaggle-environments==1.33.2
	@touch $@

clean: ## remove what the other commands made
	rm -rf .venv .venv-kaggle .links build dist
