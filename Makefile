# The two commands of the README, and what a developer needs beside them.
PYTHON ?= python3
BIN := .venv/bin
# Versions to install: those tested together, constraints-oldest.txt for the oldest allowed, /dev/null for the newest.
CONSTRAINTS := constraints.txt
BUILD := scikit-build-core nanobind cmake ninja
KERNELS := CMakeLists.txt $(wildcard src/odl/kernels/*.cpp src/odl/kernels/*.h)
# Python compiles a module when it is first imported; to compile all that is installed takes 27 of 90 CPU seconds.
INSTALL := $(BIN)/pip install --quiet --no-compile --constraint $(CONSTRAINTS)
# Prints what odl depends on, with the extras that are named.
REQUIREMENTS = $(BIN)/python -c "import sys, tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	extras = [project['optional-dependencies'][name] for name in sys.argv[1:]]; \
	print(*sum(extras, project['dependencies']), sep='\n')"

# A variable that keeps Python from storing bytecode would make each of many processes compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Tests of one file share what they prepare, so each file runs in one process.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: run kernels schema test test-all test-long mutants fuzz bench faults slurm scale lint format docs dist release clean

run: .venv/installed
	@$(BIN)/snakemake --logger odl
	@$(BIN)/odl table results/default
	@$(BIN)/odl new results/default --budget 3
	@echo "what is new: results/default/new.html; how it was learned: results/default/report.html"

# Style, types and the fast tests: three minutes on two cores.
test: .venv/tested
	$(MAKE) --no-print-directory lint
	$(PYTEST) -m "not slow and not long"

# `make test`, then the tests that it leaves out because they are slow: ten minutes on two cores.
test-all: test
	$(PYTEST) -m "slow and not long"

# Tests of many minutes, before a release: real schedulers, hundreds of kills, thousands of malformed files.
test-long: .venv/tested
	$(PYTEST) -m long
	$(BIN)/python tests/helpers/sanitized.py
	$(BIN)/python tests/helpers/fuzz.py
	$(BIN)/python tests/helpers/faultrun.py

# Wrong edits drawn at random, which the tests of their modules have to see: an hour or two (docs/extending.md).
mutants: .venv/tested
	$(BIN)/python tests/helpers/mutants.py --rooms kernels learners files --sample 200
	$(BIN)/python tests/helpers/mutants.py

fuzz: .venv/tested
	$(BIN)/python tests/helpers/fuzz.py
	$(BIN)/python tests/helpers/fuzz_streams.py --seconds 300

bench: .venv/tested
	$(BIN)/python benchmarks/run.py

# Kills a small study at 200 random moments and shows what was survived (docs/faults.md).
faults: .venv/tested
	$(BIN)/python tests/helpers/faultrun.py

# The default study alone, through a Slurm on loopback in blocks, and job by job: bytes and seconds (docs/clusters.md).
slurm: .venv/tested
	$(BIN)/python tests/helpers/slurmrun.py

# What a timestep costs along long streams (docs/scaling.md). ODL_MIRROR names the folder of the corpora.
scale: .venv/tested
	$(BIN)/python benchmarks/scale.py

# Builds the kernels that were edited, as every target here does.
kernels: .venv/installed

# What learners, readers, experiments and figures say of themselves, for the workflow (docs/extending.md).
schema: .venv/installed
	$(BIN)/odl step schema --write

lint: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy

format: .venv/tested
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/snakefmt Snakefile workflow

# The environment with the versions that were tested together. Kernels that were edited are built again.
.venv/built: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.11')"
	$(PYTHON) -m venv .venv
	$(INSTALL) $(BUILD)
	touch $@

.venv/installed: .venv/built $(KERNELS)
	@$(MAKE) --no-print-directory --jobs 2 .venv/libraries .venv/package
	touch $@

.venv/tested: .venv/installed
	$(REQUIREMENTS) test bench > .venv/requirements.txt
	$(INSTALL) --requirement .venv/requirements.txt
	touch $@

# Two processes at once: one fetches and unpacks the libraries, the other compiles the kernels.
.venv/libraries: .venv/built
	$(REQUIREMENTS) > .venv/requirements.txt
	$(INSTALL) --requirement .venv/requirements.txt
	touch $@

.venv/package: .venv/built $(KERNELS)
	$(INSTALL) --no-build-isolation --no-deps --editable .
	touch $@

# The documentation site with two pages to look at, into build/site; warnings and links to nowhere are errors.
docs: .venv/tested
	$(INSTALL) --no-build-isolation --editable ".[docs]"
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs . build/site
	$(BIN)/python docs/demo.py build/site/demo
	$(BIN)/python docs/check_links.py build/site
	@echo "build/site/docs/index.html"

# The source distribution and a wheel for this platform and this Python, into dist/.
dist: .venv/installed
	$(BIN)/pip install --quiet build
	$(BIN)/python -m build --outdir dist .

# A version from a clean clone: numbers and date, tests, site, source distribution, wheel, checksums (CONTRIBUTING.md).
release: .venv/tested
	$(BIN)/python release/version.py "$(VERSION)" --address "$(ADDRESS)" --doi "$(DOI)"
	rm -rf dist
	$(MAKE) --no-print-directory test-all docs dist
	cd dist && sha256sum * > SHA256SUMS
	@echo "dist/ has version $(VERSION). Look at it, then: git commit -am 'Version $(VERSION)' && git tag v$(VERSION)"

clean:
	rm -rf .venv results build docs/gallery docs/api/generated
