# Needs Python 3.11 or newer and make; everything else goes into .venv.

PYTHON ?= python3
PYTEST_WORKERS ?= 3
ONLY ?= *
MINUTES ?= 60
N ?= 200
BIN := .venv/bin
# One more than the processors of CI: one works while another waits for Java, a browser or a database. Fast tests wait
# for none.
SPREAD := -n $(PYTEST_WORKERS)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE  # the tests start Python many times, and pytest rewrites modules each time

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-thorough lint format types pytest spark doctest fuzz oracle-run smt-run mutants reliability bench bench-quick bench-scale reproduce reproduce-all reproduce-beyond reproduce-docs rulebench rulebench-peers rulebench-docs bench-optimal bench-pyxai kills docs docs-serve axe pictures oldest oldest-slice core matrix dist release-check install-sizes pyxai te2rules ensembles clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.package  ## Say in few rules what a tree for tumours does (a table that comes with scikit-learn)
	@$(BIN)/secateur simplify

# What runs on one processor goes two at a time; the benchmark before the tests, for it compiles the kernels for both
# workers.
test: .venv/.dev  ## Everything that must pass: lint, types, tests, doctests, quick benchmark, docs (minutes)
	@$(MAKE) -j2 lint types bench-quick docs
	@if command -v npm >/dev/null; then $(MAKE) axe; fi
	@$(MAKE) pytest

test-fast: .venv/.dev  ## Tests for daily work: few examples; no browser, database, Java, nor what takes long
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -q -n 2 -m 'not long and not program'

test-thorough: .venv/.dev  ## Every test that draws: ten times as many examples, and all cases (an hour)
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -q $(SPREAD) -m 'hypothesis or drawn'

lint: .venv/.dev  ## Look for mistakes and unformatted code (ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/.dev  ## Format the code and repair what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.dev  ## Check the types (mypy)
	$(BIN)/mypy

pytest: .venv/.dev  ## Only the tests and doctests
	$(BIN)/pytest -q $(SPREAD)

spark: .venv/.dev  ## Only the tests on Spark (needs Java 17)
	$(BIN)/pytest -q tests/spark

doctest: .venv/.dev  ## Only the examples in docstrings
	$(BIN)/pytest -q src

fuzz: .venv/.dev  ## Read changed files of every format for a while (MINUTES=60; goes on in ./fuzz-runs)
	PYTHONPATH=tests $(BIN)/python -m fuzz.campaign --minutes $(MINUTES)

oracle-run: .venv/.dev  ## Judge rules of random trees by brute force for a while (MINUTES=60; goes on in ./oracle-runs)
	PYTHONPATH=tests $(BIN)/python -m fuzz.rules_campaign --minutes $(MINUTES)

smt-run: .venv/.dev  ## Ask z3 for rows on which rules of random trees, and mutants of them, differ from the tree (N=200; goes on in ./smt-runs)
	PYTHONPATH=tests $(BIN)/python -m fuzz.smt_campaign --trees $(N)

mutants: .venv/.dev  ## Change one thing at a time in what proofs rest on, and see whether a test fails (N=200; goes on in ./mutant-runs)
	nice -n 10 env PYTHONPATH=tests $(BIN)/python -m fuzz.mutants $(N)

reliability: .venv/.dev  ## Store what the long runs found so far, and write docs/reliability.md
	if [ -d fuzz-runs ]; then PYTHONPATH=tests $(BIN)/python -m fuzz.campaign --store docs/reliability_inputs.json; fi
	if [ -d oracle-runs ]; then PYTHONPATH=tests $(BIN)/python -m fuzz.rules_campaign --store docs/reliability_rules.json; fi
	if [ -d smt-runs ]; then PYTHONPATH=tests $(BIN)/python -m fuzz.smt_campaign --store docs/reliability_smt.json; fi
	if [ -d mutant-runs ]; then PYTHONPATH=tests $(BIN)/python -m fuzz.mutants --store docs/reliability_mutants.json; fi
	$(BIN)/python docs/reliability_page.py

bench: .venv/.dev  ## Check the answers, then time them (minutes; ONLY='unpruned/*' for some)
	$(BIN)/python -m benchmarks.run --only '$(ONLY)'

bench-quick: .venv/.dev  ## The benchmarks on small data, in seconds
	$(BIN)/python -m benchmarks.run --quick --only '$(ONLY)'

bench-scale: .venv/.dev  ## Rules from 50,000,000 rows of Parquet, and from every source (ten minutes; 5 GB of disk for as long)
	$(BIN)/python -m benchmarks.run --only 'scale/*'

bench-pyxai: .venv-pyxai/.dev  ## exact against the sufficient reasons of PyXAI
	.venv-pyxai/bin/python -m benchmarks.run --only 'pyxai/*'

reproduce: .venv/.package  ## Recompute the paper's deterministic table and compare every cell
	$(BIN)/secateur reproduce deterministic

reproduce-all: .venv/.dev  ## Run every experiment of the paper (minutes; resumes in ./reproduction)
	$(BIN)/secateur reproduce all
	$(BIN)/python -m benchmarks.paper.operations

reproduce-beyond: .venv/.dev  ## Every method and setting on the paper's data sets (an hour; resumes in ./reproduction)
	$(BIN)/secateur reproduce sparse --splits 5
	$(BIN)/python -m benchmarks.paper.readings
	$(BIN)/secateur reproduce beyond

kills: .venv/.dev  ## Kill writing commands N times and look at what they leave (N=2000: half an hour; resumes in kills.jsonl)
	nice -n 10 $(BIN)/python tests/writing/kills.py --kills $(N) --log kills.jsonl

reproduce-docs: .venv/.dev  ## Store what is finished in ./reproduction, and write the pages that show it
	if [ -d reproduction ]; then $(BIN)/python -m benchmarks.paper.stored reproduction; fi
	$(BIN)/python -m benchmarks.paper.documents docs

# A slice: make rulebench SLICE="--datasets iris,wine --splits 1", and the same for the peers.
rulebench: .venv/.dev  ## Every method on 80 data sets and six kinds of trees (hours; resumes in ./rulebench)
	nice -n 10 $(BIN)/secateur bench --trees $(KINDS) $(SLICE)
	nice -n 10 $(BIN)/python -m benchmarks.rulebench_operations --trees $(KINDS) $(SLICE)

KINDS := cart-4,cart-6,cart-unpruned,cart-pruned,streed,contree

# Weka is unpacked from Debian's package, not installed; without it its learners are left out.
rulebench-peers: .venv-te2rules/.dev  ## TE2Rules, imodels and Weka on the same splits (an hour; resumes in ./rulebench)
	mkdir -p .venv-te2rules/weka
	cd .venv-te2rules/weka && { [ -f usr/share/java/weka.jar ] || { apt-get download weka && dpkg -x weka_*.deb . ; } || true; }
	nice -n 10 .venv-te2rules/bin/python -m benchmarks.rulebench_peers \
		$$(test -f .venv-te2rules/weka/usr/share/java/weka.jar && echo --weka .venv-te2rules/weka/usr/share/java/weka.jar) $(SLICE)

rulebench-docs: .venv/.dev  ## Add what is finished in ./rulebench to the stored results, and write the page that shows them
	if [ -d rulebench ]; then $(BIN)/python -m secateur.lab.rulebench.results rulebench; fi
	if [ -d rulebench ]; then $(BIN)/python -m benchmarks.rulebench_operations --store; fi
	$(BIN)/python -m benchmarks.rulebench_page docs

bench-optimal: .venv/.dev  ## The local search against CART and LicketySPLIT (minutes)
	$(BIN)/python -m benchmarks.optimal

docs: .venv/.dev  ## Build the documentation site into ./site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

docs-serve: .venv/.dev  ## Show the documentation site while you write
	$(BIN)/mkdocs serve

axe: node_modules/.bin/pyright  ## Fetch axe, which looks for barriers in the report, and a second checker of types (needs npm)

node_modules/.bin/pyright:
	npm install --silent --no-save --no-package-lock axe-core@4 pyright@1

pictures: .venv/.dev  ## Draw the pictures of the README and the docs anew (needs Chromium)
	$(BIN)/python docs/pictures.py

oldest: .venv-oldest/.dev  ## The tests with the lowest supported dependencies (Python 3.11 or 3.12)
	$(PYTEST_OLDEST)

oldest-slice: .venv-oldest/.dev  ## Some of them, in a minute: scikit-learn, rows, exports, the command line
	HYPOTHESIS_PROFILE=quick $(PYTEST_OLDEST) -m 'not program' --ignore tests/rows/test_hostile_files.py $(OLDEST_SLICE)

# Old releases use what newer ones deprecate; and two releases of numba would throw one another's kernels away.
PYTEST_OLDEST := NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/kernels .venv-oldest/bin/pytest -q $(SPREAD) -W default::DeprecationWarning -W default::FutureWarning
OLDEST_SLICE := $(addprefix tests/,adapters/test_scikit_learn.py adapters/test_pipeline.py rows export/test_formats.py \
	export/test_sql.py export/test_onnx.py export/test_python.py cli/test_main.py cli/tables)

core:  ## Call every public function with the core dependencies alone, in a fresh environment
	$(FRESH) core

matrix:  ## scikit-learn 1.6 to 1.9 with the oldest and newest numpy and pandas, in fresh environments (half an hour; ONLY=1.6 for some)
	$(FRESH) matrix --only '$(ONLY:*=)'

dist:  ## Build the wheel and the source distribution, look at them, and try both in fresh environments
	$(FRESH) dist

release-check:  ## Is the version that of the tag, and has the changelog a section for it? (TAG=v0.3.0)
	@$(PYTHON) -c 'import pathlib, re; \
	version = re.search("__version__ = \"(.*)\"", pathlib.Path("src/secateur/__init__.py").read_text())[1]; \
	assert "$(TAG)" == "v" + version, f"The tag is $(TAG), the version {version}."; \
	assert f"version: \"{version}\"" in pathlib.Path("conda/meta.yaml").read_text(), f"conda/meta.yaml is not of {version}."; \
	assert f"\n## {version}\n" in pathlib.Path("CHANGELOG.md").read_text(), f"The changelog has no section {version}."; \
	print(f"Ready: {version}")'

install-sizes:  ## Measure what each extra installs, and write the table of docs/install.md
	$(FRESH) sizes

FRESH := nice -n 10 $(PYTHON) tests/environments/fresh.py

pyxai: .venv-pyxai/.dev  ## Compare the rules of `exact` with PyXAI's verdicts
	.venv-pyxai/bin/pytest -q tests/peers/test_pyxai.py

ensembles: .venv/.dev .venv-te2rules/.dev  ## Lists of rules for ensembles, ours beside TE2Rules and others (an hour; resumes in ./reproduction)
	.venv-te2rules/bin/python -m benchmarks.ensemble_lists te2rules
	for list in greedy-list skope-rules skope-vote; do .venv-te2rules/bin/python -m benchmarks.ensemble_lists $$list || exit; done
	$(BIN)/python -m benchmarks.ensemble_lists secateur
	$(BIN)/python -m benchmarks.paper.ensembles reproduction

te2rules: .venv-te2rules/.dev  ## What TE2Rules makes of the paper's CART trees (minutes; resumes in ./reproduction)
	.venv-te2rules/bin/python -m benchmarks.te2rules_lists

clean:  ## Delete the virtual environments, caches and build results
	rm -rf .venv .venv-oldest .venv-pyxai .venv-te2rules node_modules build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find benchmarks src tests -name __pycache__ -prune -exec rm -rf {} +

# One empty file per finished step: a step that failed runs again, and a change of pyproject.toml installs again.

.venv/.python:
	@$(call need_python,(3, 11),(4, 0),3.11 or newer)
	@echo "Creating .venv"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.package: .venv/.python pyproject.toml
	@echo "Installing secateur into .venv (the first time takes a minute)"
	@$(BIN)/python -m pip install -qq --editable '.[cli]'
	@touch $@

.venv/.dev: .venv/.package
	@echo "Installing the development tools into .venv"
	@$(BIN)/python -m pip install -qq --editable '.[dev]'
	@touch $@

# The lower bounds of pyproject.toml, pinned.
.venv-oldest/.dev: pyproject.toml
	@$(call need_python,(3, 11),(3, 13),3.11 or 3.12 for its oldest dependencies)
	@echo "Installing the oldest supported dependencies into .venv-oldest"
	@$(PYTHON) -m venv --clear .venv-oldest
	@.venv-oldest/bin/python -c 'import tomllib; \
	project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	extras = project["optional-dependencies"]; \
	extras.update(core=project["dependencies"]); \
	bounds = [one for extra in "core cli fast polars report sql tables".split() for one in extras[extra] if "[" not in one]; \
	print("\n".join(bounds).replace(">=", "=="))' > .venv-oldest/constraints.txt
	@.venv-oldest/bin/python -m pip install -qq --constraint .venv-oldest/constraints.txt --editable '.[test]'
	@touch $@

# PyXAI brings xgboost, OpenCV, OR-Tools and more, which nothing else here needs.
.venv-pyxai/.dev: pyproject.toml
	@$(call need_python,(3, 11),(3, 15),3.11 to 3.14 for PyXAI)
	@echo "Installing PyXAI into .venv-pyxai (the first time takes minutes)"
	@$(PYTHON) -m venv --clear .venv-pyxai
	@.venv-pyxai/bin/python -m pip install -qq --editable '.[test,pyxai]'
	@touch $@

# The licence of TE2Rules is non-commercial (CC BY-NC 4.0), so no extra of secateur names it.
.venv-te2rules/.dev: pyproject.toml
	@$(call need_python,(3, 11),(4, 0),3.11 or newer)
	@echo "Installing TE2Rules into .venv-te2rules (the first time takes minutes)"
	@$(PYTHON) -m venv --clear .venv-te2rules
	@.venv-te2rules/bin/python -m pip install -qq --editable '.[lab]' te2rules==1.0.1 imodels==3.0.4 jpype1 xgboost-cpu
	@touch $@

# $(call need_python,first version,first version that is too new,what a person should have)
need_python = $(PYTHON) -c 'import sys; sys.exit(not $(1) <= sys.version_info[:2] < $(2))' 2>/dev/null || { \
	echo "secateur needs Python $(3); $(PYTHON) is:" "$$($(PYTHON) --version 2>&1)." \
	"Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
