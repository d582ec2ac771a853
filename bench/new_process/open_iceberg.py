"""Opens PyIceberg's table of synthetic files in a new process and plans a scan. Prints how long it took."""

import json
import sys
from pathlib import Path
from time import perf_counter

import pandas  # noqa: F401  # importing modules is not measured
import pyiceberg.expressions.parser
import pyiceberg.io.pyarrow  # noqa: F401

from bench.data.iceberg_table import NAME, open_catalog
from bench.new_process.run import resident_bytes


def main() -> None:
    folder, where = sys.argv[1:]
    before, start = resident_bytes(), perf_counter()
    table = open_catalog(Path(folder)).load_table(NAME)
    files = len(list(table.scan(where).plan_files()))
    print(json.dumps({"cold": perf_counter() - start, "memory": resident_bytes() - before, "files": files}))


if __name__ == "__main__":
    main()
