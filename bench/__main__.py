"""Measure all figures, or those that are named, and print them; with --write, put them into docs/performance.md."""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import report, spark_peers
from bench.figure import Figure, Measured, Row
from bench.figures import (
    ancestors,
    branch,
    catalog,
    catalog_processes,
    cli,
    commit,
    commits,
    create,
    depth,
    engines,
    growth,
    inline_limit,
    inspection,
    listing,
    merge,
    merges,
    metadata,
    opening,
    pipelines,
    plan,
    point,
    processes,
    row_merge,
    spark_append,
    spark_scan,
    undrop,
)
from bench.machine import calm_sync_seconds, machine, sync_seconds

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"

FIGURES = (
    commit.FIGURE,
    growth.FIGURE,
    create.FIGURE,
    listing.FIGURE,
    inspection.FIGURE,
    ancestors.FIGURE,
    *processes.FIGURES,
    commits.FIGURE,
    plan.FIGURE,
    point.FIGURE,
    engines.FIGURE,
    metadata.FIGURE,
    opening.FIGURE,
    inline_limit.FIGURE,
    catalog.FIGURE,
    branch.FIGURE,
    depth.FIGURE,
    merge.FIGURE,
    merges.FIGURE,
    row_merge.FIGURE,
    undrop.FIGURE,
    catalog_processes.FIGURE,
    cli.FIGURE,
    spark_scan.FIGURE,
    spark_append.FIGURE,
    pipelines.FIGURE,
    spark_peers.FIGURE,
)

PARTS = spark_peers.PARTS
"""Parts of a figure above, each under a name of its own: measured only if they are named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "figures", nargs="*", metavar="figure", help=", ".join(figure.name for figure in (*FIGURES, *PARTS))
    )
    parser.add_argument("--write", action="store_true", help="put all figures into docs/performance.md")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, where a figure has them, to see that it runs"
    )
    asked = parser.parse_args()
    unknown = set(asked.figures) - {figure.name for figure in (*FIGURES, *PARTS)}
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    if asked.write and (asked.figures or asked.quick):
        parser.error("the page shows one complete run: --write can't be combined with names or --quick")
    where = machine()
    print(where, end="\n\n")
    chosen = [figure for figure in (*FIGURES, *PARTS) if figure.name in asked.figures] or FIGURES
    measured = [
        _measured(figure, figure.quick if asked.quick and figure.quick else figure.measure) for figure in chosen
    ]
    if asked.write:
        report.write(PAGE, report.markdown(measured, where))


def _measured(figure: Figure, measure: Callable[[Path], list[Row]]) -> Measured:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=_data_folder()) as data:
        before = calm_sync_seconds(Path(data))
        rows = measure(Path(data))
        measured = Measured(figure, rows, (before, sync_seconds(Path(data))))
    print(report.text(measured), flush=True)
    return measured


def _data_folder() -> Path:
    """A folder on the checkout's disk: that of temporary files, unless it is on another disk, which may be in memory.

    Once, a new file took 0.57 ms anywhere under the checkout and 0.04 ms in /tmp, on one ext4 whose inodes near the
    checkout were all taken. That would have been a fifth of an append, through no fault of the append.
    """
    temporary, build = Path(tempfile.gettempdir()), ROOT / "build"
    build.mkdir(exist_ok=True)
    return temporary if temporary.stat().st_dev == build.stat().st_dev else build


if __name__ == "__main__":
    main()
