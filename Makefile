# The two commands of the README are `make demo` and `make test`; each sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check-long lint docs clean

demo: .venv/.runtime
	$(BIN)/bisimulator compare lending --methods ppo,ppo-bisimulator-reward --seeds 3 --out demo

# compiling is most of the tests' time, and the older of XLA's two code generators compiles in two thirds of it
test: lint
	XLA_FLAGS="--xla_cpu_use_fusion_emitters=false" $(BIN)/pytest -m "not long" -n 2 --dist loadfile

check-long: .venv/.cluster
	$(BIN)/pytest -m long -n 2 --dist loadfile

lint: .venv/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# strict: a page without a place, or a link that leads nowhere, fails it
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed, this is `$(PYTHON) -V`; try: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

# hatchling first and no isolated build, so that what builds the package is pinned as well
.venv/.runtime: .venv/.python pyproject.toml constraints.txt
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable .
	@touch $@

# torch first and alone: resolved together with others it would bring several GB of accelerator packages
.venv/.development: .venv/.runtime
	$(PIP) torch==2.13.0
	$(PIP) --no-build-isolation --editable '.[sb3,track,oracle,dev]'
	@touch $@

# Ray, for the one long test of a cluster
.venv/.cluster: .venv/.development
	$(PIP) --no-build-isolation --editable '.[cluster]'
	@touch $@

.venv/.docs: .venv/.runtime
	$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@
