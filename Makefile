# `make help` lists what there is. Python 3.11 or newer is all that must be on the machine; a C compiler makes it faster.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
PYTEST := $(BIN)/python -m pytest
# Parts of a test file stay together, in their order, in one of the processes.
PARALLEL ?= -n 2 --dist loadfile
UPGRADE ?=
ARGS ?=

.PHONY: help venv check format test nightly simulate run demo rolling bench interop compiled pure lock docs clean

help:
	@echo "make check     what to run before every commit: format, lint, types, contracts, quick tests (under a minute)"
	@echo "make test      everything under tests/"
	@echo "make run       the broker on this machine: pulsar://localhost:6650, http://localhost:8080"
	@echo "make demo      the broker, keyed workers, and a kill -9 in the middle"
	@echo "make rolling   keyed workers restarted in turn under load; ARGS=--classic: with Pulsar's older dispatcher"
	@echo "make bench     speed and memory, as ratios to a rival in the same run"
	@echo "make interop   the official Java client against a started broker (needs Java and Maven)"
	@echo "make nightly   the long versions of the tests"
	@echo "make simulate  the core in simulated worlds until you stop it; ARGS=\"--world mixed --jobs 1\" says how"
	@echo "make format    format the code and repair what ruff can repair"
	@echo "make compiled  compile the hot modules in place; make pure takes that back"
	@echo "make lock      resolve the dependencies anew; make docs writes the generated pages and pictures"

$(STAMP): requirements-dev.lock pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "Magnetar needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/it" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	MAGNETAR_COMPILE=0 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

venv: $(STAMP)
	@$(BIN)/python tools/compiled.py build

compiled: venv

pure: $(STAMP)
	@$(BIN)/python tools/compiled.py pure

check: $(STAMP)
	@$(BIN)/python tools/compiled.py stale
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases tools
	$(BIN)/lint-imports --no-cache > $(VENV)/.contracts || { cat $(VENV)/.contracts; exit 1; }
	$(PYTEST) $(PARALLEL) tests/unit tests/property tests/tree

format: $(STAMP)
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

test: venv
	$(PYTEST) $(PARALLEL) tests

nightly: venv
	MAGNETAR_NIGHTLY=1 HYPOTHESIS_PROFILE=nightly $(PYTEST) $(PARALLEL) --timeout 3600 tests

simulate: venv
	$(BIN)/magnetar simulate --world all --seeds 0 --jobs 2 $(ARGS)

run: venv
	$(BIN)/magnetar standalone

demo: venv
	$(BIN)/python examples/demo.py

rolling: venv
	$(BIN)/python examples/rolling_restart.py $(ARGS)

bench: venv
	$(BIN)/python -m bench

interop: venv
	$(BIN)/python tools/interop.py

lock:
	$(PYTHON) tools/lock.py $(UPGRADE)

docs: $(STAMP)
	$(BIN)/python tools/gen_settings_doc.py
	$(BIN)/python -m tools.gen_admin_docs
	$(BIN)/python -m tools.pictures

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src -name '*.so' -delete
