"""Opens a table of synthetic files in a new process and plans a scan, cold and then warm. Prints the times."""

import json
import sys
from statistics import median
from time import perf_counter

import pandas  # noqa: F401  # pyarrow loads it if it is installed; importing modules is not measured
import sqlglot.dialects.spark  # noqa: F401

import lakebed
import lakebed.arrow.engine
import lakebed.lake.lake
from bench.data.synthetic_files import NAME
from bench.new_process.run import resident_bytes
from bench.timing import seconds

WARM = 15


def main() -> None:
    folder, where = sys.argv[1:]
    before, start = resident_bytes(), perf_counter()
    table = lakebed.connect(folder).catalog().table(NAME)
    opened = perf_counter() - start
    scan = table.scan(where or None)
    cold = perf_counter() - start
    warm = [seconds(lambda: table.scan(where or None)) for _ in range(WARM)]
    memory = resident_bytes() - before
    files = len(scan._plan.files)
    print(json.dumps({"opened": opened, "cold": cold, "warm": median(warm), "memory": memory, "files": files}))


if __name__ == "__main__":
    main()
