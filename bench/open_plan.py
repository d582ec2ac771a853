"""Opens a fabricated table in a new process and plans a scan: once cold, then warm. Prints what each took."""

import json
import sys
from statistics import median
from time import perf_counter

import pandas  # noqa: F401  # pyarrow loads it where it is installed: the loading of modules is not what is measured
import sqlglot.dialects.spark  # noqa: F401

import lakebed
import lakebed.arrow.engine
import lakebed.lake.lake
from bench.child import resident_bytes
from bench.fabricated import NAME
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
