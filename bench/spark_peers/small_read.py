"""A read of a hundred rows in an open session: what opening a lake and its table takes above plain Parquet."""

from typing import Any

import lakebed
from bench.figure import Row, duration, shown
from bench.spark_peers.bed import OURS, PARQUET, Bed, nullable
from bench.spark_peers.rounds import in_turn, took
from bench.spark_rows import rows_by_id

NAME, ROWS = "small", 100


def measure(bed: Bed) -> list[Row]:
    rows = rows_by_id(bed.spark.range(0, ROWS, 1, 1))
    for kind in bed.kinds.values():
        kind.new(NAME, nullable(rows.schema))
        kind.append(NAME, rows)

    def opened() -> list[Any]:
        with lakebed.connect(bed.folder / "lake") as lake:
            return lake.catalog().table(NAME).read(bed.spark).collect()

    reads = {one: lambda kind=kind: kind.read(NAME).collect() for one, kind in bed.kinds.items()} | {OURS: opened}
    assert all(len(read()) == ROWS for read in reads.values())
    rounds = in_turn(reads, took, bed.size.many_rounds)
    for kind in bed.kinds.values():
        kind.drop(NAME)
    ours, plain = rounds.middle(OURS), rounds.middle(PARQUET)
    every = "; ".join(f"{one} {shown(rounds.middle(one))}" for one in reads)
    return [duration("a small read, above Parquet", max(0.0, ours - plain), every, at_most=0.3)]
