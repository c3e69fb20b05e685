# make demo    set up a virtual environment and run the main job on sample_data/
# make test    set it up and run the checks and the tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := .enrelm-demo
# Two processes share the tests, so BLAS keeps to one thread in each.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2
DATA ?= ../shared/data
TABLES ?= ../shared/tables

.PHONY: demo test test-all test-dask test-onnx test-nngp bench reproduce graph clean
.SECONDARY:

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev,plot,baselines]'
	touch $@

demo: $(VENV)/.installed
	@mkdir -p $(DEMO)
	$(BIN)/enrelm fit sample_data/friedman.csv --target y -o $(DEMO)/friedman.joblib
	$(BIN)/enrelm curve sample_data/friedman.csv --target y --variant kernel
	$(BIN)/enrelm compare sample_data/friedman.csv --target y --repeats 2
	$(BIN)/enrelm predict $(DEMO)/friedman.joblib sample_data/friedman_new.csv -o $(DEMO)/predictions.csv
	@echo; echo "the model is $(DEMO)/friedman.joblib, its predictions are $(DEMO)/predictions.csv:"; head -n 4 $(DEMO)/predictions.csv

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict enrelm_cli
	$(PYTEST)

# Everything, with the tests that take minutes.
test-all: $(VENV)/.installed-dev
	$(PYTEST) --slow

# The file lists and the import graph of docs/architecture.md.
graph: $(VENV)/.installed
	$(BIN)/python docs/make_architecture.py

# The extras have virtual environments of their own: `nngp` alone pulls in TensorFlow.
$(VENV)-%/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install -qq --disable-pip-version-check --upgrade pip
	$(VENV)-$*/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev,$*]'
	touch $@

test-dask: $(VENV)-dask/.installed
	$(VENV)-dask/bin/python -m pytest tests/fold/test_cluster.py

test-onnx: $(VENV)-onnx/.installed
	$(VENV)-onnx/bin/python -m pytest tests/commands/test_onnx.py

test-nngp: $(VENV)-nngp/.installed
	$(VENV)-nngp/bin/python -m pytest tests/kernels/test_nngp.py

# The tool beside its alternatives, in an environment of their own. Wants a quiet machine, and an hour or more of it.
# make bench BENCH='--only selection,startup', make bench BENCH=--quick, make bench BENCH='--only tables --splits 1'
# The sections `tables` and `local` keep each result in .enrelm-bench, so that a run that was interrupted goes on.
$(VENV)-bench/.installed-peers: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install -qq --disable-pip-version-check --upgrade pip
	$(VENV)-bench/bin/python -m pip install -qq --disable-pip-version-check -e '.[plot,baselines]'
	# One by one: a peer that does not install is skipped by the run and named in the report.
	grep -v '^\#' benchmarks/requirements.txt | while read -r peer; do \
	  $(VENV)-bench/bin/python -m pip install -qq --disable-pip-version-check "$$peer" || true; done
	touch $@

bench: $(VENV)-bench/.installed-peers
	ENRELM_PAPER_DATA=$${ENRELM_PAPER_DATA:-$(wildcard $(DATA))} ENRELM_TABLES=$${ENRELM_TABLES:-$(wildcard $(TABLES))} \
	  $(VENV)-bench/bin/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) $(VENV)-* $(DEMO) .enrelm-bench build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The paper's experiments beside its printed figures, into docs/reproduction; DATA=folder adds the real datasets.
reproduce: $(VENV)/.installed
	$(BIN)/python -m benchmarks.paper $(if $(wildcard $(DATA)),--data $(DATA))
