"""The process that measures: writes the rows of the named figures to a file.

Arguments: a folder for data, the file, the name of a size, and the names of figures.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from bench.spark_peers import append, delete, scan, scan_deleted, selective, small_append, small_read, upsert
from bench.spark_peers.size import SIZES
from bench.spark_peers.testbed import open_testbed

MODULES = {
    "append": append,
    "scan": scan,
    "delete": delete,
    "deleted": scan_deleted,
    "upsert": upsert,
    "selective": selective,
    "small-read": small_read,
    "small-append": small_append,
}


def main(folder: str, result: str, size: str, *names: str) -> None:
    rows = []
    with open_testbed(Path(folder, "data"), SIZES[size]) as testbed:
        for name in names:
            start = perf_counter()
            rows += MODULES[name].measure(testbed)
            print(f"{name}: measured in {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    Path(result).write_text(json.dumps([asdict(row) for row in rows]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
