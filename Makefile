PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Marks of the tests that start servers, containers, Spark or a browser. They wait more than they compute, so three files run
# at a time, whatever the number of cores: more would starve each other. Tests of one file share what they started.
OUTSIDE := real or docker or java or chromium or prometheus or registry

.PHONY: demo test wheel-environment wheel-test dist lint hashes hashes-again mutants mutants-all mutants-drawn known image bench clean
.DELETE_ON_ERROR:
# Modules and rewritten assertions are compiled once, not by every process that the tests start.
unexport PYTHONDONTWRITEBYTECODE

demo: $(READY)
	@$(BIN)/zonelab demo

# Lint takes one core: meanwhile the environment of the wheel is made.
test: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 lint wheel-environment
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not ($(OUTSIDE))"
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "$(OUTSIDE)"

# What users do with the wheel, in an environment of its own; skipped where there is no package registry.
wheel-test: $(READY) wheel-environment
	@$(BIN)/python -m pytest -m registry tests/wheel

wheel-environment: $(READY)
	@$(BIN)/python tests/support/wheel_environment.py

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# Whether simulated runs do what they did at the commit that tests/hashes/table.txt names; and the table for the last commit.
hashes: $(READY)
	@$(BIN)/python tests/hashes/table.py check

hashes-again: $(READY)
	@$(BIN)/python tests/hashes/table.py again

# The wheel and the source distribution, in dist/.
dist: $(READY)
	@rm -rf build dist
	@$(BIN)/python -m build --no-isolation --outdir dist .

image: $(READY)
	@$(BIN)/zonelab image

bench: $(READY)
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Set up once; again only when the dependencies change. Modules are compiled on all cores, for which pip takes one; a
# package may hold files that are none of this Python's.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "zonelab needs Python 3.11 or newer: $(PYTHON) is not on the PATH"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "zonelab needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V); set PYTHON=…"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "zonelab needs Python's venv module: install python3-venv"; exit 1; }
	@command -v java >/dev/null || echo "no Java found: install a Java 17+ runtime for the Spark aggregation; the rest works without"
	@echo "setting up $(VENV), 1 of 2: a Python environment of its own"
	@$(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV), 2 of 2: $$(wc -l < constraints.txt) packages are downloaded and installed, PySpark the largest"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

# A small fault at a time, each against the tests and simulated runs that are known to notice it.
mutants: $(READY)
	@PYTHONPATH=tests $(BIN)/python -m mutants

# Without limits, which takes hours; writes tests/mutants/README.md.
mutants-all: $(READY)
	@PYTHONPATH=tests $(BIN)/python -m mutants --all

# Small faults that a seed draws over the whole product; hours for a few hundred, and resumes.
SEED ?= 1
N ?= 300
mutants-drawn: $(READY)
	@PYTHONPATH=tests $(BIN)/python -m mutants.drawn --seed $(SEED) --count $(N)

# Every known failure at its affected and its newest version and without its fault, 20 runs each, and 5 of the ten
# quickest on three zones; hours, and resumes.
known: $(READY)
	@for name in $$($(BIN)/python -c 'from zonelab.studies.known.failure import failure_names as n; print(*n())'); do \
		$(BIN)/zonelab known run $$name --jobs 4 --keep studies/known/measured.json; test $$? -le 2 || exit 3; done
	@for name in $$($(BIN)/python -c 'from zonelab.studies.known import rows as r; print(*r.quickest(r.read_rows(), 10))'); do \
		for level in DC_ONE DC_QUORUM; do $(BIN)/zonelab known run $$name --zones 3 --level $$level --runs 5 --jobs 4 \
			--keep studies/known/measured.json; test $$? -le 2 || exit 3; done; done
	@PYTHONPATH=tests $(BIN)/python -m support.made_parts

clean:
	rm -rf $(VENV) .wheel build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
