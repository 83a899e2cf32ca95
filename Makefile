# Everything runs in a local virtual environment that the first target to need it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# --quiet says nothing when all is well; an error still shows.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-botorch test-ray lint format bench peers clean

demo: $(VENV)/.demo
	$(BIN)/bosquet demo

# A test process for each core, each of them single-threaded.
test: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

# What needs PyTorch or Ray, each in an environment of its own. TORCH=... chooses a build of PyTorch:
# by default pip takes one with several GB for GPUs.
TORCH ?= torch
test-botorch: .venv-botorch/.made
	.venv-botorch/bin/python -m pytest tests/integrations/test_botorch.py

test-ray: .venv-ray/.made
	.venv-ray/bin/python -m pytest tests/integrations/test_ray_tune.py

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

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bosquet needs Python 3.11 or newer; set PYTHON=...")'
	@echo "Making a virtual environment in $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
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

.venv-botorch/.made: pyproject.toml
	@$(PYTHON) -m venv .venv-botorch
	@.venv-botorch/bin/pip install --quiet --disable-pip-version-check '$(TORCH)'
	@.venv-botorch/bin/pip install --quiet --disable-pip-version-check -e '.[botorch]' 'pytest>=8.2'
	@touch $@

.venv-ray/.made: pyproject.toml
	@$(PYTHON) -m venv .venv-ray
	@.venv-ray/bin/pip install --quiet --disable-pip-version-check -e '.[ray]' 'pytest>=8.2'
	@touch $@

clean:
	rm -rf $(VENV) .venv-botorch .venv-ray .pytest_cache .mypy_cache .ruff_cache .hypothesis
