# make demo         set up a virtual environment and run the main job on sample_data/
# make test         set it up and run the checks and the tests; CONSTRAINTS=.ci/oldest.txt fixes versions
# make test-all     with the tests that take minutes; make test-matrix: with Python 3.10 to 3.13; make mutate: of the tests
# make graph        docs/architecture.md and its picture, from the package; make figures: pictures, screens, README's table
# make docs         the documentation site, into build/site
# make release-check   sdist and wheel, installed from scratch with each Python of this machine
# make bench        the tool beside its alternatives; make reproduce: the paper's experiments
# make sbom, audit  what is installed with it, under which licence, and what is known against it
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A file of versions that pip keeps to: .ci/oldest.txt are the oldest that pyproject.toml allows.
CONSTRAINTS ?=
PIP = python -m pip install -qq --disable-pip-version-check $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
DEMO := .enrelm-demo
# Two processes share the tests, so BLAS keeps to one thread in each.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2
DATA ?= ../shared/data
TABLES ?= ../shared/tables

.PHONY: demo test test-all mutate test-matrix test-dask test-onnx test-nngp test-s3 bench reproduce activations graph figures docs release-check sbom audit clean
.SECONDARY:

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) --upgrade pip
	$(BIN)/$(PIP) -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/$(PIP) -e '.[dev,plot,baselines]'
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
	.ci/types $(BIN)
	$(PYTEST)

# Everything, with the tests that take minutes; ONLY='-m slow': these alone, after make test.
test-all: $(VENV)/.installed-dev
	$(PYTEST) --slow $(ONLY)

# Change one operator, number or condition at a time: do the tests notice? With a log, MUTATE="--log FILE", a run that was
# stopped goes on; MUTATE='judge/curve.py' is one file.
mutate: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutate $(MUTATE)

# Each in an environment of its own; a Python that this machine lacks is skipped with a reason. PYTHONS='3.10 3.13'
test-matrix:
	.ci/matrix test

# Of what enrelm brings with it when it is installed: a bill of materials and the licences, into build/.
sbom: $(VENV)/.installed
	$(BIN)/python .ci/sbom.py build

audit: $(VENV)/.installed
	.ci/audit $(VENV)

# The file lists and the import graph of docs/architecture.md; the reference of docs/python.md and its types.
graph: $(VENV)/.installed
	$(BIN)/python docs/make_architecture.py
	PYTHONPATH=. $(BIN)/python docs/make_python.py

# Pictures and screens of the pages, and README's table of results. FIGURES='fit.svg curve.png' makes some.
figures: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/python docs/make_figures.py $(FIGURES)

# The site: a warning is an error. Open build/site/index.html; search works without a server, too.
$(VENV)-docs/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/$(PIP) --upgrade pip
	$(VENV)-docs/bin/$(PIP) -e '.[docs]'
	touch $@

docs: $(VENV)-docs/.installed
	rm -rf build/site
	$(VENV)-docs/bin/python -m sphinx -W --keep-going -q -j 2 -c docs -d build/doctrees . build/site
	@echo "the site is build/site/index.html"

# Build, check, install from both in clean environments, run the demo; with every Python that this machine has.
release-check:
	.ci/release-check

# The extras have virtual environments of their own: `nngp` alone pulls in TensorFlow.
$(VENV)-%/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/$(PIP) --upgrade pip
	$(VENV)-$*/bin/$(PIP) -e '.[dev,$*]'
	touch $@

test-dask: $(VENV)-dask/.installed
	$(VENV)-dask/bin/python -m pytest tests/fold/test_cluster.py

test-onnx: $(VENV)-onnx/.installed
	$(VENV)-onnx/bin/python -m pytest tests/commands/test_onnx.py

test-s3: $(VENV)-s3/.installed
	$(VENV)-s3/bin/python -m pytest --slow tests/table/test_remote.py tests/table/test_stores.py tests/table/test_downloads.py

test-nngp: $(VENV)-nngp/.installed
	$(VENV)-nngp/bin/python -m pytest tests/kernels/test_nngp.py

# The table of docs/activations.md: `enrelm compare` with each activation.
activations: $(VENV)-nngp/.installed
	PYTHONPATH=. $(VENV)-nngp/bin/python docs/make_activations.py

# The tool beside its alternatives, in an environment of their own. Wants a quiet machine, and an hour or more of it.
# make bench BENCH='--only selection,startup', make bench BENCH=--quick, make bench BENCH='--only tables --splits 1'
# The sections `tables` and `local` keep each result in .enrelm-bench, so that a run that was interrupted goes on.
$(VENV)-bench/.installed-peers: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/$(PIP) --upgrade pip
	$(VENV)-bench/bin/$(PIP) -e '.[plot,baselines]'
	# One by one: a peer that does not install is skipped by the run and named in the report.
	grep -v '^\#' benchmarks/requirements.txt | while read -r peer; do \
	  $(VENV)-bench/bin/$(PIP) "$$peer" || true; done
	touch $@

bench: $(VENV)-bench/.installed-peers
	ENRELM_PAPER_DATA=$${ENRELM_PAPER_DATA:-$(wildcard $(DATA))} ENRELM_TABLES=$${ENRELM_TABLES:-$(wildcard $(TABLES))} \
	  $(VENV)-bench/bin/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) $(VENV)-* $(DEMO) .enrelm-bench build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The paper's experiments beside its printed figures, into docs/reproduction; DATA=folder adds the real datasets.
reproduce: $(VENV)/.installed
	$(BIN)/python -m benchmarks.paper $(if $(wildcard $(DATA)),--data $(DATA))
