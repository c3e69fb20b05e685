# make demo    set up a virtual environment and run the main job on sample_data/
# make test    set it up and run the checks and the tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := .enrelm-demo
DATA ?= ../shared/data

.PHONY: demo test test-all test-dask test-onnx test-nngp bench reproduce clean
.SECONDARY:

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,plot,baselines]'
	touch $@

demo: $(VENV)/.installed
	@mkdir -p $(DEMO)
	$(BIN)/enrelm fit sample_data/friedman.csv --target y -o $(DEMO)/friedman.joblib
	$(BIN)/enrelm curve sample_data/friedman.csv --target y --variant kernel
	$(BIN)/enrelm compare sample_data/friedman.csv --target y
	$(BIN)/enrelm predict $(DEMO)/friedman.joblib sample_data/friedman_new.csv -o $(DEMO)/predictions.csv
	@echo; echo "the model is $(DEMO)/friedman.joblib, its predictions are $(DEMO)/predictions.csv:"; head -n 4 $(DEMO)/predictions.csv

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict enrelm_cli
	$(BIN)/python -m pytest

# Everything, with the tests that take minutes.
test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --slow

# The extras have virtual environments of their own: `nngp` alone pulls in TensorFlow.
$(VENV)-%/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(VENV)-$*/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,$*]'
	touch $@

test-dask: $(VENV)-dask/.installed
	$(VENV)-dask/bin/python -m pytest tests/test_cluster.py

test-onnx: $(VENV)-onnx/.installed
	$(VENV)-onnx/bin/python -m pytest tests/test_onnx.py

test-nngp: $(VENV)-nngp/.installed
	$(VENV)-nngp/bin/python -m pytest tests/test_nngp.py

clean:
	rm -rf $(VENV) $(VENV)-* $(DEMO) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
