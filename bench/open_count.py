"""Opens a fabricated table in a new process and counts its rows. Prints what it took."""

import json
import sys

import pandas  # noqa: F401  # pyarrow loads it where it is installed: the loading of modules is not what is measured

import lakebed
import lakebed.arrow.engine
import lakebed.lake.lake
from bench.fabricated import NAME
from bench.timing import seconds


def main() -> None:
    [folder] = sys.argv[1:]
    rows = []
    took = seconds(lambda: rows.append(lakebed.connect(folder).catalog().table(NAME).scan().count()))
    print(json.dumps({"seconds": took, "rows": rows[0]}))


if __name__ == "__main__":
    main()
