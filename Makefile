# Everything runs in a local virtual environment that the first target to need it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What needs PyTorch or Ray has an environment of its own.
BOTORCH := .venv-botorch
RAY := .venv-ray
# Scripts of experiments/ whose results are kept in experiments/results, under the same name.
# evaluations are not results but what experiments/models.py fits its models to.
KEPT := $(filter-out evaluations,$(basename $(basename $(notdir $(wildcard experiments/results/*)))))
# PyPI's PyTorch for Linux comes with several GB for GPUs. A version makes pip take a CPU build of it
# where there is one (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL); TORCH=... chooses another.
TORCH ?= torch==2.13.0
# Into the environment of the target; --quiet says nothing when all is well, an error still shows.
INSTALL = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-botorch test-ray package lint format bench peers pages clean

demo: $(VENV)/.demo
	$(BIN)/bosquet demo

# A test process for each core, each of them single-threaded. They start many others, which load
# the package faster if its bytecode is kept.
test: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto

test-botorch: $(BOTORCH)/.tests
	$(BOTORCH)/bin/python -m pytest tests/integrations/test_botorch.py

test-ray: $(RAY)/.tests
	$(RAY)/bin/python -m pytest tests/integrations/test_ray_tune.py

# The sdist and the wheel, tried in a fresh environment of PYTHON; KEEP=dist keeps them.
package: $(VENV)/.dev
	$(BIN)/python .ci/package.py --python $(PYTHON) $(if $(KEEP),--keep $(KEEP))

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

$(VENV)/.made $(BOTORCH)/.made $(RAY)/.made:
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
	@$(INSTALL) -e '.[ray]' 'pytest>=8.2'
	@touch $@

clean:
	rm -rf $(VENV) $(BOTORCH) $(RAY) .pytest_cache .mypy_cache .ruff_cache .hypothesis
