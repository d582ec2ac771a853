"""A read of a hundred rows in an open session: how much opening a lake and its table adds to plain Parquet."""

from typing import Any

import lakebed
from bench.data.spark_rows import rows_by_id
from bench.figure import Row, duration, shown
from bench.spark_peers.rounds import in_turn, took
from bench.spark_peers.testbed import OURS, PARQUET, Testbed, nullable

NAME, ROWS = "small", 100


def measure(testbed: Testbed) -> list[Row]:
    rows = rows_by_id(testbed.spark.range(0, ROWS, 1, 1))
    for kind in testbed.kinds.values():
        kind.new(NAME, nullable(rows.schema))
        kind.append(NAME, rows)

    def opened() -> list[Any]:
        with lakebed.connect(testbed.folder / "lake") as lake:
            return lake.catalog().table(NAME).read(testbed.spark).collect()

    reads = {label: lambda kind=kind: kind.read(NAME).collect() for label, kind in testbed.kinds.items()}
    reads[OURS] = opened
    assert all(len(read()) == ROWS for read in reads.values())
    rounds = in_turn(reads, took, testbed.size.many_rounds)
    for kind in testbed.kinds.values():
        kind.drop(NAME)
    ours, plain = rounds.middle(OURS), rounds.middle(PARQUET)
    detail = "; ".join(f"{label} {shown(rounds.middle(label))}" for label in reads)
    return [duration("a small read, above Parquet", max(0.0, ours - plain), detail, at_most=0.3)]
