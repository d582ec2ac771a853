"""A scan with an aggregate: from the call that opens the table, or the folder, to the sums."""

from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame

from bench.figure import Row
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, PARQUET, Testbed, check_same

Read = Callable[[], DataFrame]

ALL = ("sum(id)", "sum(customer)", "sum(price)", "max(comment)", "max(at)", "sum(total)", "count(*)")
"""With sums, because Iceberg answers minima and maxima alone from its metadata."""
ONE = ("sum(customer)",)

SHAPES = {"all columns": ALL, "one column": ONE}


def aggregated(rows: DataFrame, aggregates: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(rows.selectExpr(*aggregates).collect()[0])


def aggregating(aggregates: tuple[str, ...]) -> Callable[[Read], Took]:
    return lambda read: took(lambda: aggregated(read(), aggregates))


def measure(testbed: Testbed) -> list[Row]:
    name = testbed.filled()
    testbed.put_back()
    found = []
    for shape, aggregates in SHAPES.items():
        check_same({label: aggregated(kind.read(name), aggregates) for label, kind in testbed.kinds.items()})
        reads = {label: partial(kind.read, name) for label, kind in testbed.kinds.items()}
        rounds = in_turn(reads, aggregating(aggregates), testbed.size.many_rounds)
        found += compared(f"scan, {shape}", rounds, OURS, PARQUET, wall=1.03)
        found += compared(f"scan, {shape}", rounds, OURS, ICEBERG, cpu=1.05)
        found += compared(f"scan, {shape}", rounds, OURS, DELTA)
    return found
