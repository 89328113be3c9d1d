# make demo | test | bare | lowest | bench | docs | lint | validate | clean: each builds what it needs, most of them .venv
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

# Linear algebra here is on small matrices: one BLAS thread per process is fastest and repeatable.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1

# The programs that count how often a promise is broken; each writes CSVs and a page, with the command and the date.
VALIDATIONS := $(shell grep -l '__main__' validation/*.py)

.PHONY: demo test bare lowest bench docs lint format types unit validate clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[plot]'
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@ $(VENV)/.runtime

demo: $(VENV)/.runtime
	$(BIN)/convexdesign demo --plot demo.png

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

unit: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# An environment with the package and what it requires, no extras: it imports, solves, verifies, and says what is missing.
bare:
	rm -rf build/bare
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet --disable-pip-version-check .
	build/bare/bin/python tests/bare_install.py

# The tests under the lowest versions that pyproject.toml admits; make lowest TESTS="tests/contracts tests/programs" runs a share.
# Old releases use what newer ones of their own dependencies deprecate: those warnings are not ours.
lowest: $(VENV)-lowest/.test
	$(VENV)-lowest/bin/python -m pytest -n $(JOBS) --dist worksteal --ignore tests/docs -W default::DeprecationWarning $(TESTS)

$(VENV)-lowest/.test: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e '.[test]'
	touch $@

# Hours: the full counts, each program after the other whatever became of those before. make test runs small seeded samples.
validate: $(VENV)/.test
	failed=0; for program in $(VALIDATIONS); do \
	  $(BIN)/python $$program docs/validation --jobs $(JOBS) || { echo "FAILED: $$program" >&2; failed=1; }; \
	done; exit $$failed

# Speed: about twenty minutes and 3 GB of memory; writes docs/benchmarks.
bench: $(VENV)/.runtime
	$(BIN)/python benchmarks/frank_wolfe.py docs/benchmarks
	$(BIN)/python benchmarks/warm_start.py docs/benchmarks
	$(BIN)/python benchmarks/bounded_weights.py docs/benchmarks
	$(BIN)/python benchmarks/many_items.py docs/benchmarks
	$(BIN)/python benchmarks/extras.py docs/benchmarks
	$(BIN)/python benchmarks/experiment.py --output docs/benchmarks/durable-experiments.md

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, from nothing: every page is written, every cell runs, every warning is an error; then links and pictures.
docs: $(VENV)/.test
	rm -rf docs/_build docs/api docs/gallery docs/command-line.md
	$(BIN)/sphinx-build -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m pytest tests/docs

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist docs/_build docs/api docs/gallery docs/command-line.md demo.png .mypy_cache .ruff_cache .pytest_cache .hypothesis
