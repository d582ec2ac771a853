"""Measure the figures, all or those that are named, and print them; with --write, put them into docs/performance.md."""

import argparse
import tempfile
from pathlib import Path

from bench import (
    ancestors,
    append,
    append_growth,
    commit,
    create,
    growth,
    listing,
    processes,
    spark_append,
    spark_scan,
    table,
)
from bench.figure import Figure, Measured
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
    append.FIGURE,
    append_growth.FIGURE,
    spark_scan.FIGURE,
    spark_append.FIGURE,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="figure", help=", ".join(figure.name for figure in FIGURES))
    parser.add_argument("--write", action="store_true", help="put all figures into docs/performance.md")
    asked = parser.parse_args()
    unknown = set(asked.figures) - {figure.name for figure in FIGURES}
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    if asked.write and asked.figures:
        parser.error("the page holds one whole run: --write takes no names")
    where = machine()
    print(where, end="\n\n")
    measured = [_measured(figure) for figure in FIGURES if not asked.figures or figure.name in asked.figures]
    if asked.write:
        table.write(PAGE, table.markdown(measured, where))


def _measured(figure: Figure) -> Measured:
    """In a folder on the disk of the checkout: that of /tmp may be memory, where a sync costs nothing."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as data:
        before = calm_sync_seconds(Path(data))
        rows = figure.measure(Path(data))
        measured = Measured(figure, rows, (before, sync_seconds(Path(data))))
    print(table.text(measured), flush=True)
    return measured


if __name__ == "__main__":
    main()
