"""Up to which size inline rows and manifests pay off, against Parquet files and files of entries."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy
import pyarrow

import lakebed
from bench.figure import Figure, Row, ratio
from bench.figures import manifest_inline_limit
from bench.machine import is_calm
from bench.timing import Pairs, in_turn, seconds
from lakebed.table.manifest.inline import MOST_INLINE_BYTES

SIZES = (1_000, 4_000, 16_000, 64_000, 256_000)
ROUNDS, EACH, SCANS = 5, 10, 3
ROW_BYTES = 100
COMMENT_BYTES = 70


def measure(
    folder: Path, sizes: Sequence[int] = SIZES, manifests: Sequence[int] = manifest_inline_limit.SIZES, each: int = EACH
) -> list[Row]:
    """An append of rows and a scan after some appends; then a commit with a manifest and a read of it."""
    return _of_rows(folder, sizes, each) + manifest_inline_limit.measure(folder, manifests, each)


def _of_rows(folder: Path, sizes: Sequence[int], each: int) -> list[Row]:
    lake = lakebed.connect(folder / "lake")
    lake.catalog().create_namespace("sales")
    rows = [row for size in sizes for row in _compared(folder, lake, size, each)]
    lake.close()
    return rows


def _compared(folder: Path, lake: lakebed.Lake, size: int, each: int) -> list[Row]:
    """The scans read the tables as the appends left them, some 50 of each kind."""
    data = _rows(size // ROW_BYTES)
    schema = data.schema
    inline, files = (
        lake.catalog().create_table(f"sales.{kind}_{size}", schema, properties={"write.inline-bytes": str(limit)})
        for kind, limit in (("inline", MOST_INLINE_BYTES), ("files", 0))
    )
    for table in (inline, files):
        table.append(data)
    written = in_turn(
        lambda: seconds(lambda: files.append(data)),
        lambda: seconds(lambda: inline.append(data)),
        rounds=ROUNDS,
        each=each,
        calm=lambda: is_calm(folder),
    )
    what = f"of {size // 1000} kB ({data.num_rows:,} rows)"
    return [
        ratio(f"an append {what}, Parquet / inline", written),
        ratio(f"a scan of {1 + each * ROUNDS:,} or more appends {what}, Parquet / inline", _scans(files, inline)),
    ]


def _scans(files: lakebed.Table, inline: lakebed.Table) -> Pairs:
    return in_turn(
        lambda: seconds(lambda: files.scan().to_arrow()),
        lambda: seconds(lambda: inline.scan().to_arrow()),
        rounds=ROUNDS,
        each=SCANS,
    )


def _rows(count: int) -> pyarrow.Table:
    """Rows of about 100 bytes each that don't compress away."""
    random = numpy.random.default_rng(5)
    letters = random.integers(97, 123, (count, COMMENT_BYTES), dtype=numpy.uint8)
    return pyarrow.table(
        {
            "id": pyarrow.array(numpy.arange(count)),
            "customer": pyarrow.array(random.integers(0, 10**6, count, dtype=numpy.int32)),
            "price": pyarrow.array(random.random(count)),
            "comment": pyarrow.array([comment.tobytes().decode() for comment in letters]),
        }
    )


FIGURE = Figure(
    "border",
    "Inline against files, by size: rows and manifests",
    measure,
    quick=partial(measure, sizes=(1_000, 64_000), manifests=(64_000,), each=2),
)
