"""Opens a table of synthetic files in a new process and counts its rows. Prints how long it took."""

import json
import sys

import pandas  # noqa: F401  # pyarrow loads it if it is installed; importing modules is not measured

import lakebed
import lakebed.arrow.engine
import lakebed.lake.lake
from bench.data.synthetic_files import NAME
from bench.timing import seconds


def main() -> None:
    [folder] = sys.argv[1:]
    rows = []
    took = seconds(lambda: rows.append(lakebed.connect(folder).catalog().table(NAME).scan().count()))
    print(json.dumps({"seconds": took, "rows": rows[0]}))


if __name__ == "__main__":
    main()
