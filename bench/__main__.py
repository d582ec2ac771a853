"""Measure the figures, all or those that are named, and print them; with --write, put them into docs/performance.md."""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import (
    ancestors,
    border,
    branch,
    catalog,
    catalog_processes,
    commit,
    commits,
    create,
    depth,
    growth,
    listing,
    merge,
    metadata,
    opening,
    plan,
    point,
    processes,
    spark_append,
    spark_peers,
    spark_scan,
    table,
    undrop,
)
from bench.figure import Figure, Measured, Row
from bench.machine import calm_sync_seconds, machine, sync_seconds

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"

FIGURES = (
    commit.FIGURE,
    growth.FIGURE,
    create.FIGURE,
    listing.FIGURE,
    ancestors.FIGURE,
    *processes.FIGURES,
    commits.FIGURE,
    plan.FIGURE,
    point.FIGURE,
    metadata.FIGURE,
    opening.FIGURE,
    border.FIGURE,
    catalog.FIGURE,
    branch.FIGURE,
    depth.FIGURE,
    merge.FIGURE,
    undrop.FIGURE,
    catalog_processes.FIGURE,
    spark_scan.FIGURE,
    spark_append.FIGURE,
    spark_peers.FIGURE,
)

PARTS = spark_peers.PARTS
"""Of a figure above, each by its own name: only measured if it is asked for."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "figures", nargs="*", metavar="figure", help=", ".join(figure.name for figure in (*FIGURES, *PARTS))
    )
    parser.add_argument("--write", action="store_true", help="put all figures into docs/performance.md")
    parser.add_argument("--quick", action="store_true", help="small sizes, where a figure has them: only to see it run")
    asked = parser.parse_args()
    unknown = set(asked.figures) - {figure.name for figure in (*FIGURES, *PARTS)}
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    if asked.write and (asked.figures or asked.quick):
        parser.error("the page holds one whole run: --write takes no names and no --quick")
    where = machine()
    print(where, end="\n\n")
    chosen = [one for one in (*FIGURES, *PARTS) if one.name in asked.figures] or FIGURES
    measured = [_measured(one, one.quick if asked.quick and one.quick else one.measure) for one in chosen]
    if asked.write:
        table.write(PAGE, table.markdown(measured, where))


def _measured(figure: Figure, measure: Callable[[Path], list[Row]]) -> Measured:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=_place()) as data:
        before = calm_sync_seconds(Path(data))
        rows = measure(Path(data))
        measured = Measured(figure, rows, (before, sync_seconds(Path(data))))
    print(table.text(measured), flush=True)
    return measured


def _place() -> Path:
    """A folder on the disk of the checkout. That of temporary files, unless it is another one: it may be in memory.

    Once, a new file took 0.57 ms anywhere under the checkout and 0.04 ms in /tmp, on one ext4 whose inodes near the
    checkout were all taken: that would have been a fifth of an append, and nothing that an append can help.
    """
    temporary, build = Path(tempfile.gettempdir()), ROOT / "build"
    build.mkdir(exist_ok=True)
    return temporary if temporary.stat().st_dev == build.stat().st_dev else build


if __name__ == "__main__":
    main()
