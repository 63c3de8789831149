# The two commands of the README are `make demo` and `make test`; each sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := -m pip install -qq --disable-pip-version-check --constraint constraints.txt
PIP := $(BIN)/python $(INSTALL)
# installs in a fraction of pip's time; pip itself where uv finds no packages (it does not read pip's settings)
UV := VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --constraint constraints.txt
DEVELOPMENT := .[sb3,track,models,oracle,dev]
# the last step compiles the bytecode of all packages at once, on all cores
extras = $(UV) --compile-bytecode --no-build-isolation --editable '$(1)' || $(PIP) --no-build-isolation --editable '$(1)'
# compiling is most of the tests' time: the older of XLA's two code generators needs two thirds of it, and one module per
# program less than many
FAST_COMPILE := XLA_FLAGS="--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
# bytecode is written also where the environment says otherwise: without it every worker and every subprocess of a test
# compiles jax, scipy and torch again
FAST_IMPORT := PYTHONDONTWRITEBYTECODE=

.PHONY: demo test pytest notebooks check-long golden lint hashes docs site-assets build clean

demo: .venv/.runtime
	$(BIN)/bisimulator compare lending --methods ppo,ppo-bisimulator-reward --seeds 3 --out demo

# mypy needs one core, so the tests run beside the checks of the code
test: .venv/.development
	$(MAKE) --no-print-directory --jobs=2 --output-sync=line lint pytest

# worksteal: each worker begins with one half of the tests, so that files stay together, and helps the other at the end
pytest: .venv/.development
	$(FAST_IMPORT) $(FAST_COMPILE) $(BIN)/pytest -m "not long" -n 2 --dist worksteal

# the notebooks, which are too long for `make test`; continuous integration runs them too
notebooks: .venv/.development
	$(FAST_IMPORT) $(FAST_COMPILE) $(BIN)/pytest -m long tests/examples/test_notebooks.py -n 2

check-long: .venv/.cluster
	$(FAST_IMPORT) $(BIN)/pytest -m long -n 2 --dist worksteal

# writes the pinned numbers of tests/golden anew, also the slow ones: only when a change of numbers is intended
golden: .venv/.development
	BISIMULATOR_WRITE_GOLDEN=1 $(FAST_IMPORT) $(FAST_COMPILE) $(BIN)/pytest tests/golden -n 0 -m ""

lint: .venv/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# writes requirements.txt anew, after a change of pyproject.toml or constraints.txt
hashes: .venv/.uv
	{ echo '# Exact versions, with the hashes of their files, of what `make demo` installs; written by `make hashes`.'; \
	echo 'hatchling>=1.27,<2' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --constraint constraints.txt pyproject.toml -; } > requirements.new
	mv requirements.new requirements.txt

# strict: it fails on a page that is not in the navigation, a dead link, or a public name without an API entry
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# the scripts that the site carries so that it needs no network; run it only to update them
KATEX := 0.19.1
IFRAME_WORKER := 1.0.4
site-assets:
	set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; assets="$(CURDIR)/docs/assets"; \
	cd "$$folder"; npm pack --silent katex@$(KATEX) iframe-worker@$(IFRAME_WORKER); \
	mkdir katex iframe-worker; \
	tar xzf katex-$(KATEX).tgz -C katex; tar xzf iframe-worker-$(IFRAME_WORKER).tgz -C iframe-worker; \
	rm -rf "$$assets/katex" "$$assets/iframe-worker"; mkdir -p "$$assets/katex/fonts" "$$assets/iframe-worker"; \
	cp katex/package/LICENSE katex/package/dist/katex.min.js katex/package/dist/katex.min.css "$$assets/katex"; \
	cp katex/package/dist/fonts/*.woff2 "$$assets/katex/fonts"; \
	cp iframe-worker/package/LICENSE "$$assets/iframe-worker"; \
	cp iframe-worker/package/shim/index.js "$$assets/iframe-worker/shim.js"

# wheel and sdist, and a try of the wheel as a user installs it: in a clean environment, outside of the repository
build: .venv/.runtime
	rm -rf dist
	$(BIN)/hatchling build --directory dist
	set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(BIN)/python -m venv "$$folder/venv"; \
	"$$folder/venv/bin/python" $(INSTALL) dist/*.whl; \
	cd "$$folder"; PATH="$$folder/venv/bin:$$PATH"; \
	bisimulator --version; bisimulator list; \
	python -c "import bisimulator; env = bisimulator.make('lending', population=20, horizon=40); \
	print(bisimulator.evaluate(env, bisimulator.policies.accept_all(), seeds=1, episodes=1))"

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed, this is `$(PYTHON) -V`; try: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

# with uv where a target installed it before; no isolated build, so that what builds the package is pinned as well
.venv/.runtime: .venv/.python pyproject.toml constraints.txt requirements.txt
	test -x $(BIN)/uv && $(UV) --require-hashes --no-deps --requirement requirements.txt || \
		$(PIP) --require-hashes --no-deps --requirement requirements.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.uv: .venv/.python constraints.txt
	$(PIP) uv
	@touch $@

# torch first and alone: resolved together with others it would bring several GB of accelerator packages
.venv/.development: .venv/.uv .venv/.runtime
	$(PIP) --no-compile torch==2.13.0
	$(call extras,$(DEVELOPMENT))
	@touch $@

# Ray, for the long tests of a cluster
.venv/.cluster: .venv/.development
	$(call extras,.[cluster])
	@touch $@

.venv/.docs: .venv/.uv .venv/.runtime
	$(call extras,.[docs])
	@touch $@
