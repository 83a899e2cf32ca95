# Everything runs in a local virtual environment that the first target to need it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What needs PyTorch or Ray has an environment of its own.
BOTORCH := .venv-botorch
RAY := .venv-ray
# The oldest versions that pyproject.toml allows.
OLDEST := .venv-oldest
# Scripts of experiments/ whose results are kept in experiments/results, under the same name.
# evaluations are not results but what experiments/models.py fits its models to.
KEPT := $(filter-out evaluations,$(basename $(basename $(notdir $(wildcard experiments/results/*)))))
# PyPI's PyTorch for Linux comes with several GB for GPUs. A version makes pip take a CPU build of it
# where there is one (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL); TORCH=... chooses another.
TORCH ?= torch==2.13.0
# Tests of what `pip install bosquet` alone brings.
CORE := tests/acquisition tests/data tests/kernels tests/models tests/search tests/space \
	tests/test_asking.py tests/test_best.py tests/test_graphs.py tests/test_import.py \
	tests/test_linalg.py tests/test_messages.py tests/test_optimizer.py tests/test_text.py
# Into the environment of the target; --quiet says nothing when all is well, an error still shows.
INSTALL = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check
# Tests start many processes, which load the package faster if its bytecode is kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-botorch test-ray test-oldest package docs lint format bench peers pages stamps clean

demo: $(VENV)/.demo
	$(BIN)/bosquet demo

# A test process for each core, each of them single-threaded. Each begins with a stretch of tests of
# its own, so that what tests of a file share is made once, and who is done takes over from others.
test: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

test-botorch: $(BOTORCH)/.tests
	$(BOTORCH)/bin/python -m pytest tests/integrations/test_botorch.py

test-ray: $(RAY)/.tests
	$(RAY)/bin/python -m pytest tests/integrations/test_ray_tune.py

# What needs no extra, on the lower bounds of pyproject.toml.
test-oldest: $(OLDEST)/.tests
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n auto --dist worksteal $(CORE)

# The sdist and the wheel, tried in a fresh environment of PYTHON; KEEP=dist keeps them.
package: $(VENV)/.dev
	$(BIN)/python .ci/package.py --python $(PYTHON) $(if $(KEEP),--keep $(KEEP))

# The documentation site, in build/docs/index.html: every warning is an error, so no link is broken
# and no page is left out; and nothing is loaded from the network, to build or to read it.
docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -W -n -q --keep-going docs build/docs
	$(BIN)/python .ci/site.py build/docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The strategies on the shifted trees; `make peers` adds the other libraries.
bench: $(VENV)/.dev
	$(BIN)/bosquet bench --problems shifted --methods add-tree,sobol --seeds 5 --jobs 2

peers: $(VENV)/.peers
	$(BIN)/python experiments/peers.py

# The pages of docs/results/ whose results are kept, from these alone: nothing is run, no data is needed. Run a
# script without --page to add the seeds that are missing, on any machine; pages whose runs are
# not kept (most of the older ones) change only when their script is run.
pages: $(VENV)/.dev
	for name in $(KEPT); do echo docs/results/$$name.md; $(BIN)/python experiments/$$(echo $$name | tr - _).py --page > /dev/null || exit 1; done

# Dates and commits of the pages, in docs/results/index.md.
stamps: $(VENV)/.dev
	$(BIN)/python experiments/stamps.py

$(VENV)/.made $(BOTORCH)/.made $(RAY)/.made $(OLDEST)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bosquet needs Python 3.11 or newer; set PYTHON=...")'
	@echo "Making a virtual environment in $(@D) (once)"
	@$(PYTHON) -m venv $(@D)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@echo "Installing bosquet and scikit-learn into $(VENV) (once)"
	@$(INSTALL) -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	@echo "Installing bosquet and its test tools into $(VENV) (once)"
	@$(INSTALL) -e '.[dev]'
	@touch $@

$(VENV)/.peers: $(VENV)/.dev
	@$(INSTALL) -e '.[dev,peers]'
	@touch $@

# In one command: PyTorch stays the one that was asked for.
$(BOTORCH)/.tests: $(BOTORCH)/.made pyproject.toml
	@echo "Installing bosquet and BoTorch into $(BOTORCH) (once)"
	@$(INSTALL) '$(TORCH)' -e '.[botorch]' 'pytest>=8.2'
	@touch $@

$(RAY)/.tests: $(RAY)/.made pyproject.toml
	@echo "Installing bosquet and Ray into $(RAY) (once)"
	@$(INSTALL) -e '.[ray,forest]' 'pytest>=8.2'
	@touch $@

# ">=" becomes "==": the lower bounds of what is always installed, and tests that run with them.
$(OLDEST)/.tests: $(OLDEST)/.made pyproject.toml
	@echo "Installing bosquet on the oldest versions that it allows into $(OLDEST) (once)"
	@$(INSTALL) -e . $$($(@D)/bin/python .ci/bounds.py) 'pytest>=8.2' 'pytest-xdist>=3.6' 'hypothesis>=6.100'
	@touch $@

clean:
	rm -rf $(VENV) $(BOTORCH) $(RAY) $(OLDEST) build docs/project .pytest_cache .mypy_cache .ruff_cache .hypothesis
